"""The Python kernel as its host sees it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from toolfabric.errors import (
    ApproveError,
    GuardError,
    InvokeError,
    KernelError,
    PrepareError,
    ResolveError,
    ValidateError,
)
from toolfabric.kernels.python_host import MAX_PROGRAM_CHARS, PythonKernel
from toolfabric.protocols import FaultKind, KernelOutcome, Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge
from toolfabric.values import Json, Outcome

pytestmark = pytest.mark.anyio
LIMITS = Limits(timeout_ms=20_000)


@pytest.fixture
async def kernel() -> AsyncIterator[PythonKernel]:
    made = PythonKernel(max_workers=4)
    yield made
    await made.close()


async def run(kernel: PythonKernel, code: str, bridge: RecordingBridge | None = None) -> KernelOutcome:
    return await kernel.run(Program(code=code, actions=ACTIONS), bridge or RecordingBridge(), LIMITS)


class Telling(RecordingBridge):
    """Says when the program is in the middle of its work, and lets ``pi.hang`` end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    def log(self, text: str) -> None:
        super().log(text)
        self.begun.set()

    async def _answer(self, ref: str, args: Json) -> Json:
        if ref != "pi.hang":
            return await super()._answer(ref, args)
        self.begun.set()
        await self.go_on.wait()
        return None


class Deaf(Telling):
    """Its hanging call ignores cancellation until it may go on."""

    async def _answer(self, ref: str, args: Json) -> Json:
        self.begun.set()
        while not self.go_on.is_set():
            with suppress(asyncio.CancelledError):
                await self.go_on.wait()
        return None


BUSY = {
    "waiting": "await pi.hang()",
    "computing": "print('x')\nwhile True:\n    pass",
    "sleeping": "import asyncio\nprint('x')\nawait asyncio.sleep(3600)",
}


@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY)
async def test_cancelling_ends_the_run_and_leaves_nothing_behind(kernel: PythonKernel, code: str) -> None:
    bridge = Telling()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(kernel, code, bridge))
        await bridge.begun.wait()
        task.cancel()
    assert task.cancelled()
    assert bridge.running == 0
    assert (await run(kernel, "return 2")).value == 2


async def test_a_call_that_ignores_its_cancellation_is_left_behind(kernel: PythonKernel) -> None:
    bridge = Deaf()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(kernel, "await pi.hang()", bridge))
        await bridge.begun.wait()
        task.cancel()
    assert task.cancelled()
    assert bridge.running == 1
    bridge.go_on.set()
    assert (await run(kernel, "return 2", Telling())).value == 2
    assert bridge.running == 0


@pytest.mark.parametrize("busy", ["waiting", "computing"])
async def test_a_killed_worker_is_a_failure_and_the_next_run_works(busy: str) -> None:
    others, kernel, bridge = workers(), PythonKernel(max_workers=1), Telling()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(kernel, BUSY[busy], bridge))
        await bridge.begun.wait()
        for pid in workers() - others:
            os.kill(pid, signal.SIGKILL)
        bridge.go_on.set()
    ended = task.result()
    assert (ended.outcome, [one.kind for one in ended.faults]) == (Outcome.FAILED, [FaultKind.SANDBOX])
    assert (await run(kernel, "return 2")).value == 2
    await kernel.close()


