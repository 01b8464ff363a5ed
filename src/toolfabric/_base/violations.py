"""Say in which place a value does not fit a schema, and what was expected there.

Keys are named, values never: what is told of a value is its JSON type. What is told of the schema is
bounded and cannot steer a terminal, since schemas come from strangers.

A union (``oneOf``, ``anyOf``) is explained by the one branch that was meant, where that can be seen:
by a tag, a property whose constant only this branch accepts; else by the value's type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from toolfabric._base.json_form import json_path, json_type
from toolfabric._base.suggest import nearest
from toolfabric._base.text import one_line
from toolfabric.values import Json, JsonObject

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

__all__ = ["Violation", "explain", "too_large"]

_SHOWN: Final = 80
_KEY_CHARS: Final = 60
_SHOWN_MEMBERS: Final = 8
_UNIONS: Final = ("oneOf", "anyOf")
_TAGGED: Final = ("const", "enum")
_UNDECLARED: Final = ("additionalProperties", "unevaluatedProperties")

_EXPECTED: Final[Mapping[str, str]] = {
    "additionalItems": "at most {limit} items",
    "const": "{expected_value}",
    "contains": "an item that the schema's contains describes",
    "enum": "one of {options}",
    "exclusiveMaximum": "less than {limit}",
    "exclusiveMinimum": "more than {limit}",
    "falseSchema": "nothing at all here",
    "format": "text of the format {format}",
    "maxItems": "at most {limit} items",
    "maxLength": "at most {limit} characters",
    "maxProperties": "at most {limit} keys",
    "maximum": "at most {limit}",
    "minItems": "at least {limit} items",
    "minLength": "at least {limit} characters",
    "minProperties": "at least {limit} keys",
    "minimum": "at least {limit}",
    "multipleOf": "a multiple of {multiple_of}",
    "not": "something that the schema's not does not describe",
    "oneOf": "exactly one of the forms that the schema allows",
    "pattern": "text that matches {pattern}",
    "type": "{types}",
    "unevaluatedItems": "no further items",
    "uniqueItems": "items that all differ",
}

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where a value does not fit.

    ``path`` leads from the root; it ends in the key itself where that is missing or not declared.
    ``expected`` completes the sentence "expected …". ``found`` is the name of a JSON type, or
    ``nothing``. ``near`` is a declared key like the undeclared one, or the undeclared key that may
    have been meant for the missing one.
    """

    path: Path
    keyword: str
    expected: str
    found: str
    near: str | None = None

    def __str__(self) -> str:
        """Tell it as a sentence, with the path, the expectation and the nearest declared key."""
        where = f"at {json_path(self.path)}"
        near = (
            None
            if self.near is None
            else json.dumps(one_line(self.near, limit=_KEY_CHARS), ensure_ascii=False)
        )
        match self.keyword:
            case "additionalProperties":
                return f"{where}: not a declared key" + (f" (did you mean {near}?)" if near else "")
            case "required":
                return f"{where}: required, and not there" + (f" (was {near} meant for it?)" if near else "")
            case _:
                return f"{where}: expected {self.expected}, got {self.found}"


def explain(schema: JsonObject, value: Json, errors: Iterable[ValidationError]) -> Iterator[Violation]:
    """Every violation that a validator's errors stand for, in their order."""
    account = _Account(schema, value)
    for error in errors:
        yield from account.of(error)


def too_large(value: Json) -> Violation:
    """What is said where finding the place would take too long."""
    return Violation(
        path=(),
        keyword="",
        expected="arguments that fit the schema; they are too large to say where they do not",
        found=json_type(value),
    )


class _Account:
    def __init__(self, schema: JsonObject, value: Json) -> None:
        self._schema = schema
        self._value = value

    def of(self, error: ValidationError) -> Iterator[Violation]:
        keyword = error.kind.name
        path = tuple(error.instance_path)
        if keyword in _UNDECLARED:
            yield from self._undeclared(error, path)
        elif keyword == "required":
            yield self._missing(error, path)
        elif keyword == "propertyNames":
            expected = _expected(cast("Any", error.kind).error)
            yield self._plain(path, keyword, f"keys that are {expected}")
        elif keyword in _UNIONS and any(branches := _branches(error)):
            yield from self._union(path, keyword, branches)
        else:
            yield self._plain(path, keyword, _expected(error))

    def _plain(self, path: Path, keyword: str, expected: str) -> Violation:
        return Violation(
            path=path, keyword=keyword, expected=expected, found=json_type(_at(self._value, path))
        )

    def _undeclared(self, error: ValidationError, path: Path) -> Iterator[Violation]:
        here = _at(self._value, path)
        present: JsonObject = here if isinstance(here, dict) else {}
        free = [key for key in self._declared(error) if key not in present]
        unexpected = cast("list[str]", cast("Any", error.kind).unexpected)
        for key in unexpected:
            yield Violation(
                path=(*path, key),
                keyword="additionalProperties",
                expected="a declared key",
                found=json_type(present.get(key)),
                near=nearest(key, free),
            )

    def _missing(self, error: ValidationError, path: Path) -> Violation:
        here = _at(self._value, path)
        declared = self._declared(error)
        strangers = [key for key in here if key not in declared] if isinstance(here, dict) else []
        key = cast("str", cast("Any", error.kind).property)
        return Violation(
            path=(*path, key),
            keyword="required",
            expected="a value",
            found="nothing",
            near=nearest(key, strangers),
        )

    def _declared(self, error: ValidationError) -> Sequence[str]:
        """The keys that the schema beside the failed keyword declares."""
        beside = _at(self._schema, tuple(error.schema_path[:-1]))
        properties = beside.get("properties") if isinstance(beside, dict) else None
        return list(properties) if isinstance(properties, dict) else []

    def _union(self, path: Path, keyword: str, branches: list[list[ValidationError]]) -> Iterator[Violation]:
        tag = _tag(path, branches)
        if isinstance(tag, int):
            yield from self._branch(branches[tag])
            return
        if tag is not None:
            yield self._plain((*path, tag), "const", _any_of(_at_path(branches, (*path, tag))))
            return
        fitting = [branch for branch in branches if not _wrong_type(path, branch)]
        if not fitting:
            yield self._plain(path, "type", _any_of(_at_path(branches, path)))
        elif len(fitting) == 1:
            yield from self._branch(fitting[0])
        elif needed := _needed(path, fitting):
            yield from (self._missing(error, path) for error in needed)
        else:
            yield self._plain(path, keyword, f"one of the {len(branches)} forms that the schema allows")

    def _branch(self, errors: list[ValidationError]) -> Iterator[Violation]:
        for error in errors:
            yield from self.of(error)


