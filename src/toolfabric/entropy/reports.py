"""What the measure, the trend, a compilation and the trial report, with their exact JSON forms.

Derived numbers are rounded (``rounding``); counts are whole. Records hold no logic.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from toolfabric._base.camel import Record
from toolfabric.entropy.records import CompiledSurface, ReviewSignal, RuleRef

__all__ = [
    "CompileGate",
    "CompileOutcome",
    "Divergence",
    "EntropyReport",
    "EntropyTotals",
    "MergedSurface",
    "ModelReport",
    "NormalFormProposal",
    "RefReport",
    "ShapeCount",
    "Trend",
    "TrialClass",
    "TrialReport",
    "TrialTotals",
]

TrialClass = Literal["normalization-win", "tightening-cost", "canonical-identity-cost", "idempotence-cost"]


class ShapeCount(Record, frozen=True, kw_only=True):
    """How often calls of one ref had one shape."""

    signature: str
    count: int


class RefReport(Record, frozen=True, kw_only=True):
    """One called action. ``score`` is its rejections by its calls; the rest is diagnostic.

    ``shape_signatures`` are the eight commonest, by count, then signature.
    """

    ref: str
    calls: int
    succeeded: int
    failed: int
    shape_signatures: tuple[ShapeCount, ...]
    shape_entropy_bits: float
    failure_stage_entropy_bits: float
    churn_rate: float
    lexicon_rows: int
    static_freedom: float
    score: float


class ModelReport(Record, frozen=True, kw_only=True):
    """The traces that one model produced."""

    model: str
    operations: int
    action_operations: int
    succeeded: int
    invocation_rejections: int
    invocation_rejections_per1k: float = field(name="invocationRejectionsPer1k")
    behavioral_score: float


class EntropyTotals(Record, frozen=True, kw_only=True):
    """Counts over all operations, however they ended and whatever they were.

    ``invocation_rejections`` counts action operations alone.
    """

    traces: int
    operations: int
    action_operations: int
    discovery_operations: int
    workflow_operations: int
    succeeded: int
    failed: int
    aborted: int
    timed_out: int
    invocation_rejections: int
    invocation_rejections_per1k: float = field(name="invocationRejectionsPer1k")


class EntropyReport(Record, frozen=True, kw_only=True):
    """The metric, version 3 (seed: Metric v3).

    ``score`` is the share of action operations that were rejected before they could have an effect; it
    says nothing of whether tasks succeeded, and no other field enters it. Do not compare it with the
    score of an earlier ``metric_version``. ``omitted_plans`` stands only in a compilation's report that
    had to leave plans out.
    """

    metric_version: Literal[3]
    catalog_digest: str
    score: float
    behavioral_score: float
    static_score: float
    static_freedom: float
    shape_entropy_bits: float
    failure_stage_entropy_bits: float
    churn_rate: float
    navigation_ratio: float
    flow_entropy_bits: float
    lexicon_rows: int
    totals: EntropyTotals
    refs: tuple[RefReport, ...]
    by_model: tuple[ModelReport, ...]
    omitted_plans: int | UnsetType = UNSET


class Trend(Record, frozen=True, kw_only=True):
    """A least-squares line through scores, oldest first: an observation, not a promise of going down."""

    count: int
    first: float | UnsetType = UNSET
    last: float | UnsetType = UNSET
    slope_per_step: float


class NormalFormProposal(Record, frozen=True, kw_only=True, tag_field="kind", tag="normal-form"):
    """A plan that the declared surface proves."""

    ref: str
    base_schema_digest: str
    rules: tuple[RuleRef, ...]


class CompileGate(Record, frozen=True, kw_only=True):
    """The historical score twice: compiling changes no recorded outcome, so ``delta`` is 0."""

    passed: bool
    before_score: float
    after_score: float
    delta: float
    reasons: tuple[str, ...]


class CompileOutcome(Record, frozen=True, kw_only=True):
    """What a compilation came to.

    ``converged``: the plans are exactly those of the artifact that was given, which is handed back, or
    there is neither artifact nor plan. ``compiled``: ``artifact`` is new, and ``after`` is ``report``.
    """

    status: Literal["converged", "compiled"]
    artifact: CompiledSurface | UnsetType = UNSET
    report: EntropyReport
    after: EntropyReport | UnsetType = UNSET
    proposals: tuple[NormalFormProposal | ReviewSignal, ...]
    gate: CompileGate | UnsetType = UNSET


class MergedSurface(Record, frozen=True, kw_only=True):
    """Two artifacts as one, every plan proved again, and how many entries that cost."""

    file: CompiledSurface
    dropped_overlays: int
    dropped_quarantines: int
    dropped_normalizations: int


class TrialTotals(Record, frozen=True, kw_only=True):
    """How the recorded calls fared with and without the normal forms.

    A win says that an invalid representation became valid with a witness, not that the operation ran
    or would have succeeded. The last four fields are kept for older readers; only ``tightening_cost``
    can be anything but 0.
    """

    operations: int
    both_accept: int
    both_reject: int
    normalization_win: int
    canonical_identity_checks: int
    canonical_identity_cost: int
    idempotence_cost: int
    tightening_cost: int
    typed_failure_win: int
    quarantine_win: int
    quarantine_cost: int


class Divergence(Record, frozen=True, kw_only=True):
    """How often one ref's calls fell into a class in which the two validations differ, or a law broke."""

    ref: str
    trial_class: TrialClass
    count: int


class TrialReport(Record, frozen=True, kw_only=True):
    """The outcome of a representation trial (seed: Representation trials).

    ``clean``: a valid plan was exercised at no preservation cost; not that anything was won or that a
    task succeeded. ``no-evidence``: no recorded call had a valid plan. ``costly``: a law was broken. Both
    scores are the unchanged historical rejection rate.
    """

    verdict: Literal["clean", "no-evidence", "costly"]
    declared_score: float
    effective_score: float
    delta: float
    totals: TrialTotals
    divergences: tuple[Divergence, ...]
