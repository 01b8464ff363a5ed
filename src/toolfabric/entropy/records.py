"""The values of the normal forms and of the measure, with their exact JSON forms (design: Vocabulary).

Records hold no logic. What a foreign artifact may look like is judged in ``artifact``, what a foreign
trace may look like in ``toolfabric.trace.reader``.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType

from toolfabric._base.camel import Record
from toolfabric.trace.records import RuleKind, RuleRef, Witness
from toolfabric.values import Outcome

__all__ = [
    "DISCOVERY_PREFIX",
    "MAX_KEY",
    "MAX_PLANS",
    "MAX_PROPERTIES",
    "MAX_REF",
    "MAX_RULES",
    "METRIC_VERSION",
    "NO_TASK",
    "WORKFLOW_PREFIX",
    "AuditCall",
    "NormalFormPlan",
    "NormalFormResult",
    "Operation",
    "RepairRow",
    "RuleKind",
    "RuleRef",
    "Surface",
    "SurfaceAction",
    "Trace",
    "ValueObservation",
    "Witness",
]

METRIC_VERSION: Final = 3
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
    ref: str
    base_schema_digest: str
    rules: tuple[RuleRef, ...]


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
