"""Step 2: may this call be made at all, before any code of its provider runs.

It is not about the arguments. It also waits here for a place among the calls in flight, so that
nothing has been spent on a call that has to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from toolfabric._base.text import one_line
from toolfabric.errors import GuardError
from toolfabric.pipeline.records import Flight, Services
from toolfabric.policy.budgets import check_time
from toolfabric.protocols import Decision, Guard, Verdict
from toolfabric.registry.bindings import Action

__all__ = ["guard"]


async def guard(flight: Flight, services: Services) -> Flight:
    """Wait for a place, then ask every guard; the first that refuses ends the call.

    Raises:
        GuardError: The execution is cancelled or out of time, or a guard refused or failed.
    """
    check_time(flight.context, services.clock)
    give_back = await services.budgets.take(flight.context, services.clock)
    try:
        check_time(flight.context, services.clock)
        _ask(services.guards, flight.found)
    except BaseException:
        give_back()
        raise
    return replace(flight, holds=(*flight.holds, give_back))


def _ask(guards: Sequence[Guard], action: Action) -> None:
    for one in guards:
        try:
            decision = cast("object", one.decide(action.ref, action.binding.origin))
        except Exception as error:
            raise GuardError(f"{action.ref} is refused: the guard that decides on it failed") from error
        if not isinstance(decision, Decision):
            raise GuardError(f"{action.ref} is refused: the guard that decides on it gave no decision")
        if decision.verdict not in (Verdict.ALLOW, Verdict.WOULD_BLOCK):
            raise GuardError(
                f"{action.ref} is refused: {one_line(decision.reason, limit=1_000) or 'by policy'}"
            )