def workers() -> set[int]:
    """The processes that this one has started, from whichever of its threads."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for one in lists for pid in one.read_text(encoding="ascii").split()}


async def test_a_call_that_nobody_awaits_does_not_outlive_the_run(kernel: PythonKernel) -> None:
    bridge = Telling()
    await kernel.run(Program(code="pi.hang()\nreturn 1", actions=ACTIONS), bridge, Limits(timeout_ms=1_000))
    assert [ref for ref, _args in bridge.calls] == ["pi.hang"]
    assert bridge.running == 0


async def test_the_time_limit_covers_all_that_comes_before_the_program_as_well(kernel: PythonKernel) -> None:
    program = Program(code="return 1", actions=ACTIONS)
    ended = await kernel.run(program, RecordingBridge(), Limits(timeout_ms=1))
    assert (ended.outcome, ended.value) == (Outcome.TIMED_OUT, None)
    assert (await run(kernel, "return 2")).value == 2


async def test_memory_is_bounded_and_the_next_run_works(kernel: PythonKernel) -> None:
    program = Program(code="x = []\nwhile True:\n    x.append('y' * 1000000)")
    limits = Limits(timeout_ms=20_000, memory_bytes=32 * 1024 * 1024)
    ended = await kernel.run(program, RecordingBridge(), limits)
    assert (ended.outcome, ended.faults[0].kind) == (Outcome.FAILED, FaultKind.MEMORY)
    assert (await run(kernel, "return 2")).value == 2


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("'é𝄞é𝄞'; y = zzz", 1, 13),
        ("s = 'é𝄞'\ndef half(n):\n    return n / 0\nhalf(s and 1)", 3, None),
        ("async def f(n):\n    return 1 / n\nawait workflow.parallel([f(1), f(0)])", 2, None),
        ("async def f(n):\n    return 1 / n\nawait workflow.pipeline([1, 0], f)", 2, None),
    ],
    ids=["wide characters", "a function", "parallel", "pipeline"],
)
async def test_an_error_is_told_in_the_programs_own_lines(
    kernel: PythonKernel, code: str, line: int, column: int | None
) -> None:
    fault = (await run(kernel, code)).faults[0]
    assert fault.line == line
    assert column in {None, fault.column}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ResolveError("told"), "LookupError"),
        (GuardError("told"), "PermissionError"),
        (ApproveError("told"), "PermissionError"),
        (PrepareError("told"), "ValueError"),
        (ValidateError("told"), "ValueError"),
        (InvokeError("told"), "RuntimeError"),
    ],
)
async def test_a_program_catches_the_hosts_errors_by_builtin_types(
    kernel: PythonKernel, error: Exception, kind: str
) -> None:
    class Failing(RecordingBridge):
        async def _answer(self, ref: str, args: Json) -> Json:
            raise error

    code = f"try:\n    await pi.echo(value=1)\nexcept {kind} as e:\n    return str(e)"
    assert (await run(kernel, code, Failing())).value == "told"


async def test_ten_thousand_calls_at_once_stay_within_what_may_be_in_flight(kernel: PythonKernel) -> None:
    bridge = RecordingBridge()
    code = (
        "import asyncio\nr = await asyncio.gather(*[pi.echo(value=n) for n in range(10000)])\nreturn sum(r)"
    )
    assert (await run(kernel, code, bridge)).value == sum(range(10_000))
    assert bridge.most <= LIMITS.calls_in_flight


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


@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY)
async def test_closing_ends_a_program_that_runs(code: str) -> None:
    kernel, bridge = PythonKernel(max_workers=1), Telling()
    others = workers()

    async def told() -> str:
        with pytest.raises(KernelError) as caught:
            await run(kernel, code, bridge)
        return str(caught.value)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(told())
        await bridge.begun.wait()
        await kernel.close()
    assert "closed while" in task.result()
    assert bridge.running == 0
    assert workers() <= others


async def test_a_host_that_cannot_keep_what_was_printed_is_told_so(kernel: PythonKernel) -> None:
    class Full(RecordingBridge):
        def log(self, text: str) -> None:
            raise OSError("no space for SECRET")

    with pytest.raises(KernelError, match="could not keep") as caught:
        await run(kernel, "print('SECRET')\nreturn 1", Full())
    assert isinstance(caught.value.__cause__, OSError)
    assert "SECRET" not in str(caught.value)
    assert (await run(kernel, "return 2")).value == 2


async def test_a_program_that_is_too_long_is_refused(kernel: PythonKernel) -> None:
    ended = await run(kernel, "#" * (MAX_PROGRAM_CHARS + 1))
    assert (ended.outcome, ended.faults[0].kind) == (Outcome.FAILED, FaultKind.SYNTAX)


def test_one_kernel_works_in_one_loop_after_another() -> None:
    kernel = PythonKernel()
    assert [asyncio.run(run(kernel, f"return {n}")).value for n in range(3)] == [0, 1, 2]
    asyncio.run(kernel.close())


def test_a_kernel_for_each_loop_leaves_no_process_behind() -> None:
    async def once(number: int) -> Json:
        kernel = PythonKernel(max_workers=2)
        try:
            return (await run(kernel, f"return {number}")).value
        finally:
            await kernel.close()

    others = workers()
    assert [asyncio.run(once(number)) for number in range(4)] == [0, 1, 2, 3]
    assert workers() == others
