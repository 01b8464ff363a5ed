"""Session records as a person reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolfabric.cli.records_view import executions_of, show_execution, show_trace, show_witnesses
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.trace.records import RuleRef, Witness
from toolfabric.values import Outcome, Stage


def recorder() -> TraceRecorder:
    made = TraceRecorder()
    made.settle(made.issue("pi.read", {"path": "a\x1b[2Jb"}), Outcome.SUCCEEDED)
    made.settle(made.issue("pi.raed", {}), Outcome.FAILED, stage=Stage.RESOLVE)
    witness = Witness(
        version=1,
        base_schema_digest="a" * 64,
        before_shape="b" * 64,
        after_shape="c" * 64,
        rules=(RuleRef(kind="key-form", key="path"),),
    )
    made.settle(made.issue("pi.ls", {}), Outcome.SUCCEEDED, normalization=witness)
    return made


def test_a_trace_is_a_table_with_stages_and_witnesses(capsys: pytest.CaptureFixture[str]) -> None:
    trace = recorder().seal(Outcome.SUCCEEDED)
    show_trace(trace)
    show_witnesses(trace)
    shown = capsys.readouterr().out
    assert "failed at resolve" in shown
    assert "succeeded, normalized" in shown
    assert "#3 pi.ls: key-form of path" in shown
    assert "\x1b" not in shown


def test_a_long_trace_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    made = TraceRecorder()
    for _number in range(100):
        made.settle(made.issue("pi.ls", {}), Outcome.SUCCEEDED)
    show_trace(made.seal(Outcome.SUCCEEDED))
    assert "and 40 more operations" in capsys.readouterr().out


def test_only_results_with_a_guarded_trace_are_executions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = recorder().seal(Outcome.FAILED).to_json()
    result = {
        "role": "toolResult",
        "toolCallId": "call_1",
        "toolName": "fabric_exec",
        "isError": True,
        "content": [{"type": "text", "text": "it failed"}],
    }
    entries = [
        {"type": "session", "version": 3, "id": "s"},
        {"type": "message", "message": {**result, "details": {"trace": {**trace, "version": 9}}}},
        {"type": "message", "message": {"role": "user", "content": "x"}},
        {"type": "message", "message": {**result, "details": {"trace": trace}}},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    (one,) = executions_of(path)
    assert (one.call_id, one.is_error, one.text) == ("call_1", True, "it failed")
    show_execution(one)
    assert "answer: it failed" in capsys.readouterr().out
