"""What a call may use up: time, and one of its execution's places for calls in flight.

Running out of places is no failure. Calls wait for one in the order in which they came, and a call that
is cancelled while it waits takes nothing. Each execution has places of its own, so that a call which
waits for another execution cannot starve it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from toolfabric.errors import GuardError
from toolfabric.protocols import CallContext, Clock
from toolfabric.values import Outcome

__all__ = ["Budgets", "check_time", "seconds_left"]

CALLS_IN_FLIGHT: Final = 256


def seconds_left(context: CallContext, clock: Clock) -> float | None:
    """Seconds until the deadline, possibly negative; ``None`` without one."""
    return None if context.deadline is None else context.deadline - clock.monotonic()


def check_time(context: CallContext, clock: Clock) -> None:
    """Let a call go on that is neither cancelled nor late.

    Raises:
        GuardError: It is; its outcome says which.
    """
    if context.cancelled():
        raise GuardError("the execution was cancelled, so the call was not made", outcome=Outcome.ABORTED)
    left = seconds_left(context, clock)
    if left is not None and left <= 0:
        raise GuardError("the execution's time was over, so the call was not made", outcome=Outcome.TIMED_OUT)


@dataclass(slots=True, eq=False)
class _Places:
    """One execution's places. ``users`` counts who holds or waits; at none the record goes."""

    free: asyncio.Semaphore
    users: int = field(default=0)


class Budgets:
    """The places of all executions that are running."""

    def __init__(self, *, calls_in_flight: int = CALLS_IN_FLIGHT) -> None:
        if calls_in_flight < 1:
            raise ValueError("there must be at least one place for a call in flight")
        self._calls_in_flight = calls_in_flight
        self._places: dict[str, _Places] = {}

    async def take(self, context: CallContext, clock: Clock) -> Callable[[], None]:
        """Wait for a place, and return the function that gives it back, to be called once.

        Raises:
            GuardError: The deadline came first.
        """
        name = context.invocation_id
        places = self._places.get(name)
        if places is None:
            places = self._places[name] = _Places(asyncio.Semaphore(self._calls_in_flight))
        places.users += 1
        try:
            await _acquired(places.free, context, clock)
        except BaseException:
            self._leave(name, places)
            raise

        def give_back() -> None:
            places.free.release()
            self._leave(name, places)

        return give_back

    def executions(self) -> int:
        """How many executions hold or wait for a place now."""
        return len(self._places)

    def _leave(self, name: str, places: _Places) -> None:
        places.users -= 1
        if not places.users:
            del self._places[name]


async def _acquired(free: asyncio.Semaphore, context: CallContext, clock: Clock) -> None:
    if not free.locked():
        await free.acquire()  # does not wait: nobody is ahead
        return
    try:
        async with asyncio.timeout(seconds_left(context, clock)):
            await free.acquire()
    except TimeoutError as error:
        raise GuardError(
            "the execution's time was over before there was a place for the call", outcome=Outcome.TIMED_OUT
        ) from error