def _branches(error: ValidationError) -> list[list[ValidationError]]:
    return cast("list[list[ValidationError]]", getattr(error.kind, "context", []))


def _tag(path: Path, branches: list[list[ValidationError]]) -> int | str | None:
    """The branch that was meant, or the tag that no branch knows, or nothing."""
    refused = [_keys_below(path, branch, _TAGGED) for branch in branches]
    lacking = [_lacking(path, branch) for branch in branches]
    for key in sorted(set[str]().union(*refused)):
        open_to = [
            index
            for index, branch in enumerate(branches)
            if key not in refused[index] and key not in lacking[index] and not _wrong_type(path, branch)
        ]
        others = [index for index in range(len(branches)) if key in refused[index]]
        if len(open_to) == 1 and others:
            return open_to[0]
        if not open_to and len(others) > 1:
            return key
    return None


def _keys_below(path: Path, branch: list[ValidationError], keywords: Sequence[str]) -> set[str]:
    depth = len(path) + 1
    return {
        str(error.instance_path[-1])
        for error in branch
        if error.kind.name in keywords and len(error.instance_path) == depth
    }


def _lacking(path: Path, branch: list[ValidationError]) -> set[str]:
    return {
        cast("str", cast("Any", error.kind).property)
        for error in branch
        if error.kind.name == "required" and tuple(error.instance_path) == path
    }


def _needed(path: Path, branches: list[list[ValidationError]]) -> list[ValidationError]:
    """The missing keys that no branch can do without."""
    common = set[str].intersection(*(_lacking(path, branch) for branch in branches))
    return [
        error for error in branches[0] if error.kind.name == "required" and _lacking(path, [error]) & common
    ]


def _wrong_type(path: Path, branch: list[ValidationError]) -> bool:
    return any(error.kind.name == "type" and tuple(error.instance_path) == path for error in branch)


def _at_path(branches: list[list[ValidationError]], path: Path) -> Iterator[ValidationError]:
    yield from (error for branch in branches for error in branch if tuple(error.instance_path) == path)


def _any_of(errors: Iterable[ValidationError]) -> str:
    """All that several branches expect of one place, each once."""
    wanted = list(
        dict.fromkeys(_expected(error) for error in errors if error.kind.name in (*_TAGGED, "type"))
    )
    more = ["…"] if len(wanted) > _SHOWN_MEMBERS else []
    return " or ".join([*wanted[:_SHOWN_MEMBERS], *more])


def _expected(error: ValidationError) -> str:
    keyword = error.kind.name
    template = _EXPECTED.get(keyword)
    facts = {
        name: _shown(name, fact)
        for name, fact in error.kind.as_dict().items()
        if name not in ("context", "error")
    }
    if template is None or not _complete(template, facts):
        return f"what the schema's {one_line(keyword, limit=_SHOWN)} asks"
    return template.format(**facts)


def _complete(template: str, facts: Mapping[str, str]) -> bool:
    named = template.partition("{")[2].partition("}")[0]
    return not named or named in facts


def _shown(name: str, fact: Any) -> str:
    show: Callable[[Any], str] = _as_word if name in {"types", "format"} else _as_json
    if isinstance(fact, list):
        members = cast("list[Any]", fact)
        shown = [show(member) for member in members[:_SHOWN_MEMBERS]]
        more = ["…"] if len(members) > _SHOWN_MEMBERS else []
        return (" or " if name == "types" else ", ").join([*shown, *more])
    return show(fact)


def _as_word(fact: Any) -> str:
    return one_line(str(fact), limit=_SHOWN)


def _as_json(fact: Any) -> str:
    return one_line(json.dumps(fact, ensure_ascii=False, default=str), limit=_SHOWN)


def _at(root: Json, path: Path) -> Json:
    """What stands at a path, or nothing where the path leads nowhere."""
    here = root
    for step in path:
        match here, step:
            case dict(), str() if step in here:
                here = here[step]
            case list(), int() if step < len(here):
                here = here[step]
            case _:
                return None
    return here
