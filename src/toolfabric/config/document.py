"""One configuration file's bytes as a JSON object, or the line and column where they are none.

Pure. What a lenient parser would take silently is refused or remarked on: NaN, numbers past every
bound, a key that is given twice.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Final, NoReturn

from toolfabric.config.records import Problem, Source
from toolfabric.config.rules import key_name, type_name
from toolfabric.values import Json, JsonObject

__all__ = ["MAX_BYTES", "Document", "parse_document"]

MAX_BYTES: Final = 1024 * 1024
_MAX_DEPTH: Final = 64
_INT_DIGITS: Final = 18
_MOST_REPEATED: Final = 100


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
        repeated: dict[str, None] = {}
        for key, _value in pairs:
            if key in seen:
                repeated[key] = None
            seen.add(key)
        self.repeated = tuple(repeated)


def parse_document(data: bytes, source: Source) -> Document:
    """Read one file's bytes: UTF-8, with or without a byte-order mark, at most ``MAX_BYTES``."""
    try:
        value, repeated = _decoded(data)
    except _MalformedError as error:
        return Document(content={}, problems=(Problem(source=source, path="", message=str(error)),))
    warnings = tuple(
        Problem(source=source, path=path, message="is given more than once; the last one counts")
        for path in repeated[:_MOST_REPEATED]
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
    if not isinstance(value, _Object):
        raise _MalformedError(f"is {type_name(value)}; allowed: one JSON object")
    repeated = list(map(key_name, value.repeated))
    return {key: _plain(one, key_name(key), 2, repeated) for key, one in value.items()}, repeated


def _plain(value: Json, path: str, depth: int, repeated: list[str]) -> Json:
    if depth > _MAX_DEPTH:
        raise _MalformedError(f"is nested more than {_MAX_DEPTH} levels deep")
    match value:
        case _Object():
            repeated.extend(f"{path}.{key_name(key)}" for key in value.repeated)
            return {
                key: _plain(one, f"{path}.{key_name(key)}", depth + 1, repeated) for key, one in value.items()
            }
        case list():
            return [_plain(one, f"{path}[{number}]", depth + 1, repeated) for number, one in enumerate(value)]
        case _:
            return value


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _INT_DIGITS else _float(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _MalformedError("has a number in it that is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise _MalformedError(f"has {name} in it, which is not JSON")
