"""How much work one schema can make of one value, and refusing what would stop the host.

A schema of a few hundred bytes can ask a validator to look at the same value millions of times: each
definition refers twice to the next. ``expansion`` counts the schemas that can apply along one path
through a value, references followed, without applying any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast
from urllib.parse import unquote, urldefrag, urljoin

from toolfabric.values import Json, JsonObject

__all__ = ["expansion", "has_references", "visits"]

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLES: Final = ("not", "if", "then", "else")
_MAPS: Final = ("dependentSchemas", "dependencies")
_NAMED: Final = "properties"
_OPEN_MEMBERS: Final = (
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "prefixItems",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
)
_MEMBERS: Final = (_NAMED, *_OPEN_MEMBERS)
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")


def expansion(schema: JsonObject, *, at_most: int) -> int:
    """The most schemas that can apply along one path through a value; stops counting above ``at_most``.

    A reference back to a schema that is being counted adds nothing: the validator remembers what it
    found at such a loop (seen with jsonschema-rs 0.61, which does not remember without one).
    """
    index = _Index(schema)
    return index.weight(schema, _base_of(schema, ""), at_most)


def has_references(schema: JsonObject) -> bool:
    """Whether a value may have to be followed deeper than the schema's own text is deep."""
    return any(key in node for node, _base in _walk(schema, "") for key in _REFERENCES)


def visits(schema: JsonObject, value: Json, *, at_most: int) -> int:
    """How many times a schema would be applied if every one that can be is; stops above ``at_most``.

    It counts what listing all errors does, which stops at none and remembers none.
    """
    count = _Count(_Index(schema), at_most)
    count.visit(schema, _base_of(schema, ""), value)
    return count.seen


class _Index:
    """The schemas of one document by every name that a reference can use."""

    def __init__(self, schema: JsonObject) -> None:
        self.nodes = list(_walk(schema, ""))
        self._named: dict[str, tuple[JsonObject, str]] = {"": (schema, "")}
        self._weights: dict[int, int] = {}
        self._open: set[int] = set()
        for node, base in self.nodes:
            self._name(node, base)

    def weight(self, node: JsonObject, base: str, at_most: int) -> int:
        """How many schemas apply where this one does, itself included."""
        known = self._weights.get(id(node))
        if known is not None:
            return known
        if id(node) in self._open:
            return 0
        self._open.add(id(node))
        total = 1
        for inner, inner_base in self.in_place(node, base):
            total += self.weight(inner, inner_base, at_most)
        for group in _below(node, _MEMBERS):
            weights = [self.weight(inner, _base_of(inner, base), at_most) for inner in group]
            total += max(weights, default=0)
        self._open.discard(id(node))
        self._weights[id(node)] = total = min(total, at_most + 1)
        return total

    def _name(self, node: JsonObject, base: str) -> None:
        if isinstance(node.get("$id", node.get("id")), str):
            self._named.setdefault(base, (node, base))
        for key in _ANCHORS:
            anchor = node.get(key)
            if isinstance(anchor, str):
                self._named.setdefault(f"{base}#{anchor}", (node, base))

    def in_place(self, node: JsonObject, base: str) -> Iterator[tuple[JsonObject, str]]:
        """The schemas that a schema applies to the same value, references followed."""
        for key in _REFERENCES:
            target = node.get(key)
            found = self._find(urljoin(base, target)) if isinstance(target, str) else None
            if found is not None:
                yield found
        for inner in _applied(node):
            yield inner, _base_of(inner, base)

    def _find(self, target: str) -> tuple[JsonObject, str] | None:
        """The schema a reference names; ``None`` is for the validator to refuse."""
        if target in self._named:
            return self._named[target]
        document, fragment = urldefrag(target)
        if document not in self._named or (fragment and not fragment.startswith("/")):
            return None
        node, base = self._named[document]
        here: Json = node
        for step in unquote(fragment).split("/")[1:]:
            here = _step(here, step.replace("~1", "/").replace("~0", "~"))
            if isinstance(here, dict):
                base = _base_of(here, base)
        return (here, base) if isinstance(here, dict) else None


class _Count:
    """Walks a schema and a value together, as far as the allowance goes."""

    def __init__(self, index: _Index, at_most: int) -> None:
        self._index = index
        self._at_most = at_most
        self._open: set[tuple[int, int]] = set()
        self.seen = 0

    def visit(self, node: JsonObject, base: str, value: Json) -> None:
        """Count one application and all that it leads to."""
        here = (id(node), id(value))
        if self.seen > self._at_most or here in self._open:
            return
        self.seen += 1
        self._open.add(here)
        for inner, inner_base in self._index.in_place(node, base):
            self.visit(inner, inner_base, value)
        for inner, member in _pairs(node, value):
            self.visit(inner, _base_of(inner, base), member)
        self._open.discard(here)


def _pairs(node: JsonObject, value: Json) -> Iterator[tuple[JsonObject, Json]]:
    """Each member of a value with each schema that may apply to it."""
    if isinstance(value, dict):
        named = node.get(_NAMED)
        if isinstance(named, dict):
            yield from (
                (inner, value[key])
                for key, inner in named.items()
                if key in value and isinstance(inner, dict)
            )
    members = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    for group in _below(node, _OPEN_MEMBERS):
        yield from ((inner, member) for inner in group for member in members)


def _walk(node: Json, base: str) -> Iterator[tuple[JsonObject, str]]:
    """Every object of the document with the base its references are resolved against."""
    if isinstance(node, dict):
        base = _base_of(node, base)
        yield node, base
        for inner in node.values():
            yield from _walk(inner, base)
    elif isinstance(node, list):
        for inner in node:
            yield from _walk(inner, base)


def _base_of(node: JsonObject, base: str) -> str:
    own = node.get("$id", node.get("id"))
    return urldefrag(urljoin(base, own)).url if isinstance(own, str) else base


def _applied(node: JsonObject) -> Iterator[JsonObject]:
    """The schemas that a schema applies to the same value."""
    for key in _LISTS:
        listed = node.get(key)
        if isinstance(listed, list):
            yield from _objects(listed)
    for key in _SINGLES:
        inner = node.get(key)
        if isinstance(inner, dict):
            yield inner
    for key in _MAPS:
        mapped = node.get(key)
        if isinstance(mapped, dict):
            yield from _objects(mapped.values())


def _below(node: JsonObject, keywords: Iterable[str]) -> Iterator[Iterable[JsonObject]]:
    """The schemas applied to what a value holds, in groups: within one, a member meets one schema.

    Several patterns can fit one key, so each is a group of its own.
    """
    for key in keywords:
        members = node.get(key)
        if isinstance(members, dict):
            yield _objects(members.values()) if key == _NAMED else (members,)
        elif isinstance(members, list):
            yield _objects(members)
    patterns = node.get("patternProperties")
    if isinstance(patterns, dict):
        yield from ((inner,) for inner in _objects(patterns.values()))


def _objects(values: Iterable[Json]) -> list[JsonObject]:
    return [value for value in values if isinstance(value, dict)]


def _step(here: Json, step: str) -> Json:
    match here:
        case dict():
            return here.get(step)
        case list() if step.isdigit() and int(step) < len(here):
            return cast("Json", here[int(step)])
        case _:
            return None
