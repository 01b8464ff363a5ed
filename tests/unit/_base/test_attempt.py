"""Foreign code is called, and the caller always gets an answer."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from toolfabric._base.attempt import Raised, Returned, attempt, is_async
from toolfabric._base.supervise import start

pytestmark = pytest.mark.anyio
NAME: contextvars.ContextVar[str] = contextvars.ContextVar("NAME", default="none")


async def later(value: object) -> object:
    await asyncio.sleep(0)
    return value


class Unhashable:
    """An object whose call is a coroutine, and which cannot be hashed."""

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- that is the point

    async def __call__(self, value: object) -> object:
        return value


def plain(value: object) -> object:
    return value


def plainly_later(value: object) -> object:
    return later(value)


@pytest.mark.parametrize("function", [later, plain, plainly_later, partial(later), Unhashable()])
async def test_every_kind_of_function_gives_its_value(function: Callable[..., Any]) -> None:
    assert await attempt(function, 7) == Returned(7)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        KeyboardInterrupt(),
        SystemExit(2),
        GeneratorExit(),
        StopIteration(3),
        asyncio.CancelledError(),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("plain", [True, False])
async def test_whatever_it_raises_is_a_value(error: BaseException, plain: bool) -> None:  # noqa: FBT001 -- a table's column
    def fail() -> None:
        raise error

    async def fail_later() -> None:
        await asyncio.sleep(0)
        raise error

    answer = await attempt(fail if plain else fail_later, within=30)
    assert isinstance(answer, Raised)
    assert answer.error is error or (isinstance(error, StopIteration) and not plain)
    assert asyncio.current_task() is not None


async def test_a_plain_function_runs_beside_the_loop_with_the_callers_context() -> None:
    NAME.set("caller")
    here = threading.current_thread()
    answer = await attempt(
        lambda: (NAME.get(), threading.current_thread() is here, threading.current_thread().daemon)
    )
    assert answer == Returned(("caller", False, True))


async def test_a_coroutine_that_does_not_end_is_cancelled_in_time() -> None:
    told = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            told.set()

    with pytest.raises(TimeoutError):
        await attempt(hang, within=0.01)
    assert told.is_set()


async def test_cancelling_the_caller_stops_a_plain_function_and_waits_for_it() -> None:
    started, stopped, ended = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        stopped.wait(30)
        ended.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(attempt(work, stop=stopped.set))
        await started.wait()
        task.cancel()
    assert task.cancelled()
    assert ended.is_set()


def test_a_loop_ends_although_a_function_never_returns() -> None:
    gate = threading.Event()

    async def main() -> None:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def work() -> None:
            loop.call_soon_threadsafe(started.set)
            gate.wait()

        task = start(attempt(work))
        await started.wait()
        assert not task.done()

    asyncio.run(main())
    gate.set()


def test_whether_a_function_is_async_is_told_by_its_declaration() -> None:
    assert is_async(later)
    assert is_async(partial(later))
    assert is_async(Unhashable())
    assert not is_async(plainly_later)
    assert not is_async(print)
