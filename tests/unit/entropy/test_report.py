"""Every field of the report, from accumulated counts."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy.corpus import read_schemas
from toolfabric.entropy.probes import action, surface, trace
from toolfabric.entropy.report import build_report
from toolfabric.entropy.reports import EntropyReport
from toolfabric.entropy.state import EntropyState


def report(*traces: Any, schemas: Any = None, repaired: list[str] | None = None) -> EntropyReport:
    state = EntropyState()
    for one in traces:
        state.add(one)
    return build_report(
        state, schemas=read_schemas(schemas), repaired_refs=repaired or [], catalog_digest="digest"
    )


@pytest.mark.requirement("ENT-008", "ENT-017", "ENT-019", "ENT-020", "ENT-022", "ENT-023", "ENT-024")
def test_a_small_corpus_gives_exactly_these_numbers() -> None:
    strings: Any = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
    found = report(
        trace(
            action("fabric.discovery.search"),
            action("probe.one", "failed", "validate", x=1),
            action("probe.one", x="1"),
            model="maker/a",
            task="t",
        ),
        trace(
            action("probe.one", "failed", x="1"), action("probe.two", "timed_out"), model="maker/b", task="t"
        ),
        schemas=surface(one=strings, three=strings),
        repaired=["probe.one", "probe.nine"],
    )
    assert found.to_json() == {
        "metricVersion": 3,
        "catalogDigest": "digest",
        "score": 0.25,
        "behavioralScore": 0.25,
        "staticScore": 0.234375,
        "staticFreedom": 1.25,
        "shapeEntropyBits": 0.688722,
        "failureStageEntropyBits": 1.0,
        "churnRate": 0.428571,
        "navigationRatio": 0.25,
        "flowEntropyBits": 1.0,
        "lexiconRows": 2,
        "totals": {
            "traces": 2,
            "operations": 5,
            "actionOperations": 4,
            "discoveryOperations": 1,
            "workflowOperations": 0,
            "succeeded": 2,
            "failed": 2,
            "aborted": 0,
            "timedOut": 1,
            "invocationRejections": 1,
            "invocationRejectionsPer1k": 250.0,
        },
        "refs": [
            {
                "ref": "probe.one",
                "calls": 3,
                "succeeded": 1,
                "failed": 2,
                "shapeSignatures": [
                    {"signature": "(x:str)", "count": 2},
                    {"signature": "(x:num)", "count": 1},
                ],
                "shapeEntropyBits": 0.918296,
                "failureStageEntropyBits": 1.0,
                "churnRate": 0.428571,
                "lexiconRows": 1,
                "staticFreedom": 1.25,
                "score": 0.333333,
            },
            {
                "ref": "probe.two",
                "calls": 1,
                "succeeded": 0,
                "failed": 0,
                "shapeSignatures": [{"signature": "()", "count": 1}],
                "shapeEntropyBits": 0.0,
                "failureStageEntropyBits": 0.0,
                "churnRate": 0.0,
                "lexiconRows": 0,
                "staticFreedom": 0.0,
                "score": 0.0,
            },
        ],
        "byModel": [
            {
                "model": "maker/a",
                "operations": 3,
                "actionOperations": 2,
                "succeeded": 2,
                "invocationRejections": 1,
                "invocationRejectionsPer1k": 500.0,
                "behavioralScore": 0.5,
            },
            {
                "model": "maker/b",
                "operations": 2,
                "actionOperations": 2,
                "succeeded": 0,
                "invocationRejections": 0,
                "invocationRejectionsPer1k": 0.0,
                "behavioralScore": 0.0,
            },
        ],
    }
    assert EntropyReport.from_json(found.to_json()) == found


@pytest.mark.requirement("ENT-013")
def test_nothing_at_all_gives_zeros_and_no_division() -> None:
    found = report().to_json()
    totals: Any = found.pop("totals")
    assert set(totals.values()) == {0}
    assert {value for value in found.values() if isinstance(value, int | float)} == {0, 3}
    assert found["refs"] == found["byModel"] == []


def test_refs_stand_by_score_then_by_name_in_code_units() -> None:
    found = report(
        trace(
            *(action(ref) for ref in ("b.\uffee", "b.\U0001f600", "a.z")),
            *[action("c.half"), action("c.half", "failed", "resolve"), action("d.all", "failed", "prepare")],
        )
    )
    assert [one.ref for one in found.refs] == ["d.all", "c.half", "a.z", "b.\U0001f600", "b.\uffee"]


def test_only_the_eight_commonest_shapes_are_shown_by_count_then_text() -> None:
    keys = [f"k{at}" for at in range(12)] + ["k11", "k5"]
    calls: list[Any] = [{"ref": "a.b", "args": {key: 1}, "outcome": "succeeded"} for key in keys]
    shown = report({"operations": calls}).refs[0].shape_signatures
    assert [(one.signature, one.count) for one in shown] == [
        *((f"({key}:num)", 2) for key in ("k11", "k5")),
        *((f"({key}:num)", 1) for key in ("k0", "k10", "k1", "k2", "k3", "k4")),
    ]


def test_shapes_of_equal_count_stand_in_code_units() -> None:
    calls: list[Any] = [
        {"ref": "a.b", "args": {key: 1}, "outcome": "succeeded"} for key in ("\uffee", "\U0001f600")
    ]
    shown = report({"operations": calls}).refs[0].shape_signatures
    assert [one.signature for one in shown] == ["(\U0001f600:num)", "(\uffee:num)"]


def test_flow_entropy_is_within_task_keys_and_weighted_by_traces_with_actions() -> None:
    ab, ba = trace(action("a.a"), action("a.b"), task="t"), trace(action("a.b"), action("a.a"), task="t")
    assert report(ab, ab).flow_entropy_bits == 0
    assert report(ab, ba).flow_entropy_bits == 1
    assert report(ab, {**ba, "taskKey": "u"}).flow_entropy_bits == 0
    assert report(ab, ba, trace(action("a.a"))).flow_entropy_bits == 0.666667
    assert (
        report(ab, ba, trace(task="t"), trace(action("fabric.workflow.phase"), task="t")).flow_entropy_bits
        == 1
    )
    keyless, named, empty = (
        trace(action("a.a")),
        trace(action("a.b"), task="(none)"),
        trace(action("a.c"), task=""),
    )
    assert report(keyless, named).flow_entropy_bits == 1
    assert report(keyless, empty).flow_entropy_bits == 0


def test_a_failure_without_a_stage_is_a_kind_of_its_own() -> None:
    found = report(
        trace(action("a.b", "failed"), action("a.b", "failed", "unknown"), action("a.b", "failed", "invoke"))
    )
    assert found.refs[0].failure_stage_entropy_bits == 0.918296


def test_static_freedom_is_of_called_refs_and_zero_where_no_schema_is_known() -> None:
    found = report(
        trace(action("probe.one"), action("probe.null"), action("probe.unknown"), action("probe.true")),
        schemas=surface(one={"type": "string"}, null=None, true=True, uncalled={"type": "string"}),
    )
    assert {one.ref: one.static_freedom for one in found.refs} == {
        "probe.one": 1,
        "probe.null": 0,
        "probe.unknown": 0,
        "probe.true": 0.5,
    }
    assert found.static_freedom == 1.5
    assert found.static_score == 0.09375


def test_a_ref_declared_twice_is_known_by_the_last_declaration() -> None:
    twice = {
        "version": 1,
        "actions": [
            {"ref": "a.b", "inputSchema": {"type": "string"}},
            {"ref": "a.b", "inputSchema": {"const": 1}},
        ],
    }
    assert report(trace(action("a.b")), schemas=twice).static_freedom == 0
