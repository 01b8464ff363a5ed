"""What travels through the steps, and what the steps are given to work with.

A step takes the flight and gives the next one, the same object where it changed nothing. It raises the
one error class that stands for its stage, or none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from msgspec import Struct

from toolfabric.entropy.records import NormalFormPlan
from toolfabric.policy.approvers import NobodyToAsk
from toolfabric.policy.budgets import Budgets
from toolfabric.policy.risk import RiskPolicy
from toolfabric.protocols import Approval, Approver, CallContext, Clock, Guard
from toolfabric.registry.aliases import AliasTable
from toolfabric.registry.bindings import Action
from toolfabric.registry.registry import Registry
from toolfabric.trace.records import Witness
from toolfabric.values import Json, JsonObject

__all__ = ["MAX_ARGUMENT_DEPTH", "Flight", "Services", "Step"]

MAX_ARGUMENT_DEPTH: Final = 64
"""Containers in one another; real arguments have a handful, and validators follow each level."""


class Flight(Struct, frozen=True, kw_only=True, eq=False):
    """One call between two steps. A struct, since replacing a field is on the path of every call.

    ``ref`` is what was asked for until ``resolve`` makes it canonical. ``unfit`` says why what was
    given are no arguments at all; ``args`` is then empty, and ``validate`` tells it. ``accepted`` is
    the very object that the declared schema has already accepted. ``approval`` is there only when
    somebody was asked. ``holds`` are to be given back, last first, when the call has ended.
    """

    ref: str
    args: JsonObject
    context: CallContext
    unfit: str | None = None
    action: Action | None = None
    accepted: JsonObject | None = None
    normalization: Witness | None = None
    approval: Approval | None = None
    value: Json = None
    holds: tuple[Callable[[], None], ...] = ()

    @property
    def found(self) -> Action:
        """The action, for every step after ``resolve``."""
        assert self.action is not None, "resolve comes first"  # noqa: S101 -- an order of STEPS that cannot work
        return self.action


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What all calls of one host share. ``plans`` are used while ``normalize`` is there at all.

    Sizes are in bytes of JSON. Times are in seconds and end earlier where the call's deadline does.
    """

    registry: Registry
    clock: Clock
    guards: Sequence[Guard] = ()
    repairs: AliasTable = field(default_factory=AliasTable)
    plans: Mapping[str, NormalFormPlan] = field(default_factory=dict[str, NormalFormPlan])
    policy: RiskPolicy = field(default_factory=RiskPolicy)
    approver: Approver = field(default_factory=NobodyToAsk)
    budgets: Budgets = field(default_factory=Budgets)
    max_args_bytes: int = 16 * 1024 * 1024
    max_result_bytes: int = 16 * 1024 * 1024
    prepare_seconds: float = 10.0
    preview_seconds: float = 10.0
    approval_seconds: float = 600.0


Step: TypeAlias = Callable[[Flight, Services], Flight | Awaitable[Flight]]
