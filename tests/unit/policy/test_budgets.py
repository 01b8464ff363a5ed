"""Places for calls in flight: fair, bounded, never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from toolfabric.errors import GuardError
from toolfabric.policy.budgets import Budgets, check_time, seconds_left
from toolfabric.protocols import CallContext
from toolfabric.values import Outcome

pytestmark = pytest.mark.anyio


class ManualClock:
    seconds = 100.0

    def now(self) -> datetime:
        raise AssertionError

    def monotonic(self) -> float:
        return self.seconds


CLOCK = ManualClock()


def context(
    name: str = "one", deadline: float | None = None, cancelled: Callable[[], bool] = lambda: False
) -> CallContext:
    return CallContext(
        invocation_id=name, call_id="fabric_1", cwd=Path("/"), deadline=deadline, cancelled=cancelled
    )


async def test_places_are_given_in_the_order_of_asking() -> None:
    budgets = Budgets(calls_in_flight=1)
    served: list[int] = []
    first = await budgets.take(context(), CLOCK)

    async def call(number: int) -> None:
        give_back = await budgets.take(context(), CLOCK)
        served.append(number)
        await asyncio.sleep(0)
        give_back()

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(call(number))
        await asyncio.sleep(0)
        first()
        late = group.create_task(call(99))
    assert late.done()
    assert served == [*range(20), 99]
    assert budgets.executions() == 0


async def test_a_call_cancelled_while_it_waits_takes_nothing() -> None:
    budgets = Budgets(calls_in_flight=1)
    first = await budgets.take(context(), CLOCK)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(budgets.take(context(), CLOCK)) for _number in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        first()
        waiting[1].cancel()
    assert [task.cancelled() for task in waiting] == [True, True, False]
    waiting[2].result()()
    assert budgets.executions() == 0


async def test_each_execution_has_places_of_its_own() -> None:
    budgets = Budgets(calls_in_flight=1)
    outer = await budgets.take(context("outer"), CLOCK)
    inner = await budgets.take(context("inner"), CLOCK)
    assert budgets.executions() == 2
    inner()
    outer()
    assert budgets.executions() == 0


async def test_a_deadline_ends_the_wait_for_a_place() -> None:
    budgets = Budgets(calls_in_flight=1)
    first = await budgets.take(context(), CLOCK)
    with pytest.raises(GuardError, match="before there was a place") as caught:
        await budgets.take(context(deadline=CLOCK.seconds + 0.01), CLOCK)
    assert caught.value.outcome is Outcome.TIMED_OUT
    first()
    assert budgets.executions() == 0


def test_there_is_at_least_one_place() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Budgets(calls_in_flight=0)


def test_time_is_checked_on_the_clock_given() -> None:
    assert seconds_left(context(), CLOCK) is None
    assert seconds_left(context(deadline=130.0), CLOCK) == 30.0
    check_time(context(deadline=100.5), CLOCK)
    with pytest.raises(GuardError) as late:
        check_time(context(deadline=100.0), CLOCK)
    with pytest.raises(GuardError) as cancelled:
        check_time(context(cancelled=lambda: True), CLOCK)
    assert (late.value.outcome, cancelled.value.outcome) == (Outcome.TIMED_OUT, Outcome.ABORTED)
