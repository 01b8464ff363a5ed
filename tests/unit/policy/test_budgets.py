"""Places for calls in flight."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from toolfabric._base.clock import SystemClock
from toolfabric.errors import GuardError
from toolfabric.policy.budgets import Budgets, check_time, seconds_left
from toolfabric.protocols import CallContext
from toolfabric.values import Outcome

pytestmark = pytest.mark.anyio
CLOCK = SystemClock()


def context(
    invocation: str = "one", deadline: float | None = None, *, cancelled: bool = False
) -> CallContext:
    return CallContext(
        invocation_id=invocation,
        call_id="fabric_1",
        cwd=Path("/"),
        deadline=deadline,
        cancelled=lambda: cancelled,
    )


async def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    budgets = Budgets(calls_in_flight=1)
    order: list[int] = []

    async def call(number: int) -> None:
        give_back = await budgets.take(context(), CLOCK)
        order.append(number)
        await asyncio.sleep(0)
        give_back()

    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(call(number))
    assert order == list(range(10))
    assert budgets.executions() == 0


async def test_one_execution_does_not_starve_another() -> None:
    budgets = Budgets(calls_in_flight=1)
    held = await budgets.take(context("one"), CLOCK)
    async with asyncio.timeout(5):
        other = await budgets.take(context("two"), CLOCK)
    other()
    held()


async def test_a_cancelled_wait_takes_nothing() -> None:
    budgets = Budgets(calls_in_flight=1)
    held = await budgets.take(context(), CLOCK)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(budgets.take(context(), CLOCK))
        await asyncio.sleep(0)
        waiting.cancel()
    held()
    assert budgets.executions() == 0
    (await budgets.take(context(), CLOCK))()


async def test_the_deadline_ends_a_wait() -> None:
    budgets = Budgets(calls_in_flight=1)
    held = await budgets.take(context(), CLOCK)
    with pytest.raises(GuardError, match="before there was a place") as caught:
        await budgets.take(context(deadline=CLOCK.monotonic() + 0.01), CLOCK)
    assert caught.value.outcome is Outcome.TIMED_OUT
    held()
    assert budgets.executions() == 0


def test_time_is_checked_against_deadline_and_cancellation() -> None:
    check_time(context(), CLOCK)
    assert seconds_left(context(), CLOCK) is None
    with pytest.raises(GuardError) as late:
        check_time(context(deadline=CLOCK.monotonic() - 1), CLOCK)
    with pytest.raises(GuardError) as cancelled:
        check_time(context(cancelled=True), CLOCK)
    assert (late.value.outcome, cancelled.value.outcome) == (Outcome.TIMED_OUT, Outcome.ABORTED)


def test_there_is_at_least_one_place() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Budgets(calls_in_flight=0)
