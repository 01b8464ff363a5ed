"""What each record is told of a call, and what it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.errors import PrepareError
from toolfabric.pipeline.record import CallRecord
from toolfabric.pipeline.records import Flight
from toolfabric.protocols import CallContext
from toolfabric.trace.audit import AuditLog
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import JsonObject, Outcome

from .conftest import Bench

pytestmark = pytest.mark.anyio
CONTEXT = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"))
GIVEN: JsonObject = {"path": "MARKER"}


def flight(bench: Bench, **more: object) -> Flight:
    action = bench.registry.resolve("tool.run")
    return Flight(ref="tool.run", args=GIVEN, context=CONTEXT, action=action, **more)  # pyright: ignore[reportArgumentType] -- a test's shorthand


async def test_both_records_get_the_call_in_the_order_of_issue(bench: Bench) -> None:
    recorder, audits = TraceRecorder(), AuditLog()
    first = CallRecord.issue(recorder, audits, "tool.exec", GIVEN)
    second = CallRecord.issue(recorder, audits, "tool.run", None)
    assert (first.sequence, second.sequence) == (1, 2)
    second.succeeded(flight(bench, value=[1]))
    first.resolved(flight(bench))
    first.failed(flight(bench), PrepareError("MARKER in prose"))
    one, two = recorder.seal(Outcome.SUCCEEDED).operations
    assert (one.ref, one.provider, one.action, one.outcome, one.failure_stage) == (
        "tool.run",
        "tool",
        "run",
        Outcome.FAILED,
        "prepare",
    )
    assert two.outcome is Outcome.SUCCEEDED
    assert "MARKER" not in str((one, two))
    assert audits.to_json(10_000) == [
        {
            "sequence": 1,
            "ref": "tool.exec",
            "args": GIVEN,
            "outcome": "failed",
            "failureStage": "prepare",
            "error": "MARKER in prose",
        },
        {"sequence": 2, "ref": "tool.run", "args": None, "outcome": "succeeded", "result": [1]},
    ]


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.ABORTED])
async def test_a_call_that_was_not_simply_refused_keeps_its_outcome(bench: Bench, outcome: Outcome) -> None:
    recorder, audits = TraceRecorder(), AuditLog()
    failed = CallRecord.issue(recorder, audits, "tool.run", GIVEN)
    failed.failed(flight(bench), PrepareError("late", outcome=outcome))
    cut = CallRecord.issue(recorder, audits, "tool.run", GIVEN)
    cut.ended(flight(bench), outcome)
    assert [one.outcome for one in recorder.seal(Outcome.SUCCEEDED).operations] == [outcome, outcome]
    assert [one["outcome"] for one in audits.to_json(10_000)] == [str(outcome), str(outcome)]
