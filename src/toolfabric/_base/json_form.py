"""Is a Python value exactly a JSON value, how deep is it, and how many bytes would it take.

Only the plain types count: a tuple, a set, a date or a subclass of ``str`` is not JSON here, because
whoever made it has to say what it stands for. Nothing is converted.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Final, TypeAlias, cast

from toolfabric.values import Json

__all__ = [
    "MAX_DEPTH",
    "MAX_VALUES",
    "NotJsonError",
    "copy_json",
    "deeper_than",
    "is_json",
    "json_path",
    "json_size",
    "json_type",
]

MAX_DEPTH: Final = 200
MAX_VALUES: Final = 1_000_000

_Container: TypeAlias = dict[object, object] | list[object]

_SLICE: Final = 1 << 20
_MOST_BITS: Final = 1_024
_SHOWN_KEY: Final = 60
_JSON_TYPES: Final = {
    "NoneType": "null",
    "bool": "boolean",
    "dict": "object",
    "float": "number",
    "int": "integer",
    "list": "array",
    "str": "string",
}


class NotJsonError(ValueError):
    """A value has no JSON form. ``path`` leads to the culprit; ``problem`` never quotes it."""

    def __init__(self, problem: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return f"at {json_path(self.path)}: {self.problem}"


def json_size(value: object, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> int:
    """The bytes that the compact UTF-8 form takes at most, not counting escapes.

    ``max_depth`` is how many containers may stand in one another, ``max_values`` how many values may be
    held by containers in all: a few lists that hold each other are endless, and small in memory.

    Raises:
        NotJsonError: Something in it is not plain JSON, not finite, not Unicode, too deep or too much.
    """
    return _Walk(max_depth, max_values).size(value, max_depth)


def is_json(value: object) -> bool:
    """Whether it is plain JSON within the bounds of ``json_size``."""
    try:
        json_size(value)
    except NotJsonError:
        return False
    return True


def copy_json(value: Json) -> Json:
    """A copy that shares no container with a value that ``json_size`` has measured."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def json_type(value: object) -> str:
    """The JSON name of a value's type, or the Python name if it has none."""
    name = type(value).__name__
    return _JSON_TYPES.get(name, name)


def json_path(path: tuple[str | int, ...]) -> str:
    """A path for people: ``$.items[3].name``; a key that is no plain name is quoted and bounded."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else _key_step(step) for step in path)


def deeper_than(value: object, depth: int) -> bool:
    """Whether more than ``depth`` containers stand in one another; looks no deeper than that."""
    level = _containers((value,))
    for _ in range(depth):
        if not level:
            return False
        level = _containers(inner for outer in level for inner in _inside(outer))
    return bool(level)


def _containers(values: Iterable[object]) -> list[_Container]:
    """The containers among some values, each once, since lists may hold one another many times over."""
    return list({id(value): value for value in values if isinstance(value, dict | list)}.values())  # pyright: ignore[reportUnknownArgumentType] -- contents of any type


def _inside(container: _Container) -> Iterable[object]:
    return container.values() if isinstance(container, dict) else container


def _key_step(key: str) -> str:
    if key.isidentifier() and len(key) <= _SHOWN_KEY:
        return f".{key}"
    shown = "".join(
        one if one.isprintable() and one not in '"\\' else f"\\u{ord(one):04x}" for one in key[:_SHOWN_KEY]
    )
    return f'["{shown}{"…" if len(key) > _SHOWN_KEY else ""}"]'


class _Walk:
    """One measurement; it knows how many values it may still look at."""

    __slots__ = ("_left", "_levels")

    def __init__(self, levels: int, max_values: int) -> None:
        self._levels = levels
        self._left = max_values

    def size(self, value: object, room: int) -> int:
        kind = type(value)
        if kind is str:
            return _text_size(cast("str", value))
        if kind is not dict and kind is not list:
            return _scalar_size(value)
        container = cast("_Container", value)
        self._left -= len(container)
        if room <= 0 or self._left < 0:
            raise NotJsonError(
                f"nested in more than the {self._levels} levels that are taken"
                if room <= 0
                else "it holds too many values"
            )
        return (
            self._object(container, room - 1)
            if isinstance(container, dict)
            else self._array(container, room - 1)
        )

    def _object(self, fields: dict[object, object], room: int) -> int:
        total = 2
        for key, item in fields.items():
            if type(key) is not str:
                raise NotJsonError(f"a key is of the Python type {type(key).__name__}, not a string")
            try:
                total += _text_size(key) + self.size(item, room) + 2
            except NotJsonError as error:
                raise NotJsonError(error.problem, (key, *error.path)) from None
        return total

    def _array(self, items: list[object], room: int) -> int:
        total = 2
        for index, item in enumerate(items):
            try:
                total += self.size(item, room) + 1
            except NotJsonError as error:
                raise NotJsonError(error.problem, (index, *error.path)) from None
        return total


def _scalar_size(value: object) -> int:
    if value is None or value is True or value is False:
        return 5
    if type(value) is int:
        bits = value.bit_length()
        if bits > _MOST_BITS:
            raise NotJsonError(f"an integer of {bits} bits, and no reader takes more than {_MOST_BITS}")
        return 2 + bits * 31 // 100
    if type(value) is float:
        if not isfinite(value):
            raise NotJsonError("NaN and infinities have no JSON form")
        return 24
    raise NotJsonError(f"the Python type {type(value).__name__} has no JSON form")


def _text_size(text: str) -> int:
    if text.isascii():
        return len(text) + 2
    try:
        return 2 + sum(len(text[at : at + _SLICE].encode()) for at in range(0, len(text), _SLICE))
    except UnicodeEncodeError:
        raise NotJsonError("text with an unpaired surrogate is not Unicode") from None
