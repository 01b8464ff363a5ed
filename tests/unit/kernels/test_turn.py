"""One program from look ahead to outcome."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from toolfabric.errors import KernelError
from toolfabric.kernels.python_host import PythonKernel
from toolfabric.protocols import FaultKind, Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge
from toolfabric.values import Json, Outcome

pytestmark = pytest.mark.anyio


async def test_a_refused_program_makes_no_call_and_tells_all_its_faults(run: Any) -> None:
    bridge = RecordingBridge()
    ended = await run("await pi.echo()\nx = len(3)\ny = nothing_here\nreturn 1 + 'a'", bridge=bridge)
    assert ended.outcome is Outcome.FAILED
    assert [(one.kind, one.line) for one in ended.faults] == [(FaultKind.TYPES, n) for n in (2, 3, 4)]
    assert bridge.calls == []


async def test_the_same_program_gives_the_same_remarks_again(run: Any) -> None:
    first, second = [await run("return await pi.read(pth=1)") for _again in range(2)]
    assert first.notes == second.notes
    assert any("pi.read" in one.message for one in first.notes)


async def test_the_same_broken_program_gives_the_same_faults_again(run: Any) -> None:
    first, second = [await run("x = (\ny = 3 +\n") for _again in range(2)]
    assert first == second
    assert first.faults[0].kind is FaultKind.SYNTAX


async def test_a_call_that_was_left_behind_ends_before_the_run(run: Any) -> None:
    done: list[str] = []

    class Slow(RecordingBridge):
        async def call(self, ref: str, args: Json) -> Json:
            await asyncio.sleep(0.05)
            done.append(ref)
            return None

    ended = await run("pi.echo(value=1)\nreturn 'first'", bridge=Slow())
    assert (ended.value, done) == ("first", ["pi.echo"])


async def test_a_left_call_that_fails_is_remarked(run: Any) -> None:
    ended = await run("pi.fail()\nreturn 1")
    assert ended.value == 1
    assert any("pi.fail" in one.message and "always fails" in one.message for one in ended.notes)


async def test_a_left_call_that_never_ends_runs_into_the_programs_time(run: Any) -> None:
    bridge = RecordingBridge()
    ended = await run("pi.hang()\nreturn 1", bridge=bridge, timeout_ms=200)
    assert (ended.outcome, ended.faults[0].kind) == (Outcome.TIMED_OUT, FaultKind.TIME)
    assert "pi.hang" in ended.faults[0].message
    assert bridge.running == 0


@pytest.mark.parametrize(
    ("code", "line", "hint"),
    [
        ("x = 1\nawait pi.hang()", 2, "waited"),
        ("import time\ntime.sleep(60)", 2, "waited"),
        ("await pi.echo()\nwhile True:\n    pass", None, "line 1"),
        ("while True:\n    pass", None, "no call"),
    ],
)
async def test_the_end_of_the_time_says_where_the_program_was(
    run: Any, code: str, line: int | None, hint: str
) -> None:
    ended = await run(code, timeout_ms=300)
    assert (ended.outcome, ended.faults[0].line) == (Outcome.TIMED_OUT, line)
    assert hint in (ended.faults[0].hint or "")


@pytest.mark.parametrize("code", ["return '\ud800'", "\ud800"])
async def test_a_program_that_is_not_unicode_is_refused(run: Any, code: str) -> None:
    assert (await run(code)).faults[0].kind is FaultKind.SYNTAX


async def test_payloads_that_are_not_unicode_are_made_so(run: Any) -> None:
    ended = await run("return payloads['t']", program={"payloads": {"t": "a\ud800"}})
    assert ended.value == "a\ufffd"


async def test_a_long_program_runs_without_a_look_ahead(run: Any) -> None:
    assert (await run("x = 1\n" * 40_000 + "return x")).value == 1


async def test_waiting_for_a_worker_counts_as_the_programs_time() -> None:
    kernel, bridge = PythonKernel(max_workers=1), Busy()
    async with asyncio.TaskGroup() as group:
        busy = group.create_task(kernel.run(HANGING, bridge, Limits()))
        await bridge.begun.wait()
        late = await kernel.run(Program(code="return 1"), Busy(), Limits(timeout_ms=100))
        waiting = group.create_task(kernel.run(Program(code="return 1"), Busy(), Limits()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        assert not busy.done()
        busy.cancel()
    assert (late.outcome, late.faults[0].kind) == (Outcome.TIMED_OUT, FaultKind.TIME)
    assert "no worker was free" in late.faults[0].message
    assert waiting.cancelled()
    await kernel.close()


@pytest.mark.parametrize("code", ["await pi.hang()", "await pi.echo()\nwhile True:\n    pass"])
async def test_closing_the_kernel_ends_what_runs(code: str) -> None:
    kernel, bridge = PythonKernel(), Busy()

    async def refused() -> None:
        with pytest.raises(KernelError, match="closed"):
            await kernel.run(Program(code=code, actions=ACTIONS), bridge, Limits())

    async with asyncio.TaskGroup() as group:
        group.create_task(refused())
        await bridge.begun.wait()
        await kernel.close()
    assert bridge.running == 0


async def test_a_host_that_cannot_keep_printed_text_is_told(run: Any) -> None:
    class Full(RecordingBridge):
        def log(self, text: str) -> None:
            raise OSError(28, "full")

    with pytest.raises(KernelError, match="printed"):
        await run('print("a")\nawait pi.echo()\nprint("b")\nreturn 1', bridge=Full())


async def test_a_worker_that_is_killed_while_the_program_waits_is_noticed() -> None:
    kernel, bridge = PythonKernel(max_workers=1), Busy()
    before = children()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(kernel.run(HANGING, bridge, Limits()))
        await bridge.begun.wait()
        for pid in children() - before:
            os.kill(pid, signal.SIGKILL)
    ended = task.result()
    assert (ended.outcome, ended.faults[0].kind) == (Outcome.FAILED, FaultKind.SANDBOX)
    assert bridge.running == 0
    await kernel.close()


HANGING = Program(code="await pi.hang()", actions=ACTIONS)


class Busy(RecordingBridge):
    """Says when the first call has come."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()

    async def call(self, ref: str, args: Json) -> Json:
        self.begun.set()
        return await super().call(ref, args)


def children() -> set[int]:
    """The processes that this one has started, from whichever of its threads."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for one in lists for pid in one.read_text(encoding="ascii").split()}
