"""Bring foreign text into a form that can be shown: bounded, and unable to steer a terminal."""

from __future__ import annotations

from typing import Final

__all__ = ["one_line", "printable"]

_LAYOUT: Final = frozenset("\n\t")


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
