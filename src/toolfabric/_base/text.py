"""Bring foreign text into a form that can be shown: bounded, and unable to steer a terminal."""

from __future__ import annotations

from typing import Final, cast

from toolfabric.errors import FabricError

__all__ = ["one_line", "printable", "told"]

_LAYOUT: Final = frozenset("\n\t")
_SHOWN_ERRORS: Final = 3


def printable(text: str, *, limit: int) -> str:
    r"""Escape what is not printable, keep line breaks and tabs, and cut to ``limit`` characters.

    Control characters, direction overrides and unpaired surrogates come out as ``\xNN`` or ``\uNNNN``.
    What is cut is said at the end, so that nobody takes a part for the whole.
    """
    shown = _escaped(text[:limit])
    return f"{shown} […{len(text) - limit} more characters]" if len(text) > limit else shown


def one_line(text: str, *, limit: int = 200) -> str:
    """As ``printable``, with every run of white space as one blank, so that it fits into a sentence."""
    head = " ".join(text[: limit * 4].split())
    shown = _escaped(head[:limit])
    return f"{shown}…" if len(head) > limit or len(text) > limit * 4 else shown


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _LAYOUT else _escape(one) for one in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def told(error: BaseException, *, limit: int = 2_000) -> str:
    """The message of somebody else's exception, for a caller: bounded, and unable to steer a terminal.

    A group is told by the first three that it holds. An exception without words, or whose words cannot
    be had, is told by its name; one of Fabric's own needs no name.
    """
    if isinstance(error, BaseExceptionGroup):
        return printable(
            "; ".join(told(leaf, limit=limit) for leaf in _leaves(cast("BaseException", error))), limit=limit
        )
    name = type(error).__name__
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 -- the edge to foreign code: its __str__ may do anything
        words = ""
    if not words:
        return one_line(name)
    return printable(words if isinstance(error, FabricError) else f"{name}: {words}", limit=limit)


def _leaves(group: BaseException) -> list[BaseException]:
    """The first exceptions of a group, however deep; a group always holds one."""
    found: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting and len(found) < _SHOWN_ERRORS:
        error = waiting.pop()
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(reversed(cast("tuple[BaseException, ...]", error.exceptions)))
        else:
            found.append(error)
    return found
