"""What one schema proves: its validator, its digest and the rules that hold for it.

A proof is kept per schema *object*, so that a call pays for none of it twice. An entry holds its schema,
so an identity cannot be taken over by another object while the entry lives; and it holds the schema's
bytes, so that a schema changed in place is noticed by ``prove_now``. Entries are bounded in number, the
oldest goes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, cast

import msgspec

from toolfabric._base.canonical import canonical_digest, sorted_code_units
from toolfabric._base.validation import Validator, compile_schema
from toolfabric.entropy.forms import unique_forms
from toolfabric.entropy.judge import PropertyJudge
from toolfabric.entropy.records import MAX_KEY, MAX_PROPERTIES, MAX_RULES, RuleKind, RuleRef
from toolfabric.values import Json, JsonObject

__all__ = ["Proof", "forget", "prove", "prove_now"]

_FORBIDDEN: Final = ("patternProperties", "oneOf", "anyOf", "allOf", "$ref", "if", "not")
_UNSAFE: Final = frozenset({"__proto__", "prototype", "constructor"})
_MOST_PROOFS: Final = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What holds for one schema.

    ``validator`` is missing when the schema does not compile. ``digest`` is missing, and ``rules``
    empty, when the schema justifies no plan. ``names`` maps a form to the declared key that a
    ``key-form`` rule gives it, ``members`` does the same for each ``enum-form`` key.
    """

    schema: object
    snapshot: bytes | None = None
    validator: Validator | None = None
    digest: str | None = None
    rules: tuple[RuleRef, ...] = ()
    judge: PropertyJudge | None = None
    declared: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])


_proofs: dict[int, Proof] = {}
_entering = Lock()  # guards the count of entries against threads that add at the same time


def prove(schema: object) -> Proof:
    """The proof of this schema object, as it was when first seen. Costs one look-up from then on."""
    proof = _proofs.get(id(schema))
    if proof is None or proof.schema is not schema:
        return _enter(schema)
    return proof


def prove_now(schema: object) -> Proof:
    """The proof of this schema object as it is now, even if it was changed in place since."""
    proof = prove(schema)
    if proof.snapshot is None or proof.snapshot != _snapshot(schema):
        return _enter(schema)
    return proof


def forget(schema: object) -> None:
    """Drop what is kept of a schema object, because its descriptor changed or left."""
    with _entering:
        _proofs.pop(id(schema), None)


def _enter(schema: object) -> Proof:
    proof = _proof_of(schema)
    with _entering:
        _proofs.pop(id(schema), None)
        while len(_proofs) >= _MOST_PROOFS:
            del _proofs[next(iter(_proofs))]
        _proofs[id(schema)] = proof
    return proof


def _snapshot(schema: object) -> bytes | None:
    try:
        return msgspec.json.encode(schema)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def _proof_of(schema: object) -> Proof:
    if not isinstance(schema, dict):
        return Proof(schema=schema)
    declared = cast("JsonObject", schema)
    snapshot = _snapshot(declared)
    try:
        validator = compile_schema(declared)
    except ValueError:
        return Proof(schema=schema, snapshot=snapshot)
    plain = Proof(schema=schema, snapshot=snapshot, validator=validator)
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
    kept = {rule.key for rule in rules if rule.kind == "key-form"}
    return Proof(
        schema=schema,
        snapshot=snapshot,
        validator=validator,
        digest=digest,
        rules=rules,
        judge=judge,
        declared=frozenset(properties),
        names={form: key for form, key in forms.items() if key in kept},
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
        if inner.get("type") in {"number", "integer"}:
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
