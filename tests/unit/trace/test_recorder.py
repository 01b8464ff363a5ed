"""Calls are recorded in issue order, once, with what their ref allows."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.trace.bounds import encode
from toolfabric.trace.reader import read_trace
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.trace.records import RuleRef, Witness
from toolfabric.trace.seal import OPEN_CALL, trace_from_events
from toolfabric.values import JsonObject, Outcome, Stage

DIGEST = "0" * 64


def witness(digest: str = DIGEST) -> Witness:
    rules = (RuleRef(kind="key-form", key="path"),)
    return Witness(version=1, base_schema_digest=digest, before_shape=DIGEST, after_shape=DIGEST, rules=rules)


def test_the_sequence_is_issue_order_however_calls_end() -> None:
    recorder = TraceRecorder()
    first, second, third = (recorder.issue(f"p.{name}", {}) for name in "abc")
    recorder.settle(third, Outcome.SUCCEEDED)
    recorder.settle(first, Outcome.FAILED, stage=Stage.GUARD)
    recorder.settle(second, Outcome.SUCCEEDED)
    assert recorder.completed() == ("p.b", "p.c")
    operations = recorder.seal(Outcome.SUCCEEDED).operations
    assert [(one.sequence, one.ref, one.outcome) for one in operations] == [
        (1, "p.a", Outcome.FAILED),
        (2, "p.b", Outcome.SUCCEEDED),
        (3, "p.c", Outcome.SUCCEEDED),
    ]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_call_still_open_gets_the_executions_outcome(outcome: Outcome) -> None:
    recorder = TraceRecorder()
    recorder.issue("pi.read", {"path": "a"})
    (operation,) = recorder.seal(outcome).operations
    assert operation.to_json() == {
        "type": "call",
        "sequence": 1,
        "ref": "pi.read",
        "args": {"path": "a"},
        "outcome": outcome.value,
        "error": OPEN_CALL,
    }


def test_the_first_settling_counts() -> None:
    recorder = TraceRecorder()
    sequence = recorder.issue("p.a", {})
    recorder.settle(sequence, Outcome.FAILED, stage=Stage.INVOKE)
    recorder.settle(sequence, Outcome.SUCCEEDED)
    recorder.settle(99, Outcome.SUCCEEDED)
    (operation,) = recorder.seal(Outcome.SUCCEEDED).operations
    assert (operation.outcome, operation.failure_stage) == (Outcome.FAILED, Stage.INVOKE)
    assert recorder.completed() == ()


@pytest.mark.parametrize("stage", list(Stage))
def test_a_failed_call_names_its_stage_and_a_fixed_sentence(stage: Stage) -> None:
    recorder = TraceRecorder()
    recorder.settle(recorder.issue("p.a", {}), Outcome.FAILED, stage=stage)
    operation = recorder.seal(Outcome.FAILED).operations[0].to_json()
    assert operation["failureStage"] == stage.value
    assert isinstance(operation["error"], str)


def test_only_a_failure_has_a_stage() -> None:
    recorder = TraceRecorder()
    recorder.settle(recorder.issue("p.a", {}), Outcome.TIMED_OUT, stage=Stage.INVOKE)
    operation = recorder.seal(Outcome.TIMED_OUT).operations[0].to_json()
    assert "failureStage" not in operation
    assert operation["error"] == "The call ran out of time."


@pytest.mark.parametrize("ref", ["", "two words", "x" * 1_025, "rm -rf /", "\ud800"])
def test_a_ref_that_cannot_be_one_is_not_repeated(ref: str) -> None:
    recorder = TraceRecorder()
    recorder.settle(recorder.issue(ref, {"path": "a"}), Outcome.FAILED, stage=Stage.RESOLVE)
    (operation,) = recorder.seal(Outcome.FAILED).operations
    assert (operation.ref, operation.args) == ("(invalid)", {})


def test_a_resolved_call_names_its_provider_and_action() -> None:
    recorder = TraceRecorder()
    sequence = recorder.issue("pi.read", {"path": "a", "more": 1})
    recorder.resolved(sequence, ref="pi.read", provider="pi", action="read")
    recorder.settle(sequence, Outcome.SUCCEEDED)
    trace = recorder.seal(Outcome.SUCCEEDED)
    assert trace.operations[0].to_json() == {
        "type": "call",
        "sequence": 1,
        "ref": "pi.read",
        "provider": "pi",
        "action": "read",
        "args": {"path": "a"},
        "outcome": "succeeded",
    }
    assert trace.counts.redacted_values == 1


@pytest.mark.parametrize(
    ("issued", "resolved", "kept"),
    [("pi.open", "pi.read", {"path": "a"}), ("pi.read", "other.thing", {})],
)
def test_an_alias_puts_the_arguments_under_the_rules_of_what_it_means(
    issued: str, resolved: str, kept: JsonObject
) -> None:
    recorder = TraceRecorder()
    sequence = recorder.issue(issued, {"path": "a"})
    recorder.resolved(sequence, ref=resolved, provider="p", action="a")
    recorder.settle(sequence, Outcome.SUCCEEDED)
    (operation,) = recorder.seal(Outcome.SUCCEEDED).operations
    assert (operation.ref, operation.args) == (resolved, kept)
    assert recorder.completed() == (resolved,)


def test_the_arguments_are_those_of_the_moment_of_issue() -> None:
    recorder = TraceRecorder()
    args: JsonObject = {"path": "before"}
    recorder.issue("pi.read", args)
    args["path"] = "after"
    assert recorder.seal(Outcome.SUCCEEDED).operations[0].args == {"path": "before"}


def test_a_created_file_is_kept_and_other_results_are_counted() -> None:
    recorder = TraceRecorder()
    recorder.settle(recorder.issue("pi.write", {"path": "a"}), Outcome.SUCCEEDED, result={"created": True})
    recorder.settle(recorder.issue("pi.read", {"path": "a"}), Outcome.SUCCEEDED, result="text")
    trace = recorder.seal(Outcome.SUCCEEDED)
    assert [one.to_json().get("result") for one in trace.operations] == [{"created": True}, None]
    assert trace.counts.redacted_values == 1


def test_a_witness_is_kept_and_a_malformed_one_is_dropped_and_counted() -> None:
    recorder = TraceRecorder()
    recorder.settle(recorder.issue("p.a", {}), Outcome.SUCCEEDED, normalization=witness())
    recorder.settle(recorder.issue("p.a", {}), Outcome.SUCCEEDED, normalization=witness("forged"))
    trace = recorder.seal(Outcome.SUCCEEDED)
    assert trace.operations[0].normalization == witness()
    assert "normalization" not in trace.operations[1].to_json()
    assert trace.counts.dropped_values == 1


def test_phases_are_kept_in_order_to_their_bound() -> None:
    recorder = TraceRecorder()
    for number in range(520):
        recorder.phase(f"phase {number}")
    recorder.phase("two\nlines")
    trace = recorder.seal(Outcome.SUCCEEDED)
    assert trace.phases == tuple(f"phase {number}" for number in range(512))
    assert trace.counts.dropped_values == 9


def test_sealing_ends_the_record() -> None:
    recorder = TraceRecorder(observe=lambda _event: None)
    late = recorder.issue("p.a", {})
    trace = recorder.seal(Outcome.ABORTED)
    recorder.resolved(late, ref="p.b", provider="p", action="b")
    recorder.settle(late, Outcome.SUCCEEDED)
    recorder.settle(recorder.issue("p.c", {}), Outcome.SUCCEEDED)
    recorder.phase("late")
    assert recorder.seal(Outcome.SUCCEEDED) is trace
    assert [operation.ref for operation in trace.operations] == ["p.a"]
    assert recorder.completed() == ()


def test_ten_thousand_calls_are_counted_past_the_bound_and_kept_before_it() -> None:
    events: list[JsonObject] = []
    recorder = TraceRecorder(observe=events.append)
    for number in range(10_000):
        sequence = recorder.issue("pi.bash", {"command": f"echo {number}"})
        recorder.resolved(sequence, ref="pi.bash", provider="pi", action="bash")
        recorder.settle(sequence, Outcome.SUCCEEDED)
    assert len(recorder.completed()) == 10_000
    trace = recorder.seal(Outcome.SUCCEEDED)
    assert len(trace.operations) == 2_048
    assert trace.counts.dropped_operations == 7_952
    read_trace(trace.to_json())
    assert len(events) == 2 * 2_048 + 7_952
    assert trace_from_events(events).counts == trace.counts


def test_memory_for_arguments_is_bounded_before_the_calls_are() -> None:
    recorder = TraceRecorder()
    for _ in range(2_000):
        recorder.issue("pi.bash", {"command": "x" * 20_000})
    held = sum(len(encode(call.args)) for call in recorder._calls)
    trace = recorder.seal(Outcome.SUCCEEDED)
    assert held <= 512 * 1024 + 2 * 2_000
    assert len(trace.operations) == 2_000
    assert trace.counts.truncated_values == 2_000
    assert trace.counts.dropped_values == sum(operation.args == {} for operation in trace.operations)


def test_an_observer_gets_one_event_for_each_thing_that_happens() -> None:
    events: list[Any] = []
    recorder = TraceRecorder(observe=events.append)
    sequence = recorder.issue("pi.read", {"path": "a", "more": 1})
    recorder.phase("look")
    recorder.phase("two\nlines")
    recorder.resolved(sequence, ref="pi.read", provider="pi", action="read")
    recorder.settle(sequence, Outcome.FAILED, stage=Stage.INVOKE)
    recorder.settle(sequence, Outcome.SUCCEEDED)
    call = {"type": "call", "sequence": 1, "ref": "pi.read", "args": {"path": "a"}}
    counts = {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 1}
    assert events == [
        {"event": "issue", "operation": call, "counts": counts},
        {"event": "phase", "name": "look"},
        {"event": "phase", "counts": {"droppedValues": 1, "truncatedValues": 0, "redactedValues": 0}},
        {
            "event": "settle",
            "operation": {
                **call,
                "provider": "pi",
                "action": "read",
                "outcome": "failed",
                "failureStage": "invoke",
                "error": "The provider failed.",
            },
            "counts": counts,
        },
    ]
    assert trace_from_events(events).operations == recorder.seal(Outcome.ABORTED).operations


def test_what_an_observer_raises_does_not_cost_the_record() -> None:
    def full(_event: JsonObject) -> None:
        raise OSError

    recorder = TraceRecorder(observe=full)
    with pytest.raises(OSError):  # noqa: PT011 -- whatever the observer raises
        recorder.issue("p.a", {})
    with pytest.raises(OSError):  # noqa: PT011 -- as above
        recorder.settle(1, Outcome.SUCCEEDED)
    assert [one.outcome for one in recorder.seal(Outcome.FAILED).operations] == [Outcome.SUCCEEDED]
