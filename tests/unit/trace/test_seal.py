"""Sealing cuts to the bounds and counts; folding a dead host's events gives an ordinary trace."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.trace.bounds import ENVELOPE_BYTES, Cut, encode
from toolfabric.trace.reader import read_trace
from toolfabric.trace.records import Operation, RuleRef, Witness
from toolfabric.trace.seal import OPEN_CALL, call_error, checked_witness, seal_trace, trace_from_events
from toolfabric.values import Outcome, Stage


def call(sequence: int, args: dict[str, Any] | None = None, ref: str = "pi.bash") -> Operation:
    return Operation(type="call", sequence=sequence, ref=ref, args=args or {}, outcome=Outcome.SUCCEEDED)


def test_a_small_record_is_sealed_whole() -> None:
    trace = seal_trace(
        [call(1), call(2)], ["a", ""], Outcome.SUCCEEDED, cut=Cut(truncated=2), dropped_operations=5
    )
    assert trace.to_json() == {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": ["a", ""],
        "operations": [call(1).to_json(), call(2).to_json()],
        "counts": {"droppedValues": 0, "truncatedValues": 2, "redactedValues": 0, "droppedOperations": 5},
    }


def test_calls_past_the_bound_are_dropped_from_the_end_and_counted() -> None:
    trace = seal_trace(map(call, range(1, 2_100)), [], Outcome.SUCCEEDED)
    assert [operation.sequence for operation in trace.operations] == list(range(1, 2_049))
    assert trace.counts.dropped_operations == 51


def test_phases_past_a_bound_are_dropped_from_the_end_and_counted() -> None:
    many = seal_trace([], [str(number) for number in range(600)], Outcome.SUCCEEDED)
    assert many.phases == tuple(str(number) for number in range(512))
    assert many.counts.dropped_values == 88
    long = seal_trace([], ["x" * 500] * 200, Outcome.SUCCEEDED)
    assert len(encode(list(long.phases))) <= 64 * 1024
    assert long.counts.dropped_values == 200 - len(long.phases)


def test_an_envelope_too_large_loses_arguments_from_the_last_call_backwards() -> None:
    calls = [call(number, {"command": "x" * 16_000}) for number in range(1, 41)]
    trace = seal_trace(calls, [], Outcome.SUCCEEDED)
    kept = [operation.args != {} for operation in trace.operations]
    assert len(trace.operations) == 40
    assert trace.counts.dropped_values == kept.count(False) > 0
    assert kept == sorted(kept, reverse=True)
    assert ENVELOPE_BYTES - 16_100 < len(encode(trace.to_json())) <= ENVELOPE_BYTES


def test_an_envelope_too_large_without_arguments_loses_calls() -> None:
    calls = [call(number, {"a": 1}, ref="x" * 1_000) for number in range(1, 1_001)]
    trace = seal_trace(calls, [], Outcome.FAILED)
    assert len(trace.operations) + trace.counts.dropped_operations == 1_000
    assert trace.counts.dropped_values == 1_000
    assert ENVELOPE_BYTES - 2_000 < len(encode(trace.to_json())) <= ENVELOPE_BYTES
    read_trace(trace.to_json())


def test_every_stage_and_outcome_has_a_sentence_of_its_own_and_success_has_none() -> None:
    sentences = [call_error(Outcome.FAILED, stage) for stage in Stage]
    sentences += [call_error(outcome, None) for outcome in Outcome if outcome is not Outcome.SUCCEEDED]
    assert len(set(sentences)) == len(Stage) + 3
    assert all(isinstance(sentence, str) and sentence.endswith(".") for sentence in sentences)
    assert not isinstance(call_error(Outcome.SUCCEEDED, None), str)
    assert call_error(Outcome.ABORTED, Stage.INVOKE) == call_error(Outcome.ABORTED, None)


def test_a_witness_is_only_kept_if_a_reader_would_take_it() -> None:
    digest = "0" * 64
    rules = (RuleRef(kind="key-form", key="a"),)
    good = Witness(version=1, base_schema_digest=digest, before_shape=digest, after_shape=digest, rules=rules)
    bad = Witness(version=1, base_schema_digest="x", before_shape=digest, after_shape=digest, rules=rules)
    assert checked_witness(good) == good
    assert not isinstance(checked_witness(bad), Witness)
    assert not isinstance(checked_witness(None), Witness)


# --- folding -------------------------------------------------------------------------------------

ISSUE: dict[str, Any] = {
    "event": "issue",
    "operation": {"type": "call", "sequence": 1, "ref": "pi.read", "args": {"path": "a"}},
    "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 2},
}
SETTLE: dict[str, Any] = {
    "event": "settle",
    "operation": {
        **ISSUE["operation"],
        "provider": "pi",
        "action": "read",
        "outcome": "failed",
        "failureStage": "invoke",
        "error": "The provider failed.",
    },
    "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 3},
}


def test_a_call_that_was_open_is_aborted_and_one_that_ended_keeps_its_outcome() -> None:
    second = {**ISSUE, "operation": {**ISSUE["operation"], "sequence": 2}}
    trace = trace_from_events([ISSUE, {"event": "phase", "name": "look"}, second, SETTLE])
    assert trace.to_json() == {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "aborted",
        "phases": ["look"],
        "operations": [
            SETTLE["operation"],
            {**second["operation"], "outcome": "aborted", "error": OPEN_CALL},
        ],
        "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 5, "droppedOperations": 0},
        "error": "The execution was aborted.",
    }


def test_folding_twice_the_same_events_changes_nothing() -> None:
    once = trace_from_events([ISSUE, SETTLE])
    assert trace_from_events([ISSUE, SETTLE, ISSUE, SETTLE]) == once


def test_calls_past_the_bound_are_counted_from_their_events() -> None:
    events: list[Any] = [{"event": "dropped"}] * 3
    assert trace_from_events(events).counts.dropped_operations == 3


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "issue"},
        {"event": "issue", "operation": 7},
        {"event": "issue", "operation": {"type": "call"}},
        {"event": "settle", "operation": ISSUE["operation"]},
        {"event": "settle", "operation": {**SETTLE["operation"], "outcome": "fine"}},
        {"event": "settle", "operation": {**SETTLE["operation"], "outcome": "\ud800"}},
        {"event": "settle", "operation": {**SETTLE["operation"], "more": 1}},
        {"event": "other", "operation": SETTLE["operation"]},
    ],
)
def test_an_event_without_its_form_is_passed_over(event: Any) -> None:
    assert trace_from_events([event, ISSUE]) == trace_from_events([ISSUE])


def test_a_spool_cannot_bring_in_what_the_projection_withholds() -> None:
    forged: Any = {
        "event": "settle",
        "operation": {
            "type": "call",
            "sequence": 1,
            "ref": "a secret",
            "provider": "a secret",
            "action": "a secret",
            "args": {"path": "a secret"},
            "outcome": "failed",
            "error": "a secret",
            "result": "a secret",
        },
        "counts": {"droppedValues": "a secret", "truncatedValues": -4, "redactedValues": True},
    }
    trace = trace_from_events([forged, {"event": "phase", "name": "a\nsecret"}])
    assert b"secret" not in encode(trace.to_json())
    assert trace.operations[0].ref == "(invalid)"
    assert (trace.counts.dropped_values, trace.counts.redacted_values) == (1, 0)
