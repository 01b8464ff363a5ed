"""JSON at the border of the sandbox: what may cross, in which form, and how large.

A program has values that JSON has not. What has one obvious JSON form is converted (a tuple becomes a
list); anything else is refused with its place and the way to convert it, since guessing would lose
something silently. Sizes are counted while walking, so nothing is serialized to be measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Final, cast

from toolfabric._base.text import one_line
from toolfabric.values import Json

__all__ = ["MAX_DEPTH", "NotJsonError", "TooLargeError", "cross"]

MAX_DEPTH: Final = 256
"""Deeper values are refused: readers of JSON recurse, and so would the pipeline."""

_MAX_INT_BITS: Final = 14_000
"""Integers beyond this have more digits than Python itself agrees to write (4,300)."""

_NODE_BYTES: Final = 8
_HANDLE: Final = re.compile(
    r"<(?P<what>coroutine|function|bound method|module|built-in function|async generator)\b[^>]*>"
    r"|<function '<lambda>' at 0x[0-9a-f]+>"
    r"|<(?P<iterator>\w+_iterator) object>"
)
_VIEW: Final = re.compile(r"dict_(keys|values|items)\(\[.*\]\)", re.DOTALL)
_HANDLE_CHARS: Final = 300
_KEYS: Final = "make every key a string, for instance {str(key): value for key, value in items}"


class NotJsonError(ValueError):
    """A value has no JSON form. ``hint`` says what to write instead."""

    def __init__(self, found: str, hint: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(found, hint, path)
        self.found = found
        self.hint = hint
        self.path = path

    def __str__(self) -> str:
        """Where it is and what it is."""
        return f"{_where(self.path)} is {self.found}, which is not JSON"

    def inside(self, step: str | int) -> NotJsonError:
        """The same refusal, seen from the container."""
        return NotJsonError(self.found, self.hint, (step, *self.path))


class TooLargeError(ValueError):
    """A value is larger than the limit. It says nothing about its content."""


def cross(value: Any, *, limit: int, outward: bool = True) -> tuple[Json, int]:
    """A new JSON value equal to ``value``, and its size; text that is not Unicode is made so.

    ``limit`` and the size are in bytes: the UTF-8 of all strings and keys, and eight for each value.
    ``outward`` says that the value comes from a program: the sandbox hands out a function, or a call
    that was not awaited, as a text of one fixed form, which is refused there.

    Raises:
        NotJsonError: The value, or a part of it, has no JSON form.
        TooLargeError: It is larger than ``limit``.
    """
    crossing = _Crossing(limit, outward=outward)
    return crossing.take(value, 0), limit - crossing.left


class _Crossing:
    def __init__(self, limit: int, *, outward: bool) -> None:
        self._limit = limit
        self._outward = outward
        self.left = limit

    def take(self, value: Any, depth: int) -> Json:
        self._spend(_NODE_BYTES)
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return _integer(value)
        if isinstance(value, float):
            return _number(value)
        return self._container(value, depth)

    def _container(self, value: Any, depth: int) -> Json:
        if isinstance(value, dict):
            return self._object(cast("dict[Any, Any]", value), depth)
        if isinstance(value, list | tuple):
            return self._array(cast("list[Any]", value), depth)
        raise _refusal(value)

    def _object(self, value: dict[Any, Any], depth: int) -> dict[str, Json]:
        _check_depth(depth)
        made: dict[str, Json] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJsonError(f"an object with the key {one_line(repr(key), limit=60)}", _KEYS)
            name = self._plain(key)
            try:
                made[name] = self.take(item, depth + 1)
            except NotJsonError as error:
                raise error.inside(name) from None
        return made

    def _array(self, value: list[Any], depth: int) -> list[Json]:
        _check_depth(depth)
        made: list[Json] = []
        try:
            for item in value:
                made.append(self.take(item, depth + 1))  # noqa: PERF401 -- the length says where it failed
        except NotJsonError as error:
            raise error.inside(len(made)) from None
        return made

    def _text(self, text: str) -> str:
        plain = self._plain(text)
        if self._outward and plain.startswith(("<", "dict_")):
            _check_handle(plain)
        return plain

    def _plain(self, text: str) -> str:
        if text.isascii():
            self._spend(len(text))
            return text
        try:
            self._spend(len(text.encode()))
        except UnicodeEncodeError:
            # A lone surrogate has no UTF-8 form; the sandbox itself writes U+FFFD for it.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            self._spend(len(text.encode()))
        return text

    def _spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLargeError(f"larger than {self._limit:,} bytes")


def _check_handle(text: str) -> None:
    if text.startswith("dict_"):
        if _VIEW.fullmatch(text) is not None:
            raise NotJsonError("a view of a dict", "make it a list: list(values.keys())")
    elif len(text) < _HANDLE_CHARS and (handle := _HANDLE.fullmatch(text)) is not None:
        raise NotJsonError(*_handle(handle))


def _check_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise NotJsonError(f"nested deeper than {MAX_DEPTH} levels", "build a flatter value")


def _integer(value: int) -> int:
    if value.bit_length() > _MAX_INT_BITS:
        raise NotJsonError("an integer of more than 4,000 digits", "make it a string, or round it")
    return int(value)


def _number(value: float) -> float:
    if math.isfinite(value):
        return float(value)
    name = "NaN" if math.isnan(value) else "an infinity"
    raise NotJsonError(name, "use None, or a string, where there is no number")


def _handle(match: re.Match[str]) -> tuple[str, str]:
    if match["what"] == "coroutine":
        return "a call that was never awaited", 'write await before the call: value = await pi.read(path="x")'
    if match["iterator"] is not None:
        return "an iterator", "make it a list: list(items)"
    return f"a {match['what'] or 'function'}", "hand over its result, or a name for it"


_HINTS: Final[tuple[tuple[type | tuple[type, ...], str, str], ...]] = (
    ((set, frozenset), "a set", "make it a list: sorted(items) or list(items)"),
    ((bytes, bytearray), "bytes", 'make it text: data.decode() or base64.b64encode(data).decode("ascii")'),
    ((date, time), "a date or time", "make it text: value.isoformat()"),
    (timedelta, "a time span", "make it a number: span.total_seconds()"),
    (Decimal, "a Decimal", "make it a number or text: float(value) or str(value)"),
    (PurePath, "a path", "make it text: str(path)"),
    (complex, "a complex number", "use two numbers"),
    (BaseException, "an exception", "make it text: str(error)"),
    (type, "a class", "use its name as text"),
)


def _refusal(value: Any) -> NotJsonError:
    for kinds, found, hint in _HINTS:
        if isinstance(value, kinds):
            return NotJsonError(found, hint)
    if value is Ellipsis:
        return NotJsonError("an ellipsis", "use None or a string")
    name = one_line(str(getattr(value, "name", type(value).__name__)), limit=60)
    return NotJsonError(f"an object of type {name}", "hand over a dict of its values")


def _where(path: Sequence[str | int]) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f"[{one_line(repr(step), limit=60)}]" for step in path]
    return "the value" + "".join(steps[:12]) + ("[…]" if len(steps) > 12 else "")  # noqa: PLR2004 -- enough to find it
