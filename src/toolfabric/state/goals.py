"""Where the work is to get to, and whether it is there: every reason why not."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET, UnsetType

from toolfabric.errors import RecordError, StorageError
from toolfabric.mesh.records import Swap
from toolfabric.state.certify import current_certification
from toolfabric.state.evidence import complexity_reasons
from toolfabric.state.ledger import Kept, Ledger, View
from toolfabric.state.records import ComplexityLimit, Goal, Reason, ReasonCode

__all__ = ["GoalCheck", "check_goal", "set_goal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalCheck:
    """Whether the goal is reached. It is when there is a goal and no reason against it."""

    goal: Kept[Goal] | None
    reasons: tuple[Reason, ...]

    @property
    def reached(self) -> bool:
        """Whether nothing is missing."""
        return self.goal is not None and not self.reasons


async def set_goal(
    ledger: Ledger,
    text: str,
    *,
    to: str | UnsetType = UNSET,
    certified: bool = False,
    complexity: tuple[ComplexityLimit, ...] = (),
    if_version: int | None = None,
) -> Swap:
    """Set the goal, always or if it is at a version.

    Raises:
        RecordError: A field does not have its declared form. Nothing was changed.
        StorageError: The mesh failed.
    """
    made = Goal(
        format=1,
        text=text,
        certified=certified,
        complexity=complexity,
        set_by=ledger.actor,
        set_at=ledger.now(),
        to=to,
    )
    swap = await ledger.swap_goal(Goal.from_json(made.to_json()), at=if_version)
    if swap.done:
        with contextlib.suppress(StorageError, ValueError):  # the record is the truth; the event is a notice
            await ledger.announce("goal", {"version": swap.version})
    return swap


async def check_goal(ledger: Ledger, view: View, *, workspace: Path) -> GoalCheck:
    """Compare a head that was looked at, and the files as they are now, with the goal.

    Raises:
        StorageError: The mesh failed.
    """
    try:
        goal = await ledger.goal()
    except RecordError as error:
        detail = f"the goal cannot be read: {error}"
        return GoalCheck(goal=None, reasons=(Reason(code=ReasonCode.DAMAGED, detail=detail),))
    if goal is None:
        detail = "no goal is set; 'state.goal' sets one"
        return GoalCheck(goal=None, reasons=(Reason(code=ReasonCode.NO_GOAL, detail=detail),))
    reasons = [
        *_state_reasons(goal.record, view),
        *await complexity_reasons(goal.record.complexity, workspace=workspace),
    ]
    if goal.record.certified:
        reasons += (await current_certification(ledger, view))[1]
    return GoalCheck(goal=goal, reasons=tuple(reasons))


def _state_reasons(goal: Goal, view: View) -> tuple[Reason, ...]:
    if goal.to is UNSET or (view.damage is None and view.current is not None and view.current.to == goal.to):
        return ()
    is_at = "there is no state yet" if view.current is None else f"the head is at {view.current.to!r}"
    detail = view.damage or f"the goal is the state {goal.to!r}, and {is_at}"
    return (Reason(code=ReasonCode.OTHER_STATE, detail=detail),)
