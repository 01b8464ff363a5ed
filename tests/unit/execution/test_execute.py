"""One execution: run, seal, answer, keep the record."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import KernelError, ResolveError, StorageError, ValidateError
from toolfabric.protocols import Bridge, FaultKind, KernelOutcome, ProgramFault
from toolfabric.runtime import Fabric, Options
from toolfabric.testing.files import FaultyFiles
from toolfabric.trace.reader import parse_trace
from toolfabric.values import NESTED_TOOL_CALL_ID_PREFIX, Json, Outcome

from .conftest import Numbers, ScriptedKernel

pytestmark = pytest.mark.anyio
Host = Callable[..., Fabric]


def results_in(session: Path) -> list[dict[str, Json]]:
    """The tool results of a session file."""
    entries: list[dict[str, dict[str, Json]]] = [
        json.loads(line) for line in session.read_text(encoding="utf-8").splitlines()
    ]
    return [entry["message"] for entry in entries if entry.get("message", {}).get("role") == "toolResult"]


async def test_a_program_that_succeeds_gives_value_text_trace_and_record(
    host: Host, kernel: ScriptedKernel, numbers: Numbers
) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        bridge.log("hello\n")
        return KernelOutcome(outcome=Outcome.SUCCEEDED, value=[await bridge.call("numbers.same", {"n": 7})])

    kernel.script = script
    async with host() as fabric:
        await fabric.mount(numbers)
        result = await fabric.execute("return 7")
    assert (result.success, result.value, result.error, result.outcome) == (
        True,
        [7],
        None,
        Outcome.SUCCEEDED,
    )
    assert json.loads(result.text) == [7]
    assert result.activity == "hello\n"
    assert [(one.sequence, one.ref, one.outcome) for one in result.trace.operations] == [
        (1, "numbers.same", Outcome.SUCCEEDED)
    ]
    assert result.session is not None
    (kept,) = results_in(result.session)
    assert kept["isError"] is False
    details = kept["details"]
    assert isinstance(details, dict)
    assert details == result.details
    assert parse_trace(details["trace"]) == result.trace


async def test_failure_text_tells_what_had_completed_and_goes_into_the_record(
    host: Host, kernel: ScriptedKernel, numbers: Numbers
) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        await bridge.call("numbers.same", {"n": 1})
        fault = ProgramFault(kind=FaultKind.RAISED, message="ValueError: no", line=2)
        return KernelOutcome(outcome=Outcome.FAILED, value="ignored", faults=(fault,))

    kernel.script = script
    async with host() as fabric:
        await fabric.mount(numbers)
        result = await fabric.execute("x")
    assert result.error == (
        "The program raised at line 2: ValueError: no\nCalls that had completed: numbers.same."
    )
    assert (result.success, result.value, result.text) == (False, None, result.error)
    assert result.session is not None
    (kept,) = results_in(result.session)
    assert kept["isError"] is True


async def test_a_broken_sandbox_is_a_failed_execution(host: Host, kernel: ScriptedKernel) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        raise KernelError("the worker spoke nonsense")

    kernel.script = script
    async with host() as fabric:
        result = await fabric.execute("x")
    assert result.outcome is Outcome.FAILED
    assert "the worker spoke nonsense" in (result.error or "")


async def test_cancellation_seals_and_keeps_an_aborted_record(
    host: Host, kernel: ScriptedKernel, numbers: Numbers, tmp_path: Path
) -> None:
    started = asyncio.Event()

    async def script(bridge: Bridge) -> KernelOutcome:
        await bridge.call("numbers.same", {"n": 1})
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    kernel.script = script
    async with host() as fabric:
        await fabric.mount(numbers)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(fabric.execute("x"))
            await started.wait()
            task.cancel()
        assert task.cancelled()
    (session,) = (tmp_path / "agent" / "sessions").rglob("*.jsonl")
    (kept,) = results_in(session)
    details = kept["details"]
    assert isinstance(details, dict)
    trace = parse_trace(details["trace"])
    assert trace is not None
    assert (trace.outcome, [one.outcome for one in trace.operations]) == (
        Outcome.ABORTED,
        [Outcome.SUCCEEDED],
    )


async def test_a_thousand_parallel_calls_keep_issue_order_whatever_order_they_end_in(
    host: Host, kernel: ScriptedKernel, numbers: Numbers
) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(bridge.call("numbers.same", {"n": n + 100})) for n in range(1_000)]
        return KernelOutcome(outcome=Outcome.SUCCEEDED, value=[task.result() for task in tasks])

    kernel.script = script
    async with host() as fabric:
        await fabric.mount(numbers)
        result = await fabric.execute("x")
    assert result.value == [n + 100 for n in range(1_000)]
    assert [one.sequence for one in result.trace.operations] == list(range(1, 1_001))
    audits = result.details["audits"]
    assert isinstance(audits, list)
    assert [audit["args"] for audit in audits if isinstance(audit, dict)] == [
        {"n": n + 100} for n in range(len(audits))
    ]


async def test_each_call_has_an_id_of_its_own_under_the_nested_prefix(
    host: Host, kernel: ScriptedKernel, numbers: Numbers
) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        await bridge.call("numbers.same", {"n": 1})
        await bridge.call("tools.call", {"ref": "numbers.same", "args": {"n": 2}})
        return KernelOutcome(outcome=Outcome.SUCCEEDED)

    kernel.script = script
    async with host() as fabric:
        await fabric.mount(numbers)
        await fabric.execute("x")
    ids = [context.call_id for context in numbers.contexts]
    assert len(set(ids)) == 2
    assert all(one.startswith(NESTED_TOOL_CALL_ID_PREFIX) for one in ids)
    assert len({context.invocation_id for context in numbers.contexts}) == 1
    assert numbers.ended == [numbers.contexts[0].invocation_id]


async def test_a_context_says_cancelled_once_its_execution_ended(
    host: Host, kernel: ScriptedKernel, numbers: Numbers
) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        await bridge.call("numbers.same", {"n": 1})
        assert not numbers.contexts[0].cancelled()
        return KernelOutcome(outcome=Outcome.SUCCEEDED)

    kernel.script = script
    async with host() as fabric:
        await fabric.mount(numbers)
        assert (await fabric.execute("x")).success
    assert numbers.contexts[0].cancelled()


async def test_programs_do_not_run_when_no_record_can_be_opened(host: Host, kernel: ScriptedKernel) -> None:
    full = FaultyFiles(RealFiles(), on="write", error=OSError(errno.ENOSPC, "No space left on device"))
    async with host(options=Options(kernel=kernel, plugins=False, files=full)) as fabric:
        with pytest.raises(StorageError, match="No space left on device"):
            await fabric.execute("x")
    assert kernel.programs == []


async def test_the_operators_own_call_passes_the_pipeline_and_is_recorded(
    host: Host, numbers: Numbers, tmp_path: Path
) -> None:
    async with host() as fabric:
        await fabric.mount(numbers)
        assert await fabric.call("numbers.same", {"n": 5}) == 5
        with pytest.raises(ValidateError, match="expected"):
            await fabric.call("numbers.same", {"n": "five"})
        with pytest.raises(ResolveError, match=r"numbers\.same"):
            await fabric.call("numbers.sam", {"n": 5})
    (session,) = (tmp_path / "agent" / "sessions").rglob("*.jsonl")
    kept = results_in(session)
    assert [one["isError"] for one in kept] == [False, True, True]
    stages: list[Json] = []
    for one in kept:
        details = one["details"]
        assert isinstance(details, dict)
        trace = parse_trace(details["trace"])
        assert trace is not None
        stages.append(trace.operations[0].to_json().get("failureStage"))
    assert stages == [None, "validate", "resolve"]


async def test_a_long_answer_is_cut_and_the_whole_is_kept_aside(host: Host, kernel: ScriptedKernel) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        return KernelOutcome(outcome=Outcome.SUCCEEDED, value="x" * 60_000)

    kernel.script = script
    async with host() as fabric:
        result = await fabric.execute("x")
    assert result.value == "x" * 60_000
    assert len(result.text) <= 50_000
    assert result.output_file is not None
    assert result.output_file.read_text(encoding="utf-8") == "x" * 60_000


async def test_a_long_failure_is_cut_shorter(host: Host, kernel: ScriptedKernel) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        fault = ProgramFault(kind=FaultKind.RAISED, message="m" * 60_000)
        return KernelOutcome(outcome=Outcome.FAILED, faults=(fault,))

    kernel.script = script
    async with host() as fabric:
        result = await fabric.execute("x")
    assert len(result.text) <= 20_000
    assert result.text.endswith("No call had completed.")


async def test_phases_stand_in_details_and_trace(host: Host, kernel: ScriptedKernel) -> None:
    async def script(bridge: Bridge) -> KernelOutcome:
        await bridge.call("workflow.phase", {"name": "read"})
        await bridge.call("workflow.phase", {"name": "write"})
        return KernelOutcome(outcome=Outcome.SUCCEEDED)

    kernel.script = script
    async with host() as fabric:
        result = await fabric.execute("x")
    assert result.details["phases"] == ["read", "write"]
    assert list(result.trace.phases) == ["read", "write"]
    assert [one.ref for one in result.trace.operations] == ["fabric.workflow.phase"] * 2
