"""The durable record of one execution: its operations, its envelope, and the witness of a normalization.

Exact JSON forms of the execution trace (design: Execution trace V1). Records only: how they are made is
in ``recorder`` and ``seal``, who may be believed in ``reader``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from toolfabric._base.camel import Record
from toolfabric.values import Outcome, Stage

__all__ = [
    "INVALID_REF",
    "KIND",
    "VERSION",
    "Count",
    "Counts",
    "Digest",
    "Operation",
    "RuleKind",
    "RuleRef",
    "Trace",
    "Witness",
]

KIND: Final = "pi-fabric.execution"
VERSION: Final = 1
INVALID_REF: Final = "(invalid)"
"""Stands where a program called something whose name cannot be a ref; that text may say anything."""

Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
RuleKind: TypeAlias = Literal["key-form", "optional-null", "numeric-string", "enum-form"]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class RuleRef(Record, frozen=True, kw_only=True):
    """One rule of a normal form: a convention and the declared property it is about."""

    kind: RuleKind
    key: Annotated[str, Meta(max_length=128)]


class Witness(Record, frozen=True, kw_only=True):
    """What a normalization did to the shape of one call's arguments; it holds no value of theirs.

    It records a change of representation, not that the operation ran or succeeded (seed:
    Preservation laws). Shapes are digests of shape signatures.
    """

    version: Literal[1]
    base_schema_digest: Digest
    before_shape: Digest
    after_shape: Digest
    rules: Annotated[tuple[RuleRef, ...], Meta(min_length=1, max_length=128)]


class Operation(Record, frozen=True, kw_only=True):
    """One call as the trace keeps it: projected arguments and a typed outcome.

    ``sequence`` is issue order. ``error`` is a fixed sentence, never a foreign message.
    """

    type: Literal["call"]
    sequence: Count
    ref: Annotated[str, Meta(min_length=1)]
    provider: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    args: dict[str, Any]
    outcome: Outcome
    failure_stage: Stage | UnsetType = UNSET
    error: str | UnsetType = UNSET
    result: Any = UNSET
    normalization: Witness | UnsetType = UNSET


class Counts(Record, frozen=True, kw_only=True):
    """What the record left out.

    ``dropped_values``: left out because a bound was reached or JSON cannot carry them.
    ``truncated_values``: cut to a bound. ``redacted_values``: withheld by the projection, whole or in
    part; a call's result is one value. ``dropped_operations``: calls past a bound.
    """

    dropped_values: Count
    truncated_values: Count
    redacted_values: Count
    dropped_operations: Count


class Trace(Record, frozen=True, kw_only=True):
    """The record of one execution. It holds no clock, no random id and no program text."""

    kind: Literal["pi-fabric.execution"]
    version: Literal[1]
    outcome: Outcome
    phases: tuple[str, ...]
    operations: tuple[Operation, ...]
    counts: Counts
    error: str | UnsetType = UNSET
