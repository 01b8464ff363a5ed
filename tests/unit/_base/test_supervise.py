"""A coroutine that ignores cancellation is left behind, and counted."""

from __future__ import annotations

import asyncio

import pytest

from toolfabric._base.supervise import abandoned, end_all, start, supervised

pytestmark = pytest.mark.anyio


class Stubborn:
    """A coroutine that swallows cancellation until it is let go."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.told = 0
        self.ended = asyncio.Event()

    async def run(self) -> None:
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.told += 1
        self.ended.set()


async def let_go(stubborn: Stubborn) -> None:
    stubborn.gate.set()
    await stubborn.ended.wait()
    await asyncio.sleep(0)


async def test_the_value_and_the_error_come_through() -> None:
    async def give() -> int:
        return 7

    async def fail() -> None:
        raise KeyError("x")

    assert await supervised(give()) == 7
    with pytest.raises(KeyError):
        await supervised(fail())


async def test_what_ignores_its_time_is_left_behind_until_it_ends() -> None:
    stubborn, before = Stubborn(), abandoned()
    with pytest.raises(TimeoutError):
        await supervised(stubborn.run(), within=0.01, grace=0.01)
    assert abandoned() == before + 1
    assert stubborn.told == 1
    await let_go(stubborn)
    assert abandoned() == before


async def test_what_ignores_the_callers_cancellation_is_left_behind() -> None:
    stubborn, before = Stubborn(), abandoned()
    task = start(supervised(stubborn.run(), grace=0.01))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert abandoned() == before + 1
    await let_go(stubborn)
    assert abandoned() == before


async def test_what_ends_within_its_grace_was_waited_for() -> None:
    ended = False

    async def tidy() -> None:
        nonlocal ended
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended = True

    before = abandoned()
    with pytest.raises(TimeoutError):
        await supervised(tidy(), within=0.01)
    assert ended
    assert abandoned() == before


async def test_several_tasks_share_one_grace_and_their_errors_stay_theirs() -> None:
    async def fail_late() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("late") from None

    stubborn, before = Stubborn(), abandoned()
    tasks = [start(fail_late()), start(stubborn.run())]
    await asyncio.sleep(0)
    await end_all(tasks, grace=0.01)
    assert tasks[0].done()
    assert abandoned() == before + 1
    await let_go(stubborn)
    await end_all(())


def test_the_end_of_the_loop_does_not_wait_for_what_was_left_behind() -> None:
    """A host must be able to end although a provider swallowed its cancellation."""
    import subprocess
    import sys

    program = (
        "import asyncio\n"
        "from toolfabric._base.supervise import supervised\n"
        "async def stubborn():\n"
        "    while True:\n"
        "        try:\n"
        "            await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError:\n"
        "            pass\n"
        "async def main():\n"
        "    try:\n"
        "        await supervised(stubborn(), within=0.01, grace=0.01)\n"
        "    except TimeoutError:\n"
        "        print('left behind')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "left behind\n", "")
