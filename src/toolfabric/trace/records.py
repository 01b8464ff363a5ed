"""The durable record of calls: an operation, and the witness that its arguments were normalized.

Exact JSON forms of the execution trace (design: Execution trace V1). Records only: how they are made
is in ``recorder``, who may be believed in ``reader``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from toolfabric._base.camel import Record
from toolfabric.values import Outcome, Stage

__all__ = ["Digest", "Operation", "RuleKind", "RuleRef", "Witness"]

Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
RuleKind: TypeAlias = Literal["key-form", "optional-null", "numeric-string", "enum-form"]


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
    """One call as the trace keeps it: projected arguments and a typed outcome."""

    type: Literal["call"]
    sequence: Annotated[int, Meta(ge=1)]
    ref: str
    provider: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    args: dict[str, Any]
    outcome: Outcome
    failure_stage: Stage | UnsetType = UNSET
    error: str | UnsetType = UNSET
    result: Any = UNSET
    normalization: Witness | UnsetType = UNSET
