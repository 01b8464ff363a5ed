"""The checks of the normal forms: what must stay as it is, and what must do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from toolfabric.entropy.certification import Case, Check, Subject
from toolfabric.entropy.probes import AMBIGUOUS, CANONICAL, OPEN_SCHEMA, REF, SCHEMA, SPELLED, surface
from toolfabric.values import Json, JsonObject

__all__ = ["FORM_CHECKS", "forgeries"]


def forgeries(plan: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Plans that differ from a proven one in one respect each."""
    rules: list[Any] = plan["rules"]  # pyright: ignore[reportAssignmentType] -- a plan's own form
    yield "another ref", {**plan, "ref": "probe.other"}
    yield "another digest", {**plan, "baseSchemaDigest": "0" * 64}
    yield "another version", {**plan, "version": 2}
    yield "one rule less", {**plan, "rules": rules[:-1]}
    if len(rules) > 1:
        yield "rules in another order", {**plan, "rules": rules[::-1]}
    yield "a rule twice", {**plan, "rules": [*rules, rules[0]]}
    yield "no rules", {**plan, "rules": []}
    yield "an unknown kind", {**plan, "rules": [{**rules[0], "kind": "default-value"}, *rules[1:]]}
    for at, rule in enumerate(rules):
        for kind in ("key-form", "optional-null", "numeric-string", "enum-form"):
            other = {**rule, "kind": kind}
            if other not in rules:
                yield f"rule {at} as {kind}", {**plan, "rules": [*rules[:at], other, *rules[at + 1 :]]}
        moved = {**rule, "key": "elsewhere"}
        yield f"rule {at} on another target", {**plan, "rules": [*rules[:at], moved, *rules[at + 1 :]]}


def _does_nothing(subject: Subject, args: Json, plan: object, schema: object = SCHEMA) -> bool:
    result = subject.apply(REF, schema, args, plan)
    return result.args is args and result.witness is None


def static_preservation(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Every declared action, property and member is there after compiling as before."""
    declared = surface(search=SCHEMA, open=OPEN_SCHEMA, unused={"type": "object"})
    before = str(declared)
    outcome = subject.compile([], declared)
    yield "the surface is as it was", str(declared) == before
    yield "nothing is narrowed", not outcome.artifact.actions
    yield "nothing is hidden", not outcome.artifact.quarantined
    plan = subject.derive(REF, SCHEMA)
    for args in CANONICAL:
        yield f"{args} stays", _does_nothing(subject, args, plan)


def identity_and_idempotence(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Canonical arguments come back as the same object; what was changed once is not changed again."""
    plan = subject.derive(REF, SCHEMA)
    for args in CANONICAL:
        yield f"{args} is the same object", _does_nothing(subject, args, plan)
    for given, wanted in SPELLED:
        result = subject.apply(REF, SCHEMA, given, plan)
        yield f"{given} is brought into form", result.args == wanted and result.witness is not None
        yield f"{given} is left as it was given", result.args is not given
        yield f"{given} is changed once", _does_nothing(subject, result.args, plan)


def ambiguity(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Two names for one target, twins, lossy numbers and half repairs are left alone."""
    plan = subject.derive(REF, SCHEMA)
    for args in AMBIGUOUS:
        yield f"{args} is left alone", _does_nothing(subject, args, plan)


def forged_plans(subject: Subject, _folder: Path) -> Iterator[Case]:
    """A plan that differs in any way from the derived one does nothing."""
    plan = subject.derive(REF, SCHEMA).to_json()
    yield "the plan itself holds", subject.proves(plan, SCHEMA)
    for name, forged in forgeries(plan):
        yield f"{name}: not proved", forged["ref"] != REF or not subject.proves(forged, SCHEMA)
        for given, _wanted in SPELLED:
            yield f"{name}: {given} is left alone", _does_nothing(subject, given, forged)


def schema_drift(subject: Subject, _folder: Path) -> Iterator[Case]:
    """A plan of an earlier schema does nothing, not even under the digest of the current one."""
    plan = subject.derive(REF, SCHEMA)
    for name, drifted in _drifts():
        current = subject.derive(REF, drifted)
        yield f"{name}: not proved", not subject.proves(plan, drifted)
        yield f"{name}: {SPELLED[0][0]} is left alone", _does_nothing(subject, SPELLED[0][0], plan, drifted)
        if current is not None and current.rules != plan.rules:
            dressed = {**plan.to_json(), "baseSchemaDigest": current.base_schema_digest}
            yield f"{name}: a matching digest is not enough", not subject.proves(dressed, drifted)


def _drifts() -> Iterator[tuple[str, JsonObject]]:
    properties: Any = SCHEMA["properties"]
    yield "a description", {**SCHEMA, "description": "new"}
    yield "an open object", {**SCHEMA, "additionalProperties": True}
    yield "a combinator", {**SCHEMA, "anyOf": [{}]}
    yield "a required property", {**SCHEMA, "required": ["query", "max_results"]}
    yield "a new property", {**SCHEMA, "properties": {**properties, "MaxResults": {"type": "string"}}}
    yield (
        "a removed property",
        {
            **SCHEMA,
            "properties": {key: inner for key, inner in properties.items() if key != "score"},
        },
    )
    yield (
        "a new member",
        {
            **SCHEMA,
            "properties": {**properties, "sort_order": {"type": "string", "enum": ["newest", "NEWEST"]}},
        },
    )


FORM_CHECKS: Final = (
    Check(name="static-preservation", tries="declared values, after compiling", cases=static_preservation),
    Check(
        name="identity-and-idempotence",
        tries="canonical and otherwise spelled arguments",
        cases=identity_and_idempotence,
    ),
    Check(name="ambiguity-refusal", tries="arguments that would need a guess", cases=ambiguity),
    Check(name="forged-plans", tries="plans that differ in one respect", cases=forged_plans),
    Check(name="schema-drift", tries="plans of an earlier schema", cases=schema_drift),
)
"""Checks of deriving, proving and applying."""
