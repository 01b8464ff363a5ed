"""Apply a proven plan to the arguments of one call: the boundary's hot path, and the trial's.

The four laws (seed: Preservation laws):

1. Identity: arguments that the declared schema accepts go out as the same object, without a witness.
2. Exact proof: a plan that is not exactly what the current schema gives does nothing.
3. Validated output: what goes out changed is accepted by the unchanged schema.
4. Idempotence: what went out changed goes in as a canonical call, so law 1 holds for it.

Applying never raises and never judges: what it leaves alone is for the declared schema to refuse. It is
no permission, and no sign that the call will work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfabric._base.canonical import canonical_digest
from toolfabric.entropy.derive import is_derived, read_plan
from toolfabric.entropy.forms import number_spelled, spelling_form
from toolfabric.entropy.proof import Proof, kept, prove
from toolfabric.entropy.records import NormalFormPlan, NormalFormResult, RuleRef, Witness
from toolfabric.entropy.signature import shape_signature
from toolfabric.values import Json, JsonObject

__all__ = ["apply_normal_form_plan"]


def apply_normal_form_plan(
    ref: str, schema: object, args: Json, plan: NormalFormPlan | JsonObject | None
) -> NormalFormResult:
    """Bring one call's arguments into the form that the schema declares, if the plan proves how.

    Whatever cannot be proved goes out as the very object that came in, without a witness. A canonical
    call costs one look-up and one validation; for that the first lines are written out.
    """
    if plan is None:
        return NormalFormResult(args=args)
    try:
        proof = kept[id(schema)]
    except KeyError:
        proof = None
    if (
        proof is not None
        and proof.schema is schema
        and type(plan) is NormalFormPlan
        and proof.digest == plan.base_schema_digest
        and plan.ref == ref
        and proof.accepts(args)
    ):
        return NormalFormResult(args=args)
    read = read_plan(plan)
    changed = _changed(schema, args, read) if read is not None and read.ref == ref else None
    return changed or NormalFormResult(args=args)


def _changed(schema: object, args: Json, plan: NormalFormPlan) -> NormalFormResult | None:
    """Everything but the canonical call that was seen before; ``None`` leaves the arguments as they are."""
    proof = prove(schema)
    if not is_derived(plan, proof) or not isinstance(args, dict) or proof.accepts(args):
        return None
    return _candidate(proof, args)


def _candidate(proof: Proof, args: JsonObject) -> NormalFormResult | None:
    """The whole repair, or nothing: a partial one that still fails validation is no repair."""
    sources = _sources(proof, args)
    if sources is None:
        return None
    targets = {source: target for target, source in sources.items()}
    changed: JsonObject = {targets.get(key, key): value for key, value in args.items()}
    applied = tuple(rule for rule in proof.rules if _take(rule, proof, changed, sources))
    if not applied or not proof.accepts(changed):
        return None
    witness = _witness(proof, args, changed, applied)
    return NormalFormResult(args=changed, witness=witness) if witness else None


def _sources(proof: Proof, args: Mapping[Any, Json]) -> dict[str, str] | None:
    """Which undeclared key gives each target; ``None`` when a target is there already or wanted twice."""
    sources: dict[str, str] = {}
    for key in args:
        if key in proof.declared:
            continue
        form = spelling_form(key) if isinstance(key, str) else None
        target = None if form is None else proof.names.get(form)
        if target is None:
            continue
        if target in args or target in sources:
            return None
        sources[target] = key
    return sources


def _take(rule: RuleRef, proof: Proof, changed: JsonObject, sources: Mapping[str, str]) -> bool:
    """Apply one rule in place; whether it did anything."""
    key = rule.key
    if rule.kind == "key-form":
        return key in sources
    if key not in changed or proof.judge is None or proof.judge.accepts(key, changed[key]):
        return False
    value = changed[key]
    if rule.kind == "optional-null":
        if value is None:
            del changed[key]
        return value is None
    taken = _spelled(rule, proof, value) if isinstance(value, str) else None
    if taken is None or (rule.kind == "numeric-string" and not proof.judge.accepts(key, taken)):
        return False
    changed[key] = taken
    return True


def _spelled(rule: RuleRef, proof: Proof, text: str) -> int | float | str | None:
    """The number, or the declared member, that a text is another spelling of."""
    if rule.kind == "numeric-string":
        return number_spelled(text)
    form = spelling_form(text)
    return None if form is None else proof.members[rule.key].get(form)


def _witness(
    proof: Proof, before: JsonObject, after: JsonObject, applied: tuple[RuleRef, ...]
) -> Witness | None:
    """The record of the change; none when a nested key cannot be written down, and then no change."""
    if proof.digest is None:
        return None
    try:
        shapes = [canonical_digest(shape_signature(args)) for args in (before, after)]
    except ValueError:
        return None
    return Witness(
        version=1,
        base_schema_digest=proof.digest,
        before_shape=shapes[0],
        after_shape=shapes[1],
        rules=applied,
    )
