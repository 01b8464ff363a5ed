"""The Python kernel as its host sees it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolfabric.errors import KernelError
from toolfabric.kernels.python_host import MAX_PROGRAM_CHARS, PythonKernel
from toolfabric.protocols import FaultKind, KernelOutcome, Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge
from toolfabric.values import Outcome

pytestmark = pytest.mark.anyio
LIMITS = Limits(timeout_ms=20_000)


@pytest.fixture
async def kernel() -> AsyncIterator[PythonKernel]:
    made = PythonKernel(max_workers=4)
    yield made
    await made.close()


async def run(kernel: PythonKernel, code: str, bridge: RecordingBridge | None = None) -> KernelOutcome:
    return await kernel.run(Program(code=code, actions=ACTIONS), bridge or RecordingBridge(), LIMITS)


@pytest.mark.parametrize("code", ["await pi.hang()", "while True:\n    pass"], ids=["waiting", "computing"])
async def test_cancelling_ends_the_run_and_leaves_nothing_behind(kernel: PythonKernel, code: str) -> None:
    bridge = RecordingBridge()
    await run(kernel, "return 1")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(kernel, code, bridge))
        await asyncio.sleep(0.2)
        task.cancel()
    assert task.cancelled()
    assert bridge.running == 0
    assert (await run(kernel, "return 2")).value == 2


async def test_a_killed_worker_is_a_failure_and_the_next_run_works(kernel: PythonKernel) -> None:
    bridge = RecordingBridge()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(kernel, "await pi.hang()", bridge))
        while not bridge.running:  # noqa: ASYNC110 -- the worker announces nothing else
            await asyncio.sleep(0.01)
        children = [int(pid) for pid in _children()]
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.1)
        task.cancel()
    assert (await run(kernel, "return 2")).value == 2


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()


async def test_runs_are_concurrent_and_apart(kernel: PythonKernel) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(kernel, f"x = {n}\nreturn await pi.echo(value=x)")) for n in range(12)]
    assert [task.result().value for task in tasks] == list(range(12))


async def test_a_thousand_gathered_calls_are_made_in_program_order(kernel: PythonKernel) -> None:
    bridge = RecordingBridge()
    code = "import asyncio\nr = await asyncio.gather(*[pi.echo(value=n) for n in range(1000)])\nreturn len(r)"
    assert (await run(kernel, code, bridge)).value == 1_000
    assert [args for _ref, args in bridge.calls] == [{"value": n} for n in range(1_000)]


async def test_closing_twice_is_safe_and_a_closed_kernel_says_so() -> None:
    kernel = PythonKernel()
    await run(kernel, "return 1")
    await kernel.close()
    await kernel.close()
    with pytest.raises(KernelError, match="closed"):
        await run(kernel, "return 1")


async def test_a_program_that_is_too_long_is_refused(kernel: PythonKernel) -> None:
    ended = await run(kernel, "#" * (MAX_PROGRAM_CHARS + 1))
    assert (ended.outcome, ended.faults[0].kind) == (Outcome.FAILED, FaultKind.SYNTAX)


def test_one_kernel_works_in_one_loop_after_another() -> None:
    kernel = PythonKernel()
    assert [asyncio.run(run(kernel, f"return {n}")).value for n in range(3)] == [0, 1, 2]
    asyncio.run(kernel.close())
