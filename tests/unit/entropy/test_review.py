"""Remarks for authors: when they are made, in which order, and that they change nothing."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy import (
    ReviewSignal,
    ValueObservation,
    canonical_digest,
    derive_normal_form_plan,
    measure_entropy,
    review_signals,
)
from toolfabric.entropy.probes import action, surface, trace
from toolfabric.entropy.proof import prove
from toolfabric.errors import RecordError

MARK: dict[str, Any] = {"x-fabric-enum-candidate": True}


def call(ref: str, args: Any, outcome: str = "succeeded") -> Any:
    return {"ref": ref, "args": args, "outcome": outcome}


def signals(traces: list[Any], **given: Any) -> list[ReviewSignal]:
    return review_signals(measure_entropy(traces), traces, **given)


def forms(traces: list[Any], **given: Any) -> list[Any]:
    return [signal.to_json() for signal in signals(traces, **given)]


def marked(inner: Any, **more: Any) -> Any:
    return surface(one={"type": "object", "properties": {"mode": inner, **more}})


def seen(**counts: int) -> list[ValueObservation]:
    return [
        ValueObservation(ref="probe.one", key="mode", value=value, count=count)
        for value, count in counts.items()
    ]


# --- declare-enum --------------------------------------------------------------------------------


@pytest.mark.requirement("ENT-047")
def test_a_marked_property_with_few_values_is_a_remark() -> None:
    assert forms(
        [], surface=marked({"type": "string", **MARK}), value_observations=seen(slow=3, fast=5, auto=1)
    ) == [
        {
            "kind": "declare-enum",
            "ref": "probe.one",
            "key": "mode",
            "values": ["fast", "slow", "auto"],
            "calls": 9,
            "distinct": 3,
            "topShare": 0.555556,
        }
    ]


@pytest.mark.requirement("ENT-047", "ENT-049")
@pytest.mark.parametrize(
    "inner",
    [
        {"type": "string"},
        {"type": "string", "x-fabric-enum-candidate": False},
        {"type": "string", "x-fabric-enum-candidate": 1},
        {"type": "string", "x-fabric-enum-candidate": "true"},
        {"type": "boolean", **MARK},
        {"type": "string", "enum": ["fast"], **MARK},
        {"type": "string", "enum": None, **MARK},
        True,
    ],
)
def test_without_the_authors_mark_or_where_it_makes_no_sense_there_is_none(inner: Any) -> None:
    assert signals([], surface=marked(inner), value_observations=seen(fast=6, slow=4)) == []


@pytest.mark.parametrize(
    ("counts", "remarked"),
    [
        ({"a": 4, "b": 4}, True),
        ({"a": 4, "b": 3}, False),
        ({"a": 8}, False),
        ({"a": 7, **{f"v{at}": 1 for at in range(7)}}, True),
        ({"a": 8, **{f"v{at}": 1 for at in range(8)}}, False),
        ({"a": 4, "b": 3, "c": 2}, False),
        ({"a": 5, "b": 3, "c": 2}, True),
    ],
)
def test_bounds_are_met_exactly(counts: dict[str, int], *, remarked: bool) -> None:
    found = signals([], surface=marked(MARK), value_observations=seen(**counts))
    assert bool(found) == remarked


def test_values_of_several_types_stand_by_count_then_type_and_text() -> None:
    values: list[Any] = ["1", 1, True, "b", 10]
    rows: list[dict[str, Any]] = [
        {"ref": "probe.one", "key": "mode", "value": value, "count": 1}
        for value in [*values, "z", "z", "z", "z", "z"]
    ]
    found = forms([], surface=marked(MARK), value_observations=rows)
    assert found[0]["values"] == ["z", True, 1, 10, "1", "b"]
    assert (found[0]["calls"], found[0]["distinct"]) == (10, 6)


def test_values_come_from_traces_where_none_are_supplied_and_an_empty_supply_is_one() -> None:
    traces = [trace(*(call("probe.one", {"mode": value}) for value in ["a"] * 5 + ["b"] * 4))]
    live = marked(MARK)
    assert forms(traces, surface=live)[0]["values"] == ["a", "b"]
    assert signals(traces, surface=live, value_observations=[]) == []
    assert signals(traces) == []


def test_calls_that_did_not_succeed_are_no_observation() -> None:
    traces = [
        trace(*(call("probe.one", {"mode": value}) for value in "aaaabbb")),
        trace(*(call("probe.one", {"mode": "b"}, end) for end in ("failed", "aborted", "timed_out"))),
    ]
    assert signals(traces, surface=marked(MARK)) == []


def test_at_most_eight_remarks_by_ref_and_key() -> None:
    keys = [f"k{at:02}" for at in range(12)]
    live = surface(one={"type": "object", "properties": dict.fromkeys(reversed(keys), MARK)})
    rows = [
        ValueObservation(ref="probe.one", key=key, value=value, count=4)
        for key in keys
        for value in ("a", "b")
    ]
    assert [one["key"] for one in forms([], surface=live, value_observations=rows)] == keys[:8]


@pytest.mark.requirement("ENT-046", "ENT-048")
def test_a_remark_closes_nothing() -> None:
    live: Any = surface(
        one={
            "type": "object",
            "additionalProperties": False,
            "properties": {"mode": {"type": "string", **MARK}},
        }
    )
    before = canonical_digest(live)
    assert signals([], surface=live, value_observations=seen(fast=5, slow=4))
    assert canonical_digest(live) == before
    schema = live["actions"][0]["inputSchema"]
    assert prove(schema).accepts({"mode": "never seen"})
    plan = derive_normal_form_plan("probe.one", schema)
    assert plan is not None
    assert "enum-form" not in {rule.kind for rule in plan.rules}


# --- overload-split ------------------------------------------------------------------------------


@pytest.mark.requirement("ENT-050")
def test_calls_without_a_common_key_are_a_remark() -> None:
    calls = [
        {"a": 1},
        {"a": 1},
        {"a": 1},
        {"b": 1, "c": 1},
        {"b": 2, "c": 2},
        {"a": 1, "d": 1},
        {"a": 1, "d": 1},
        {"e": 1},
    ]
    found = forms([trace(*(call("a.b", args) for args in calls))])
    assert found == [
        {
            "kind": "overload-split",
            "ref": "a.b",
            "shapeEntropyBits": 1.905639,
            "clusters": [{"keys": ["a"], "calls": 3}, {"keys": ["b", "c"], "calls": 2}],
        }
    ]


@pytest.mark.parametrize(
    "calls",
    [
        [{"a": 1}, {"a": 1}, {"a": 1}, {"b": 1}, {"b": 1}],
        [{"a": 1}, {"a": 1}, {"b": 1}, {"c": 1}],
        [{"a": 1}, {"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1}],
        [{}, {}, {"a": 1}, {"a": 1}],
        [{"a": 1}, {"a": 1}, {"a": "x"}, {"a": "x"}],
    ],
)
def test_without_variety_or_two_disjoint_sets_there_is_none(calls: list[Any]) -> None:
    assert signals([trace(*(call("a.b", args) for args in calls))]) == []


def test_disjoint_sets_are_taken_by_calls_then_by_keys() -> None:
    calls = [{"b": 1}, {"b": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1}, {"c": 1}, {"c": 1}]
    clusters = forms([trace(*(call("a.b", args) for args in calls))])[0]["clusters"]
    assert clusters == [{"keys": ["a", "b"], "calls": 2}, {"keys": ["c"], "calls": 2}]


def test_at_most_eight_splits_by_ref() -> None:
    calls = [call(f"a.{at:02}", {key: 1}) for at in range(12) for key in "aabb"]
    assert [one["ref"] for one in forms([trace(*calls)])] == [f"a.{at:02}" for at in range(8)]


# --- sequence-fuse -------------------------------------------------------------------------------


def run(refs: str, times: int = 1) -> list[Any]:
    return [trace(*(action(f"s.{name}") for name in refs)) for _ in range(times)]


def fuses(traces: list[Any]) -> list[tuple[str, int]]:
    return [
        ("".join(ref.removeprefix("s.") for ref in one["sequence"]), one["occurrences"])
        for one in forms(traces)
        if one["kind"] == "sequence-fuse"
    ]


@pytest.mark.requirement("ENT-050")
def test_a_sequence_that_recurs_is_a_remark() -> None:
    assert forms(run("abc", 3)) == [
        {"kind": "sequence-fuse", "sequence": ["s.a", "s.b", "s.c"], "occurrences": 3}
    ]


@pytest.mark.parametrize(
    ("traces", "found"),
    [
        (run("abc", 2), []),
        (run("ab", 5), []),
        (run("abab", 5), []),
        (run("abcabc", 2), []),
        ([*run("abcabc", 2), *run("abc")], [("abc", 5)]),
        (run("abcd", 3), [("abcd", 3)]),
        ([*run("abcd", 3), *run("abc", 4)], [("abcd", 3)]),
        ([*run("abcd", 2), *run("abc", 4)], [("abc", 6)]),
        (run("abcdefg", 3), [("abcdef", 3), ("bcdefg", 3)]),
        ([*run("abc", 3), *run("xyz", 4)], [("xyz", 4), ("abc", 3)]),
        ([*run("xyz", 3), *run("abc", 3)], [("abc", 3), ("xyz", 3)]),
        ([*run("abcab", 3)], [("abc", 3), ("bca", 3), ("cab", 3)]),
    ],
)
def test_the_longest_come_first_and_contain_the_others(
    traces: list[Any], found: list[tuple[str, int]]
) -> None:
    assert fuses(traces) == found


@pytest.mark.parametrize(
    "between",
    [
        action("s.x", "failed", "validate"),
        action("s.x", "aborted"),
        action("s.x", "timed_out"),
        action("pi.read"),
        action("fabric.discovery.search"),
        action("fabric.workflow.phase"),
        action("fabric.other"),
    ],
)
def test_a_failure_a_host_tool_and_fabrics_own_break_a_run(between: Any) -> None:
    a, b, c = (action(f"s.{name}") for name in "abc")
    assert fuses([trace(a, b, between, c)] * 3) == []
    assert fuses([trace(between, a, b, c, between)] * 3) == [("abc", 3)]


def test_at_most_eight_fuses() -> None:
    traces = [one for at in range(12) for one in run(chr(97 + at) + "yz", 3)]
    assert len(fuses(traces)) == 8


# --- all of them ---------------------------------------------------------------------------------


def test_remarks_stand_by_kind_and_the_report_may_be_a_dictionary() -> None:
    traces = [
        *run("abc", 3),
        trace(
            *(
                call("probe.one", {key: "v" if at % 2 else "w"})
                for key in ("mode", "other")
                for at in range(8)
            )
        ),
    ]
    given: Any = {"surface": marked({"type": "string", **MARK})}
    found = signals(traces, **given)
    assert [one.to_json()["kind"] for one in found] == ["declare-enum", "overload-split", "sequence-fuse"]
    assert review_signals(measure_entropy(traces).to_json(), traces, **given) == found
    assert signals(traces[::-1], **given) == found


def test_a_report_or_a_row_of_another_form_is_refused() -> None:
    with pytest.raises(RecordError):
        review_signals({}, [])
    with pytest.raises(RecordError):
        signals([], value_observations=[{"ref": "a.b", "key": "k", "value": None}])
