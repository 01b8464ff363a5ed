"""What a session's lines yield, and all that they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolfabric.entropy import (
    apply_normal_form_plan,
    derive_normal_form_plan,
    measure_entropy,
    session_evidence,
)
from toolfabric.entropy.evidence import EvidenceReader, SessionEvidence
from toolfabric.entropy.probes import REF, SCHEMA, action, execution
from toolfabric.trace.audit import AuditLog, details_json
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import Outcome

NOTHING = SessionEvidence(traces=(), value_observations=(), audit_calls=())


def result(details: Any, **more: Any) -> str:
    return json.dumps({"type": "message", "message": {"role": "toolResult", "details": details, **more}})


def model_change(provider: Any = "maker", model: Any = "a") -> str:
    return json.dumps({"type": "model_change", "provider": provider, "modelId": model})


def assistant(provider: Any = "maker", model: Any = "b") -> str:
    return json.dumps(
        {"type": "message", "message": {"role": "assistant", "provider": provider, "model": model}}
    )


ONE = execution([action("a.b", "failed", "validate", x=1), action("a.b", x="2")], phases=["plan", "do"])
TRACE_LINE = result({"trace": ONE, "success": True})


def models(*lines: str) -> list[Any]:
    return [one.to_json().get("model") for one in session_evidence(lines).traces]


@pytest.mark.requirement("ENT-031")
def test_a_guarded_trace_is_evidence() -> None:
    found = session_evidence([TRACE_LINE])
    assert found.to_json() == {
        "traces": [
            {
                "operations": [
                    {"ref": "a.b", "args": {"x": 1}, "outcome": "failed", "failureStage": "validate"},
                    {"ref": "a.b", "args": {"x": "2"}, "outcome": "succeeded"},
                ],
                "taskKey": "plan",
            }
        ],
        "valueObservations": [{"ref": "a.b", "key": "x", "value": "2"}],
        "auditCalls": [],
    }
    assert SessionEvidence.from_json(found.to_json()) == found


@pytest.mark.requirement("ENT-033")
def test_a_record_of_the_recorder_is_read_with_its_audits_and_witness() -> None:
    recorder, audits = TraceRecorder(), AuditLog()
    sequence = recorder.issue("mcp.x.y", {"secret": "s"})
    audits.add(sequence=sequence, ref="mcp.x.y", args={"secret": "s"})
    recorder.resolved(sequence, ref="mcp.x.y", provider="mcp", action="x.y")
    recorder.settle(sequence, Outcome.SUCCEEDED, result={"ok": True})
    audits.settle(sequence, Outcome.SUCCEEDED, result={"ok": True})
    trace = recorder.seal(Outcome.SUCCEEDED)
    details = details_json(success=True, trace=trace, audits=audits, phases=[], error=None)
    found = session_evidence([model_change(), result(details)])
    assert [one.model for one in found.traces] == ["maker/a"]
    assert [one.to_json() for one in found.audit_calls] == [{"ref": "mcp.x.y", "args": {"secret": "s"}}]
    assert [one.to_json() for one in found.value_observations] == [
        {"ref": "mcp.x.y", "key": "secret", "value": "s"}
    ]


def test_no_phase_is_no_task_and_an_empty_one_is_a_task() -> None:
    found = session_evidence(
        [result({"trace": execution([])}), result({"trace": execution([], phases=[""])})]
    )
    assert [one.to_json().get("taskKey") for one in found.traces] == [None, ""]


def test_models_are_stamped_in_file_order() -> None:
    assert models(
        TRACE_LINE, model_change(), TRACE_LINE, assistant(), TRACE_LINE, model_change(), TRACE_LINE
    ) == [
        None,
        "maker/a",
        "maker/b",
        "maker/a",
    ]


@pytest.mark.parametrize(
    "broken",
    [
        model_change(provider=5),
        model_change(model=None),
        model_change(provider=""),
        model_change(model=""),
        json.dumps({"type": "model_change"}),
        json.dumps({"type": "model_change", "provider": "x", "model": "y"}),
        assistant(provider=None),
        assistant(model=[]),
        assistant(model=""),
        json.dumps({"type": "message", "message": {"role": "user", "provider": "x", "model": "y"}}),
        json.dumps({"type": "other", "provider": "x", "modelId": "y"}),
        '{"type":"model_change","provider":"x","modelId":"y"',
    ],
)
def test_a_broken_change_of_model_leaves_the_model_as_it_was(broken: str) -> None:
    assert models(model_change(), broken, TRACE_LINE) == ["maker/a"]


def test_a_message_that_carries_a_trace_and_names_its_model_is_stamped_with_it() -> None:
    line = json.dumps(
        {"message": {"role": "assistant", "provider": "p", "model": "m", "details": {"trace": ONE}}}
    )
    assert models(model_change(), line) == ["p/m"]


def test_a_records_own_details_win_even_without_a_trace() -> None:
    def line(details: Any) -> str:
        return json.dumps({"type": "x", "details": details, "message": {"details": {"trace": ONE}}})

    assert len(session_evidence([line({"trace": ONE})]).traces) == 1
    others: list[Any] = [{}, {"trace": None}, {"trace": 5}, None, [], "text"]
    assert [session_evidence([line(own)]) for own in others] == [NOTHING] * len(others)
    assert len(session_evidence([json.dumps({"details": {"trace": ONE}})]).traces) == 1


UNGUARDED: list[Any] = [
    {"kind": "other"},
    {"version": 2},
    {"version": 1.0},
    {"extra": 1},
    {"error": None},
    {"counts": {"droppedValues": 0}},
    {"operations": [{"type": "call", "sequence": 1, "ref": "a.b", "args": None, "outcome": "failed"}]},
    {
        "operations": [
            {"type": "call", "sequence": at, "ref": "a.b", "args": {}, "outcome": "failed"} for at in (2, 1)
        ]
    },
]


@pytest.mark.requirement("ENT-034")
@pytest.mark.parametrize("change", UNGUARDED)
def test_without_a_guarded_trace_the_audits_are_not_read(change: Any) -> None:
    audits = [{"ref": "a.b", "args": {"x": 1}}]
    assert session_evidence([result({"trace": {**ONE, **change}, "audits": audits})]) == NOTHING
    assert session_evidence([result({"audits": audits})]) == NOTHING


@pytest.mark.requirement("ENT-032")
def test_prose_is_never_evidence() -> None:
    text = "validate failed: a.b was rejected with {'x': 1}; pi-fabric.execution"
    lines = [
        result({"text": text, "error": text}),
        json.dumps(
            {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        ),
        json.dumps({"type": "message", "message": text}),
        text,
    ]
    assert session_evidence(lines) == NOTHING


@pytest.mark.parametrize(
    "line",
    [
        *(
            "",
            " ",
            "null",
            "5",
            "[]",
            '"x"',
            "{",
            "{}",
            "{]",
            TRACE_LINE[:-1],
            TRACE_LINE + "}",
            "\x0b" + TRACE_LINE,
        ),
        *(
            "\u00a0" + TRACE_LINE,
            "x" + TRACE_LINE,
            TRACE_LINE.replace("1", "NaN", 1),
            TRACE_LINE.replace("1", "01", 1),
        ),
        *(
            "[" * 100_000,
            '{"details":' + "[" * 100_000 + "]" * 100_000 + "}",
            '{"a":' + "9" * 10_000 + "e9999}",
        ),
        *('{"type":"\\ud800"}', "\ud800", "\x00"),
    ],
)
def test_a_malformed_line_is_skipped_and_the_rest_is_read(line: str) -> None:
    assert len(session_evidence([line, TRACE_LINE]).traces) == 1
    assert len(session_evidence([TRACE_LINE.encode(), line.encode("utf-8", "surrogatepass")]).traces) == 1


def test_bytes_that_are_no_utf8_are_skipped() -> None:
    assert session_evidence([b"\xff\xfe", TRACE_LINE.encode().replace(b"plan", b"pl\xffn")]) == NOTHING


@pytest.mark.requirement("ENT-038")
def test_json_white_space_may_stand_around_a_line() -> None:
    assert len(session_evidence([" \t\r\n" + TRACE_LINE + "\r\n", TRACE_LINE.encode() + b" \n"]).traces) == 2


def test_a_byte_order_mark_may_stand_at_the_start_of_the_file_alone() -> None:
    marked = "\ufeff" + TRACE_LINE
    assert len(session_evidence([marked]).traces) == 1
    assert len(session_evidence([marked.encode(), TRACE_LINE]).traces) == 2
    assert len(session_evidence([TRACE_LINE, marked]).traces) == 1


def test_an_escaped_lone_surrogate_does_not_lose_a_line() -> None:
    assert models(
        TRACE_LINE, '{"type":"model_change","provider":"p","modelId":"m","note":"\\ud83d"}', TRACE_LINE
    ) == [
        None,
        "p/m",
    ]
    assert (
        len(session_evidence([TRACE_LINE.replace('"details"', '"text": "\\udc00", "details"')]).traces) == 1
    )


def test_a_key_given_twice_counts_as_it_stands_last() -> None:
    assert models(
        '{"type":"x","type":"model_change","provider":"q","modelId":"m","provider":"p"}', TRACE_LINE
    ) == ["p/m"]


AUDITS: list[Any] = [
    ([{"ref": "a.b", "args": {"x": 1}, "result": 5, "outcome": "failed"}], [("a.b", {"x": 1})]),
    ([{"ref": "a.b", "args": "text"}, {"ref": "a.b", "args": None}], [("a.b", "text"), ("a.b", None)]),
    ([{"ref": "a.b"}, {"args": {}}, {"ref": 5, "args": {}}, {"ref": "", "args": {}}, 5, None], []),
    ({"ref": "a.b", "args": {}}, []),
    (None, []),
]


@pytest.mark.parametrize(("audits", "calls"), AUDITS)
def test_audits_are_taken_verbatim_where_they_name_a_call(audits: Any, calls: list[Any]) -> None:
    found = session_evidence([result({"trace": ONE, "audits": audits})])
    assert [(one.ref, one.args) for one in found.audit_calls] == calls


def test_values_come_from_the_verbatim_arguments_of_calls_that_succeeded() -> None:
    traced = execution(
        [
            action("a.b", "failed", "validate"),
            action("a.b"),
            action("fabric.discovery.search", q="x"),
            action("a.c", y=1),
        ]
    )
    numbered = [
        {"sequence": 1, "ref": "a.b", "args": {"x": "refused"}},
        {"sequence": 2, "ref": "a.b", "args": {"x": "taken"}},
        {"sequence": 9, "ref": "a.b", "args": {"x": "of no operation"}},
    ]
    unnumbered = [{key: value for key, value in audit.items() if key != "sequence"} for audit in numbered]
    for audits in (numbered, numbered[::-1], unnumbered):
        found = session_evidence([result({"trace": traced, "audits": audits})])
        assert [(one.ref, one.key, one.value) for one in found.value_observations] == [
            ("a.b", "x", "taken"),
            ("a.c", "y", 1),
        ]


@pytest.mark.requirement("ENT-037")
def test_appended_lines_can_be_read_later_with_the_model_that_was_current() -> None:
    lines = [model_change(), TRACE_LINE, assistant(), TRACE_LINE, TRACE_LINE]
    whole = session_evidence(lines)
    for cut in range(len(lines) + 1):
        first = EvidenceReader()
        for line in lines[:cut]:
            first.feed(line)
        second = EvidenceReader(model=first.model, at_start=cut == 0)
        for line in lines[cut:]:
            second.feed(line)
        assert (*first.evidence().traces, *second.evidence().traces) == whole.traces


@pytest.mark.requirement("ENT-088")
def test_a_recorded_witness_is_evidence_of_a_later_call() -> None:
    args: Any = {"query": "x", "maxResults": 3}
    plan = derive_normal_form_plan(REF, SCHEMA)
    witness = apply_normal_form_plan(REF, SCHEMA, args, plan).witness
    assert witness is not None
    normalized: Any = {**action(REF), "normalization": witness.to_json()}
    found = session_evidence([result({"trace": execution([normalized, action(REF, "failed", "validate")])})])
    assert [one.normalization or None for one in found.traces[0].operations] == [witness, None]
    assert measure_entropy(found.traces).score == 0.5


@pytest.mark.requirement("ENT-036", "ENT-039")
def test_attribution_reaches_the_measure() -> None:
    found = session_evidence([model_change(), TRACE_LINE, assistant(), TRACE_LINE])
    report = measure_entropy(found.traces)
    assert [(one.model, one.behavioral_score) for one in report.by_model] == [
        ("maker/a", 0.5),
        ("maker/b", 0.5),
    ]


SESSIONS = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.mark.parametrize("client", ["pi-sessions", "claude-code-sessions", "codex-sessions", "transcripts"])
def test_recorded_sessions_of_clients_hold_no_guarded_trace_and_are_read_without_a_crash(client: str) -> None:
    if not (SESSIONS / client).is_dir():
        pytest.skip("the recorded sessions are not beside this checkout")
    files = sorted((SESSIONS / client).glob("*.jsonl"))
    assert files
    for path in files:
        with path.open("rb") as lines:
            assert session_evidence(lines).traces == ()
