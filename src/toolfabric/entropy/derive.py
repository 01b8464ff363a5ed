"""Derive a normal-form plan from a schema, and check a plan by deriving it again.

No corpus is needed (seed: Static normal-form plans). The proof is about representation: it says nothing
of what a caller meant, nor that a call will succeed.
"""

from __future__ import annotations

from toolfabric.entropy.forms import is_text
from toolfabric.entropy.proof import Proof, prove
from toolfabric.entropy.records import MAX_REF, NormalFormPlan
from toolfabric.errors import RecordError
from toolfabric.values import JsonObject

__all__ = ["derive_normal_form_plan", "is_derived", "proves_normal_form_plan", "read_plan"]


def derive_normal_form_plan(ref: str, schema: object) -> NormalFormPlan | None:
    """The one plan that this schema proves for this ref, or ``None`` when it proves nothing.

    Never raises for a foreign schema: one that does not compile, is not closed, uses combinators at
    the top, has unsafe names or no canonical form justifies no plan.
    """
    if not _usable(ref):
        return None
    proof = prove(schema)
    if proof.digest is None:
        return None
    return NormalFormPlan(version=1, ref=ref, base_schema_digest=proof.digest, rules=proof.rules)


def proves_normal_form_plan(plan: NormalFormPlan | JsonObject, schema: object) -> bool:
    """Whether the plan is exactly what the schema, as it is now, gives; its digest alone is not enough."""
    read = read_plan(plan)
    return read is not None and is_derived(read, prove(schema))


def is_derived(plan: NormalFormPlan, proof: Proof) -> bool:
    """Whether the plan is what ``derive_normal_form_plan`` gives for its ref and the proof's schema."""
    return (
        plan.version == 1
        and plan.base_schema_digest == proof.digest
        and plan.rules == proof.rules
        and _usable(plan.ref)
    )


def read_plan(plan: object) -> NormalFormPlan | None:
    """The plan itself, or the record of a plain dictionary of its form; ``None`` for anything else."""
    if isinstance(plan, NormalFormPlan):
        return plan
    try:
        return NormalFormPlan.from_json(plan)
    except RecordError:
        return None


def _usable(ref: str) -> bool:
    return len(ref) <= MAX_REF and is_text(ref)
