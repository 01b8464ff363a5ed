"""How large a record may be: the limits, one measure of size, and cutting a text to it.

Sizes are bytes of compact JSON in UTF-8, as JavaScript's ``JSON.stringify`` gives them. Knows nothing
of refs: what a call may keep is decided in ``project``, which keeps flat values only, so that the design's
bound on depth (12) needs no code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

from toolfabric.values import Json

__all__ = [
    "ARGS_BYTES",
    "ENVELOPE_BYTES",
    "MAX_INTEGER",
    "MAX_ITEMS",
    "MAX_OPERATIONS",
    "MAX_PHASES",
    "STRING_BYTES",
    "Cut",
    "bound_text",
    "encode",
    "excess",
]

ENVELOPE_BYTES: Final = 512 * 1024
STRING_BYTES: Final = 16 * 1024
ARGS_BYTES: Final = 64 * 1024
MAX_ITEMS: Final = 128
"""Keys of an object, or items of a list."""
MAX_OPERATIONS: Final = 2_048
MAX_PHASES: Final = 512
MAX_INTEGER: Final = 2**53 - 1
_BITS_PER_DIGIT: Final = 3.4
_WIDEST: Final = 6
"""The most bytes that one character of a string can take: an escape such as ``\\u0001``."""
_CHARACTERS: Final = re.compile(r"(?:[^\\]++|\\[^u]|\\u[0-9a-f]{4})*+")
"""Whole characters of a JSON string, so that no escape is cut in two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How many values were dropped, truncated and redacted."""

    dropped: int = 0
    truncated: int = 0
    redacted: int = 0

    def __add__(self, other: Cut) -> Cut:
        return Cut(
            dropped=self.dropped + other.dropped,
            truncated=self.truncated + other.truncated,
            redacted=self.redacted + other.redacted,
        )

    def __bool__(self) -> bool:
        return bool(self.dropped or self.truncated or self.redacted)


# Made once: ``json.dumps`` makes one at every call that asks for this form, several times a host call.
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(value: Json) -> bytes:
    """Compact JSON in UTF-8; a lone surrogate becomes its escape, as in ``JSON.stringify``.

    Raises:
        ValueError: NaN, an infinity, a cycle, or an integer too long to be written.
        TypeError: Something that is not JSON.
    """
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


def excess(value: object, *, levels: int, size: int) -> str | None:
    """Say why a value is not JSON within bounds, or ``None`` if it is.

    Only exact built-in types count as JSON, so no foreign code is run; the work is bounded by ``size``
    whatever the value is, cycles and shared parts included.

    Args:
        value: Anything at all.
        levels: How many containers may stand inside each other, the outermost one counted.
        size: Bytes that its compact JSON may have.
    """
    row: list[object] = [value]
    room: float = size
    level = 0
    while row:
        below: list[object] = []
        for node in row:
            room -= _least_bytes(node)
            if room < 0:
                return f"it has more than {size} bytes, or holds something that is not JSON"
            if type(node) is dict:
                below.extend(cast("dict[str, object]", node).values())
            elif type(node) is list:
                below.extend(cast("list[object]", node))
            else:
                continue
            if level == levels:
                return f"it is nested more than {levels} levels deep"
        row = below
        level += 1
    return _exact_excess(value, size)


def _exact_excess(value: Any, size: int) -> str | None:
    try:
        exact = len(encode(value))
    except ValueError:
        return "it holds an integer too long to be written"
    return None if exact <= size else f"it has more than {size} bytes"


def _least_bytes(node: object) -> float:
    """No more bytes than the node takes without what is in it; infinite for what is not JSON.

    Types are compared, never asked with ``isinstance``, which runs code of the object.
    """
    kind = type(node)
    if kind is dict:
        return _least_object_bytes(cast("dict[object, object]", node))
    if kind is str or kind is list:
        return len(cast("str | list[object]", node)) + 1
    if kind is int:
        return max(1, cast("int", node).bit_length() / _BITS_PER_DIGIT - 1)
    if kind is float:
        return 3 if math.isfinite(cast("float", node)) else math.inf
    return 4 if node is None or kind is bool else math.inf


def _least_object_bytes(node: Iterable[object]) -> float:
    total = 1
    for key in node:
        if type(key) is not str:
            return math.inf
        total += len(key) + 4
    return total


def bound_text(text: str, limit: int = STRING_BYTES) -> tuple[str | None, Cut]:
    """The longest beginning of a text whose JSON fits into so many bytes.

    A text with a lone surrogate is not text that every reader takes; it is dropped.
    """
    head = text[:limit]
    try:
        head.encode()
    except UnicodeEncodeError:
        return None, Cut(dropped=1)
    if len(text) * _WIDEST + 2 <= limit or (head == text and len(encode(text)) <= limit):
        return text, Cut()
    body = encode(head)[1 : limit - 1].decode(errors="ignore")
    whole = cast("re.Match[str]", _CHARACTERS.match(body)).group()
    return json.loads(f'"{whole}"'), Cut(truncated=1)
