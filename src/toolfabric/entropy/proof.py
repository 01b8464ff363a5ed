"""What one schema proves: its validator, its digest and the rules that hold for it.

A proof is kept per schema *object*, so that a canonical call pays for none of it twice. An entry holds its
schema, so another object cannot take over its identity while the entry lives; and it holds a fingerprint
of the schema's bytes, so that ``prove`` notices a schema that was changed in place. Entries are bounded in
number and in bytes, the oldest goes first.

The boundary reads ``kept`` without that check. It may then take a changed schema for the earlier one, and
only in one way: it leaves arguments alone that the earlier schema accepts, for a plan of the earlier
schema. The changed schema does not prove that plan, so leaving them alone is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Final, cast

import msgspec

from toolfabric._base.canonical import canonical_digest, sorted_code_units
from toolfabric._base.validation import compile_schema
from toolfabric.entropy.forms import unique_forms
from toolfabric.entropy.judge import PropertyJudge
from toolfabric.entropy.records import MAX_KEY, MAX_PROPERTIES, MAX_RULES, RuleKind, RuleRef
from toolfabric.values import Json, JsonObject

__all__ = ["Proof", "forget", "kept", "prove"]

_FORBIDDEN: Final = ("patternProperties", "oneOf", "anyOf", "allOf", "$ref", "if", "not")
_UNSAFE: Final = frozenset({"__proto__", "prototype", "constructor"})
_NUMERIC: Final = ("number", "integer")  # no set: a type may be a list, which has no hash
_MOST_PROOFS: Final = 2_048
_MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Tells a schema from what it was before, by its bytes as they stand; it is no canonical digest."""

    size: int
    digest: bytes


def _never(_value: Json) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What holds for one schema.

    ``accepts`` validates a whole value, and refuses all when the schema does not compile. ``digest`` is
    missing, and ``rules`` empty, when the schema justifies no plan. ``names`` maps a form to the declared
    key that a ``key-form`` rule gives it, ``members`` does the same for each ``enum-form`` key.
    """

    schema: object
    seen: Fingerprint | None = None
    accepts: Callable[[Json], bool] = _never
    digest: str | None = None
    rules: tuple[RuleRef, ...] = ()
    judge: PropertyJudge | None = None
    declared: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])


class _Store:
    """Proofs by the identity of their schema, the oldest first, bounded in number and in bytes."""

    def __init__(self) -> None:
        self.proofs: dict[int, Proof] = {}
        self._bytes = 0
        self._changing = Lock()  # guards the two against threads that add at the same time

    def put(self, proof: Proof) -> None:
        with self._changing:
            self._drop(id(proof.schema))
            self._bytes += _size(proof)
            while self.proofs and (len(self.proofs) >= _MOST_PROOFS or self._bytes > _MOST_BYTES):
                self._drop(next(iter(self.proofs)))
            self.proofs[id(proof.schema)] = proof

    def drop(self, schema: object) -> None:
        with self._changing:
            self._drop(id(schema))

    def _drop(self, key: int) -> None:
        gone = self.proofs.pop(key, None)
        self._bytes -= 0 if gone is None else _size(gone)


def _size(proof: Proof) -> int:
    return proof.seen.size if proof.seen else 0


_store = _Store()
kept: Final = _store.proofs
"""What the store holds. To be read by the boundary and changed here alone."""


def prove(schema: object) -> Proof:
    """The proof of this schema object as it is now, even if it was changed in place since it was seen."""
    proof = kept.get(id(schema))
    if proof is not None and proof.schema is schema:
        seen = _fingerprint(schema)
        if seen is not None and seen == proof.seen:
            return proof
    return _enter(schema)


def forget(schema: object) -> None:
    """Drop what is kept of a schema object, because its descriptor changed or left."""
    _store.drop(schema)


def _enter(schema: object) -> Proof:
    proof = _proof_of(schema)
    _store.put(proof)
    return proof


def _fingerprint(schema: object) -> Fingerprint | None:
    try:
        encoded = msgspec.json.encode(schema)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return Fingerprint(size=len(encoded), digest=sha256(encoded).digest())


def _proof_of(schema: object) -> Proof:
    if not isinstance(schema, dict):
        return Proof(schema=schema)
    declared = cast("JsonObject", schema)
    seen = _fingerprint(declared)
    try:
        accepts = compile_schema(declared).accepts
    except ValueError:
        return Proof(schema=declared, seen=seen)
    plain = Proof(schema=declared, seen=seen, accepts=accepts)
    if not _in_language(declared):
        return plain
    try:
        digest = canonical_digest(declared)
        judge = PropertyJudge(declared)
    except ValueError:
        return plain
    properties = cast("JsonObject", declared["properties"])
    rules = _rules(declared, properties, judge)
    if not rules:
        return plain
    forms = unique_forms(properties)
    renamed = {rule.key for rule in rules if rule.kind == "key-form"}
    return Proof(
        schema=declared,
        seen=seen,
        accepts=accepts,
        digest=digest,
        rules=rules,
        judge=judge,
        declared=frozenset(properties),
        names={form: key for form, key in forms.items() if key in renamed},
        members={rule.key: _members(properties[rule.key]) for rule in rules if rule.kind == "enum-form"},
    )


def _in_language(schema: JsonObject) -> bool:
    """Whether the schema is a closed object of the bounded language (design: Normal forms)."""
    properties = schema.get("properties")
    return (
        schema.get("type") == "object"
        and schema.get("additionalProperties") is False
        and isinstance(properties, dict)
        and len(properties) <= MAX_PROPERTIES
        and not any(keyword in schema for keyword in _FORBIDDEN)
        and all(len(key) <= MAX_KEY and key not in _UNSAFE for key in properties)
    )


def _rules(schema: JsonObject, properties: JsonObject, judge: PropertyJudge) -> tuple[RuleRef, ...]:
    own_form = set(unique_forms(properties).values())
    required = schema.get("required")
    needed = set(cast("list[str]", required)) if isinstance(required, list) else set[str]()
    rules: list[RuleRef] = []
    for key in sorted_code_units(properties):
        inner = properties[key]
        if not isinstance(inner, dict):
            continue
        kinds: list[RuleKind] = ["key-form"] if key in own_form else []
        if key not in needed and not judge.accepts(key, None):
            kinds.append("optional-null")
        if inner.get("type") in _NUMERIC:
            kinds.append("numeric-string")
        if _members(inner):
            kinds.append("enum-form")
        rules.extend(RuleRef(kind=kind, key=key) for kind in kinds)
        if len(rules) >= MAX_RULES:
            break
    return tuple(rules[:MAX_RULES])


def _members(inner: Json) -> dict[str, str]:
    """The members of a string enum by the forms that only one of them has."""
    if not isinstance(inner, dict) or inner.get("type") != "string":
        return {}
    members = inner.get("enum")
    if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
        return {}
    return unique_forms(cast("list[str]", members))
