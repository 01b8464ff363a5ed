"""One configuration file's bytes as a JSON object, or the line and column where they are none.

Pure. What a lenient parser would take silently is refused or remarked on: NaN, numbers past every
bound, a key that is given twice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from toolfabric.config.records import Problem, Source
from toolfabric.config.rules import type_name
from toolfabric.values import Json, JsonObject

__all__ = ["MAX_BYTES", "Document", "parse_document"]

MAX_BYTES: Final = 1024 * 1024
_MAX_DEPTH: Final = 64
_INT_DIGITS: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file's object; with ``problems``, it is empty."""

    content: JsonObject
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


class _Object(dict[str, Json]):
    """An object that remembers which of its keys were given again."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.repeated = [key for key, _value in pairs if key in seen or seen.add(key)]


def parse_document(data: bytes, source: Source) -> Document:
    """Read one file's bytes: UTF-8, with or without a byte-order mark, at most ``MAX_BYTES``."""
    try:
        value, repeated = _decoded(data)
    except _MalformedError as error:
        return Document(content={}, problems=(Problem(source=source, path="", message=str(error)),))
    warnings = tuple(
        Problem(source=source, path=path, message="is given more than once; the last one counts")
        for path in repeated
    )
    return Document(content=value, warnings=warnings)


class _MalformedError(ValueError):
    """The bytes are no configuration."""


def _decoded(data: bytes) -> tuple[JsonObject, list[str]]:
    if len(data) > MAX_BYTES:
        raise _MalformedError(f"is larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
        value: Json = json.loads(
            text, object_pairs_hook=_Object, parse_int=_int, parse_float=_float, parse_constant=_constant
        )
    except UnicodeDecodeError as error:
        raise _MalformedError(f"is not UTF-8: byte {error.start} is wrong") from error
    except json.JSONDecodeError as error:
        reason = (
            f"line {error.lineno}, column {error.colno}: not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        )
        raise _MalformedError(reason) from error
    except RecursionError as error:
        raise _MalformedError("is nested too deeply") from error
    if not isinstance(value, dict):
        raise _MalformedError(f"is {type_name(value)}; allowed: one JSON object")
    repeated = list(_repeated(value, "", 1))
    return value, repeated


def _repeated(value: Json, path: str, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        raise _MalformedError(f"is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        if isinstance(value, _Object):
            yield from (f"{path}.{key}" if path else key for key in dict.fromkeys(value.repeated))
        for key, one in value.items():
            yield from _repeated(one, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _repeated(one, f"{path}[{number}]", depth + 1)


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _INT_DIGITS else _float(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _MalformedError("has a number in it that is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise _MalformedError(f"has {name} in it, which is not JSON")
