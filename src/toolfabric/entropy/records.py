"""The values of the normal forms and of the measure, with their exact JSON forms (design: Vocabulary).

Records hold no logic. What a foreign artifact may look like is judged in ``artifact``, what a foreign
trace may look like in ``toolfabric.trace.reader``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from toolfabric._base.camel import Record
from toolfabric.trace.records import Digest, RuleKind, RuleRef, Witness
from toolfabric.values import Outcome

__all__ = [
    "ARTIFACT_VERSION",
    "DISCOVERY_PREFIX",
    "MAX_APPLIED",
    "MAX_KEY",
    "MAX_PLANS",
    "MAX_PROPERTIES",
    "MAX_REF",
    "MAX_RULES",
    "METRIC_VERSION",
    "NO_TASK",
    "WORKFLOW_PREFIX",
    "AppliedEntry",
    "AuditCall",
    "CompiledSurface",
    "DeclareEnum",
    "Gate",
    "KeyCluster",
    "LegacyAction",
    "LegacyQuarantine",
    "NormalFormPlan",
    "NormalFormResult",
    "Operation",
    "OverloadSplit",
    "RepairRow",
    "ReviewSignal",
    "RuleKind",
    "RuleRef",
    "SequenceFuse",
    "Surface",
    "SurfaceAction",
    "Trace",
    "ValueObservation",
    "Witness",
]

ARTIFACT_VERSION: Final = 2
METRIC_VERSION: Final = 3
MAX_APPLIED: Final = 256
MAX_PROPERTIES: Final = 128
MAX_KEY: Final = 128
MAX_REF: Final = 1_024
MAX_RULES: Final = 128
MAX_PLANS: Final = 1_000
NO_TASK: Final = "(none)"
DISCOVERY_PREFIX: Final = "fabric.discovery."
WORKFLOW_PREFIX: Final = "fabric.workflow."


class NormalFormPlan(Record, frozen=True, kw_only=True):
    """The rules that one schema proves for one action, bound to exactly that schema."""

    version: Literal[1]
    ref: Annotated[str, Meta(min_length=1, max_length=MAX_REF)]
    base_schema_digest: Digest
    rules: Annotated[tuple[RuleRef, ...], Meta(min_length=1, max_length=MAX_RULES)]


class NormalFormResult(Record, frozen=True, kw_only=True):
    """What applying a plan gave: the very arguments that came in, or a copy with its witness."""

    args: Any
    witness: Witness | None = None


class Operation(Record, frozen=True, kw_only=True):
    """One recorded call, as the measure needs it."""

    ref: str
    args: dict[str, Any]
    outcome: Outcome
    failure_stage: str | UnsetType = UNSET
    normalization: Witness | UnsetType = UNSET


class Trace(Record, frozen=True, kw_only=True):
    """The calls of one execution, in issue order.

    ``task_key`` is the first persisted workflow phase; ``model`` is ``provider/modelId``.
    """

    operations: tuple[Operation, ...]
    task_key: str | UnsetType = UNSET
    model: str | UnsetType = UNSET


class SurfaceAction(Record, frozen=True, kw_only=True):
    """One action as it is declared. A schema of ``null`` declares the action and nothing of its arguments."""

    ref: str
    input_schema: Any


class Surface(Record, frozen=True, kw_only=True):
    """The declared actions at one moment, by ref in code-unit order."""

    version: Literal[1]
    actions: tuple[SurfaceAction, ...]


class RepairRow(Record, frozen=True, kw_only=True):
    """One authored alias of the catalog; ``ref`` is the canonical target. Diagnostic input only."""

    kind: Literal["keyAlias", "actionAlias"]
    ref: str
    from_: str
    to: str


class ValueObservation(Record, frozen=True, kw_only=True):
    """A value that a call's argument had, and how often."""

    ref: str
    key: str
    value: bool | int | float | str
    count: int = 1


class AuditCall(Record, frozen=True, kw_only=True):
    """The verbatim arguments of one recorded call."""

    ref: str
    args: Any


class AppliedEntry(Record, frozen=True, kw_only=True):
    """One line of the ledger: for a plan, how many rules it has."""

    kind: str
    ref: str
    detail: str


class Gate(Record, frozen=True, kw_only=True):
    """Scores before and after a compilation. They are equal: compiling imagines no successes."""

    passed: bool
    before_score: float
    after_score: float
    reasons: tuple[str, ...]


class LegacyAction(Record, frozen=True, kw_only=True):
    """A schema overlay of a v1 artifact; it is read and does nothing."""

    ref: str
    input_schema: Any
    base_schema_digest: str


class LegacyQuarantine(Record, frozen=True, kw_only=True):
    """A hidden ref of a v1 artifact; it is read and hides nothing."""

    ref: str
    base_schema_digest: str


class CompiledSurface(Record, frozen=True, kw_only=True):
    """The artifact. Version 2 holds plans alone; version 1 held restrictions, which are inert.

    A claim in it, its gate included, is authority for nothing: every plan is derived again from the
    live schema before it is used.
    """

    version: Literal[1, 2]
    metric_version: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    actions: tuple[LegacyAction, ...]
    quarantined: tuple[LegacyQuarantine, ...]
    normalizations: Annotated[tuple[NormalFormPlan, ...], Meta(max_length=MAX_PLANS)] | UnsetType = UNSET
    applied: tuple[AppliedEntry, ...]
    gate: Gate
    evidence_digest: str

    @property
    def plans(self) -> tuple[NormalFormPlan, ...]:
        """The plans of a version 2 artifact; version 1 has none."""
        return self.normalizations if self.version == ARTIFACT_VERSION and self.normalizations else ()


class DeclareEnum(Record, frozen=True, kw_only=True, tag_field="kind", tag="declare-enum"):
    """A marked open property was given few values, again and again; its author may want to list them.

    ``values`` stand by how often they were seen, then by type and text; ``calls`` is all observations.
    """

    ref: str
    key: str
    values: tuple[bool | int | float | str, ...]
    calls: int
    distinct: int
    top_share: float


class KeyCluster(Record, frozen=True, kw_only=True):
    """A set of keys that calls came with."""

    keys: tuple[str, ...]
    calls: int


class OverloadSplit(Record, frozen=True, kw_only=True, tag_field="kind", tag="overload-split"):
    """Calls of one action fall into groups without a common key; it may be several actions."""

    ref: str
    shape_entropy_bits: float
    clusters: tuple[KeyCluster, ...]


class SequenceFuse(Record, frozen=True, kw_only=True, tag_field="kind", tag="sequence-fuse"):
    """The same actions followed one another again and again; they may be one action."""

    sequence: tuple[str, ...]
    occurrences: int


ReviewSignal: TypeAlias = DeclareEnum | OverloadSplit | SequenceFuse
"""A remark for authors; nothing applies one."""
