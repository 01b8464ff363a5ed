"""What one setting may be: read a JSON value, or say in words what was given and what is allowed.

Rules know no file and no path. A message names the value's JSON type, never the value: it may be
a secret, and it may be written to steer a terminal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from toolfabric._base.suggest import nearest
from toolfabric.values import Json

__all__ = [
    "Rule",
    "UnfitError",
    "choice",
    "clamped",
    "flag",
    "integer",
    "key_name",
    "text",
    "text_map",
    "texts",
    "type_name",
    "web_address",
]

_T = TypeVar("_T")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]{1,64}\Z")
_E = TypeVar("_E", bound=StrEnum)


class UnfitError(ValueError):
    """A value is not what a rule allows; the message says what it is instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[_T]):
    """One kind of setting.

    ``read`` gives the value and a remark (empty when there is nothing to say), or raises ``UnfitError``.
    ``allowed`` completes the sentence "allowed: …".
    """

    allowed: str
    read: Callable[[Json], tuple[_T, str]]


def type_name(value: Json) -> str:
    """The JSON type of a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"


def key_name(key: str) -> str:
    """A key as messages show it: short, and unable to steer a terminal or to pass for a path."""
    return key if _PLAIN_KEY.match(key) else json.dumps(key[:64])


def flag() -> Rule[bool]:
    """True or false, and nothing that merely looks so."""

    def read(value: Json) -> tuple[bool, str]:
        if isinstance(value, bool):
            return value, ""
        raise UnfitError(f"is {type_name(value)}")

    return Rule(allowed="true or false", read=read)


def integer(low: int, high: int) -> Rule[int]:
    """A whole number within bounds; ``2.0`` is one."""

    def read(value: Json) -> tuple[int, str]:
        number = _number(value)
        if isinstance(number, float) and not number.is_integer():
            raise UnfitError("is a number with a fraction")
        if not low <= number <= high:
            raise UnfitError("is a number out of range")
        return int(number), ""

    return Rule(allowed=f"an integer from {low} to {high}", read=read)


def clamped(low: int, high: int) -> Rule[int]:
    """A number that is brought within bounds; a fraction is cut off (seed, first section)."""

    def read(value: Json) -> tuple[int, str]:
        number = _number(value)
        within = math.floor(min(max(number, low), high))
        return within, "" if within == number else f"is out of range or has a fraction; {within} is used"

    return Rule(allowed=f"a number from {low} to {high}; others are clamped", read=read)


def choice(kind: type[_E]) -> Rule[_E]:
    """One of the names of an enumeration."""
    names = [member.value for member in kind]

    def read(value: Json) -> tuple[_E, str]:
        if not isinstance(value, str):
            raise UnfitError(f"is {type_name(value)}")
        if value not in names:
            near = nearest(value, names)
            raise UnfitError("is an unknown string" + (f" (did you mean {near!r}?)" if near else ""))
        return kind(value), ""

    return Rule(allowed="one of " + ", ".join(names), read=read)


def text(*, longest: int = 4096) -> Rule[str]:
    """A string that is not empty."""

    def read(value: Json) -> tuple[str, str]:
        if not isinstance(value, str):
            raise UnfitError(f"is {type_name(value)}")
        if not value or len(value) > longest or not _is_clean(value):
            raise UnfitError("is a string that is empty, too long or not plain text")
        return value, ""

    return Rule(allowed=f"a string of 1 to {longest} characters", read=read)


def texts() -> Rule[tuple[str, ...]]:
    """An array of strings."""

    def read(value: Json) -> tuple[tuple[str, ...], str]:
        if not isinstance(value, list):
            raise UnfitError(f"is {type_name(value)}")
        found: list[str] = []
        for one in value:
            if not isinstance(one, str):
                raise UnfitError(f"has {type_name(one)} in it")
            if not _is_clean(one):
                raise UnfitError("has a string in it that is not plain text")
            found.append(one)
        return tuple(found), ""

    return Rule(allowed="an array of strings", read=read)


def text_map() -> Rule[dict[str, str]]:
    """An object of strings."""

    def read(value: Json) -> tuple[dict[str, str], str]:
        if not isinstance(value, dict):
            raise UnfitError(f"is {type_name(value)}")
        found: dict[str, str] = {}
        for key, one in value.items():
            if not isinstance(one, str):
                raise UnfitError(f"has {type_name(one)} in it")
            if not (_is_clean(key) and _is_clean(one)):
                raise UnfitError("has a string in it that is not plain text")
            found[key] = one
        return found, ""

    return Rule(allowed="an object of strings", read=read)


def web_address() -> Rule[str]:
    """An address that begins with ``http://`` or ``https://``."""

    def read(value: Json) -> tuple[str, str]:
        if not isinstance(value, str):
            raise UnfitError(f"is {type_name(value)}")
        if not re.match(r"https?://[^\s/?#]", value, re.IGNORECASE):
            raise UnfitError("is a string of another form")
        return value, ""

    return Rule(allowed="an address beginning with http:// or https://", read=read)


def _number(value: Json) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnfitError(f"is {type_name(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UnfitError("is a number without a value")
    return value


def _is_clean(value: str) -> bool:
    """Whether a program can be given the text: no NUL, and nothing that UTF-8 cannot say."""
    return "\0" not in value and not re.search(r"[\ud800-\udfff]", value)
