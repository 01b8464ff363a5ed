"""Audits are verbatim or not there, and are the first to go when space runs out."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.trace.audit import DETAILS_BYTES, VALUE_BYTES, AuditLog, details_json
from toolfabric.trace.bounds import encode
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.trace.records import Trace
from toolfabric.trace.seal import seal_trace
from toolfabric.values import Json, JsonObject, Outcome, Stage


def sealed() -> Trace:
    return seal_trace([], ["look"], Outcome.SUCCEEDED)


@pytest.mark.requirement("ENT-033")
def test_a_call_is_kept_as_it_was_at_that_moment() -> None:
    audits = AuditLog()
    args: Json = {"path": "a?b", "deep": [{"x": None}], "odd": "\ud800"}
    audits.add(sequence=1, ref="pi.read", args=args)
    args.clear()
    audits.settle(1, Outcome.SUCCEEDED, result={"text": "all of it"})
    assert audits.to_json(10_000) == [
        {
            "sequence": 1,
            "ref": "pi.read",
            "args": {"path": "a?b", "deep": [{"x": None}], "odd": "\ud800"},
            "outcome": "succeeded",
            "result": {"text": "all of it"},
        }
    ]


def test_a_failure_keeps_its_stage_and_message() -> None:
    audits = AuditLog()
    audits.add(
        sequence=2, ref="a.b", args=None, outcome=Outcome.FAILED, stage=Stage.VALIDATE, error="limit: \ud800"
    )
    assert audits.to_json(10_000) == [
        {
            "sequence": 2,
            "ref": "a.b",
            "args": None,
            "outcome": "failed",
            "failureStage": "validate",
            "error": "limit: ?",
        }
    ]


def test_the_first_settling_counts_and_an_unknown_call_is_passed_over() -> None:
    audits = AuditLog()
    audits.add(sequence=1, ref="a.b", args={}, outcome=Outcome.ABORTED)
    audits.settle(1, Outcome.SUCCEEDED)
    audits.settle(9, Outcome.SUCCEEDED)
    assert audits.to_json(10_000) == [{"sequence": 1, "ref": "a.b", "args": {}, "outcome": "aborted"}]


def test_entries_stand_in_issue_order() -> None:
    audits = AuditLog()
    for sequence in (3, 1, 2):
        audits.add(sequence=sequence, ref="a.b", args={})
    assert [entry["sequence"] for entry in audits.to_json(10_000)] == [1, 2, 3]


def nest(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", ["x" * VALUE_BYTES, nest(129), float("nan"), {1: 2}, object(), {"a": (1,)}])
def test_arguments_too_large_or_no_json_are_left_out_whole_and_so_is_such_a_result(value: Any) -> None:
    audits = AuditLog()
    audits.add(sequence=1, ref="a.b", args=value)
    audits.settle(1, Outcome.SUCCEEDED, result=value)
    assert audits.to_json(10_000) == [
        {"sequence": 1, "ref": "a.b", "outcome": "succeeded", "omitted": ["args", "result"]}
    ]


def test_results_are_trimmed_first_from_the_last_call_backwards_then_whole_entries() -> None:
    audits = AuditLog()
    for sequence in range(1, 6):
        audits.add(
            sequence=sequence, ref="a.b", args={"n": sequence}, outcome=Outcome.SUCCEEDED, result="r" * 100
        )
    whole = audits.to_json(100_000)
    size = len(encode(list[Json](whole)))
    assert audits.to_json(size) == whole
    tight = audits.to_json(size - 1)
    assert ["result" in entry for entry in tight] == [True, True, True, True, False]
    assert tight[-1]["omitted"] == ["result"]
    for budget in (0, 100, 300, 500):
        cut = audits.to_json(budget)
        assert [entry["sequence"] for entry in cut] == list(range(1, len(cut) + 1))
        assert not cut or len(encode(list[Json](cut))) <= budget
        assert all("args" in entry for entry in cut)
    assert audits.to_json(0) == []
    assert audits.to_json(100_000) == whole


def test_memory_is_bounded_however_many_calls_there_are() -> None:
    audits = AuditLog()
    for sequence in range(1, 20_001):
        audits.add(sequence=sequence, ref="a.b", args={"text": "x" * 1_000})
        audits.settle(sequence, Outcome.SUCCEEDED, result="y" * 10_000)
    kept = audits.to_json(10 * DETAILS_BYTES)
    assert 0 < len(encode(list[Json](kept))) <= 2 * DETAILS_BYTES + 64 * len(kept)
    assert [entry["sequence"] for entry in kept] == list(range(1, len(kept) + 1))


def test_details_have_the_designs_form() -> None:
    audits = AuditLog()
    audits.add(sequence=1, ref="a.b", args={})
    assert details_json(success=True, trace=sealed(), audits=audits, phases=("look",), error=None) == {
        "success": True,
        "trace": sealed().to_json(),
        "audits": [{"sequence": 1, "ref": "a.b", "args": {}}],
        "phases": ["look"],
    }
    failed = details_json(success=False, trace=sealed(), audits=AuditLog(), phases=(), error="line 3: no")
    assert failed["error"] == "line 3: no"


def test_details_stay_within_their_bound_and_the_trace_is_never_trimmed_for_audits() -> None:
    recorder = TraceRecorder()
    audits = AuditLog()
    for _ in range(3_000):
        sequence = recorder.issue("pi.bash", {"command": "\x01" * 20_000})
        audits.add(sequence=sequence, ref="pi.bash", args={"command": "\x01" * 300})
        audits.settle(sequence, Outcome.SUCCEEDED, result="z" * 900)
        recorder.settle(sequence, Outcome.SUCCEEDED)
    trace = recorder.seal(Outcome.FAILED)
    details: JsonObject = details_json(
        success=False, trace=trace, audits=audits, phases=["p" * 600] * 9_000, error="e\n" * 200_000
    )
    assert DETAILS_BYTES - 4_096 < len(encode(details)) <= DETAILS_BYTES
    assert details["trace"] == trace.to_json()
    assert details["audits"]
