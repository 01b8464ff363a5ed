"""The accumulator counts, and what it counts can be added in any order."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from toolfabric.entropy.probes import action, trace
from toolfabric.entropy.records import Operation, Trace
from toolfabric.entropy.state import EntropyState
from toolfabric.errors import RecordError
from toolfabric.values import Outcome


def call(args: Any) -> Any:
    return {"ref": "a.b", "args": args, "outcome": "succeeded"}


def state(*traces: Any) -> EntropyState:
    made = EntropyState()
    for one in traces:
        made.add(one)
    return made


FIRST = trace(action("a.b", "failed", "validate", x="1"), action("a.b", x=1), model="p/m", task="t")
SECOND = trace(action("a.c"), action("fabric.discovery.search"), action("fabric.workflow.phase", "aborted"))


@pytest.mark.requirement("ENT-010", "ENT-011", "ENT-012")
def test_operations_are_counted_by_sort_and_outcome() -> None:
    total = state(FIRST, SECOND).total
    assert (total.traces, total.operations, total.actions, total.discovery, total.workflow) == (2, 5, 3, 1, 1)
    assert total.outcomes == {"failed": 1, "succeeded": 3, "aborted": 1}
    assert total.rejections == 1


def test_absorbing_gives_what_counting_all_gives() -> None:
    both = state(SECOND)
    both.absorb(state(FIRST))
    assert both == state(FIRST, SECOND)
    assert state(FIRST) == state(FIRST)


def test_absorbing_leaves_the_other_state_alone() -> None:
    other = state(FIRST)
    both = state(FIRST)
    both.absorb(other)
    assert other == state(FIRST)


def test_a_state_survives_the_way_to_another_process() -> None:
    made = state(FIRST, SECOND)
    back: EntropyState = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own bytes
    assert back == made
    back.absorb(made)
    assert back == state(FIRST, SECOND, FIRST, SECOND)


def test_records_count_like_the_dictionaries_of_their_form() -> None:
    record = Trace(
        operations=(
            Operation(ref="a.b", args={"x": "1"}, outcome=Outcome.FAILED, failure_stage="validate"),
            Operation(ref="a.b", args={"x": 1}, outcome=Outcome.SUCCEEDED),
        ),
        model="p/m",
        task_key="t",
    )
    assert state(record) == state(FIRST) == state(record.to_json())


def test_churn_pairs_a_failed_call_with_the_next_call_of_its_ref_in_the_trace() -> None:
    refs = state(
        trace(action("a.b", "failed", x=1), action("a.c", y=1), action("a.b", xx=1), action("a.b", zz=1)),
        trace(action("a.b", "failed", x=1)),
        trace(action("a.b", x=1)),
        trace(action("a.c", "timed_out"), action("a.c", "aborted"), action("a.c")),
    ).refs
    assert (refs["a.b"].retries, refs["a.b"].churn) == (1, 125_000)
    assert (refs["a.c"].retries, refs["a.c"].churn) == (0, 0)


def test_a_run_of_failures_is_a_pair_each() -> None:
    refs = state(trace(action("a.b", "failed", x=1), action("a.b", "failed", x=1), action("a.b", x=1))).refs
    assert (refs["a.b"].retries, refs["a.b"].churn) == (2, 0)


def test_shapes_that_are_remembered_and_shapes_that_are_not_are_the_same() -> None:
    long = "k" * 2_000
    deep: Any = {"o": {"p": 1}}
    one = state(*(trace(call({long: 1}), call(deep), action("a.b", x=1)) for _ in range(3)))
    assert one.refs["a.b"].shapes == {f"({long}:num)": 3, "(o:{p:num})": 3, "(x:num)": 3}


def test_many_shapes_do_not_stay_in_memory_with_the_remembered_ones() -> None:
    made = state(trace(*(call({f"k{at}": 1}) for at in range(10_000))))
    assert len(made.refs["a.b"].shapes) == 10_000


BROKEN: list[Any] = [
    {},
    {"operations": {}},
    {"operations": [{"ref": "a.b", "args": {}}]},
    {"operations": [{"ref": 5, "args": {}, "outcome": "failed"}]},
    {"operations": [{"ref": "a.b", "args": [], "outcome": "failed"}]},
    {"operations": [{"ref": "a.b", "args": {}, "outcome": "maybe"}]},
    {"operations": [], "model": 5},
    5,
    None,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_no_trace_is_refused_with_the_reason(broken: Any) -> None:
    with pytest.raises(RecordError, match="not a valid trace"):
        EntropyState().add(broken)


def test_fields_that_the_measure_does_not_need_are_not_looked_at() -> None:
    full = {**action("a.b"), "type": "call", "sequence": 1, "result": {}, "provider": "a"}
    assert state({"operations": [full], "counts": {}}) == state(trace(action("a.b")))
