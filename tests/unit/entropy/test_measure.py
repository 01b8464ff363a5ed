"""The metric's sentences, one by one, through its public functions."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from toolfabric.entropy import (
    EntropyReport,
    RepairRow,
    Surface,
    canonical_digest,
    derive_normal_form_plan,
    measure_entropy,
    measure_entropy_async,
)
from toolfabric.entropy.measure import accumulate, finish, merge
from toolfabric.entropy.probes import SCHEMA, action, surface, trace
from toolfabric.errors import RecordError


@pytest.mark.requirement("ENT-009")
def test_the_score_is_the_behavioral_score_is_the_share_of_rejections() -> None:
    report = measure_entropy([trace(action("a.b", "failed", "validate"), action("a.b"), action("a.c"))])
    assert report.score == report.behavioral_score == 0.333333


@pytest.mark.requirement("ENT-010")
@pytest.mark.parametrize(
    ("outcome", "stage", "score"),
    [
        *(("failed", stage, 1) for stage in ("resolve", "prepare", "validate")),
        *(("failed", stage, 0) for stage in ("guard", "approve", "invoke", "unknown", "Validate", "", None)),
        *((outcome, "validate", 0) for outcome in ("succeeded", "aborted", "timed_out")),
    ],
)
def test_only_a_failure_at_an_invocation_stage_is_a_rejection(
    outcome: str, stage: str | None, score: float
) -> None:
    assert measure_entropy([trace(action("a.b", outcome, stage))]).score == score


@pytest.mark.requirement("ENT-011", "ENT-012")
def test_discovery_and_workflow_are_outside_and_every_other_end_is_inside_the_denominator() -> None:
    rejected = action("a.b", "failed", "validate")
    others = [action("a.b", end, "invoke") for end in ("failed", "succeeded", "aborted", "timed_out")]
    own = [
        action(ref, "failed", "validate")
        for ref in ("fabric.discovery.search", "fabric.workflow.phase", "fabric.discovery.")
    ]
    report = measure_entropy([trace(rejected, *others, *own)])
    assert report.score == 0.2
    assert report.totals.action_operations == 5
    assert report.totals.invocation_rejections == 1


@pytest.mark.parametrize(
    "ref", ["fabric.discoveryx", "fabric.discovery", "fabric.other.thing", "xfabric.discovery.y"]
)
def test_only_the_exact_prefixes_are_outside(ref: str) -> None:
    assert measure_entropy([trace(action(ref))]).totals.action_operations == 1


@pytest.mark.requirement("ENT-013", "ENT-014", "ENT-015", "ENT-016")
def test_no_actions_score_zero_all_rejected_one_and_all_effects_failed_zero() -> None:
    assert measure_entropy([]).score == 0
    assert (
        measure_entropy([trace(), trace(action("fabric.discovery.search", "failed", "resolve"))]).score == 0
    )
    assert measure_entropy([trace(*[action("a.b", "failed", "prepare")] * 7)]).score == 1
    assert measure_entropy([trace(*[action("a.b", "failed", "invoke")] * 7)]).score == 0


@pytest.mark.requirement("ENT-018")
@pytest.mark.parametrize("times", [2, 3, 64, 65])
def test_repeating_a_corpus_does_not_change_its_rates(times: int) -> None:
    corpus = [trace(action("a.b", "failed", "validate"), action("a.b"), action("a.c"), model="p/m")]
    once, many = measure_entropy(corpus), measure_entropy(corpus * times)
    assert many.score == once.score
    assert [one.score for one in many.refs] == [one.score for one in once.refs]
    assert [one.behavioral_score for one in many.by_model] == [one.behavioral_score for one in once.by_model]
    assert many.totals.invocation_rejections_per1k == once.totals.invocation_rejections_per1k


@pytest.mark.requirement("ENT-020", "ENT-021")
def test_unstamped_traces_count_as_a_whole_and_for_no_model() -> None:
    bad, good = action("a.b", "failed", "validate"), action("a.b")
    report = measure_entropy(
        [trace(bad, model="p/m"), trace(good, model="p/m"), trace(bad), trace(bad, model="")]
    )
    assert report.score == 0.75
    assert [(one.model, one.behavioral_score) for one in report.by_model] == [("p/m", 0.5)]


@pytest.mark.requirement("ENT-023", "ENT-025", "ENT-026")
def test_diagnostics_do_not_enter_the_score() -> None:
    plain = [trace(action("a.b"), action("a.b"), action("a.b", "failed", "validate"))]
    diverse = [
        trace(action("fabric.discovery.search"), action("a.b", x=1), action("a.b", y="2"), task="t"),
        trace(action("a.b", "failed", "validate", z=[]), task="u"),
    ]
    one = measure_entropy(plain)
    other = measure_entropy(
        diverse,
        surface={"version": 1, "actions": [{"ref": "a.b", "inputSchema": {"type": "object"}}]},
        repairs=[{"kind": "keyAlias", "ref": "a.b", "from": "x", "to": "y"}],
    )
    assert other.score == one.score
    assert other.static_score == 0.25
    assert (other.navigation_ratio, other.lexicon_rows) == (0.333333, 1)
    assert other.shape_entropy_bits > one.shape_entropy_bits


@pytest.mark.requirement("ENT-024")
def test_the_static_score_is_a_quarter_of_the_mean_freedom_weighted_by_calls() -> None:
    declared = surface(one={"type": "string"}, two={"type": "boolean"})
    report = measure_entropy(
        [trace(action("probe.one"), action("probe.two"), action("probe.two"))], surface=declared
    )
    assert report.static_score == 0.1
    assert measure_entropy([trace()], surface=declared).static_score == 0


@pytest.mark.requirement("ENT-027")
def test_removing_an_enum_member_cannot_improve_the_score() -> None:
    corpus = [trace(action("probe.one", "failed", "validate", mode="c"), action("probe.one", mode="a"))]

    def modes(*members: str) -> Any:
        return surface(one={"type": "object", "properties": {"mode": {"enum": list(members)}}})

    whole = measure_entropy(corpus, surface=modes("a", "b", "c"))
    fewer = measure_entropy(corpus, surface=modes("a"))
    assert fewer.score == whole.score == 0.5
    assert fewer.static_freedom < whole.static_freedom


@pytest.mark.requirement("ENT-028")
def test_a_report_says_which_metric_it_is_of_and_no_other_version_is_read() -> None:
    report = measure_entropy([])
    assert report.metric_version == 3
    with pytest.raises(RecordError):
        EntropyReport.from_json({**report.to_json(), "metricVersion": 2})


@pytest.mark.requirement("ENT-042", "ENT-043")
def test_repair_rows_are_counted_and_authorize_nothing() -> None:
    rows: list[RepairRow | dict[str, Any]] = [
        {"kind": "keyAlias", "ref": "probe.search", "from": "q", "to": "query"},
        RepairRow(kind="actionAlias", ref="probe.search", from_="probe.find", to="probe.search"),
        {"kind": "keyAlias", "ref": "probe.never", "from": "a", "to": "b"},
    ]
    declared = surface(search=SCHEMA)
    before = canonical_digest(declared)
    report = measure_entropy([trace(action("probe.search"))], surface=declared, repairs=rows)
    assert report.lexicon_rows == 3
    assert [one.lexicon_rows for one in report.refs] == [2]
    assert canonical_digest(declared) == before
    plan = derive_normal_form_plan("probe.search", SCHEMA)
    assert plan is not None
    assert "q" not in {rule.key for rule in plan.rules}


def test_the_catalog_digest_is_passed_on() -> None:
    assert measure_entropy([], catalog_digest="a digest").catalog_digest == "a digest"


def test_records_are_taken_wherever_dictionaries_are() -> None:
    declared = surface(one={"type": "string"})
    corpus = [trace(action("probe.one"))]
    assert measure_entropy(corpus, surface=Surface.from_json(declared)) == measure_entropy(
        corpus, surface=declared
    )


@pytest.mark.parametrize(
    "given",
    [
        {"surface": {"version": 2, "actions": []}},
        {"surface": {"version": 1}},
        {"surface": {"version": 1, "actions": [{"ref": "a.b"}]}},
        {"repairs": [{"kind": "other", "ref": "a.b", "from": "x", "to": "y"}]},
        {"repairs": [{"kind": "keyAlias", "ref": "a.b", "from": "x"}]},
        {"repairs": ["row"]},
    ],
)
def test_a_surface_or_a_row_of_another_form_is_refused(given: Any) -> None:
    with pytest.raises(RecordError):
        measure_entropy([], **given)


def test_a_state_can_be_finished_and_then_go_on() -> None:
    state = accumulate([trace(action("a.b"))])
    first = finish(state)
    assert finish(state) == first
    state.add(trace(action("a.b", "failed", "validate")))
    assert finish(state).score == 0.5


def test_merging_changes_neither_part() -> None:
    one, other = accumulate([trace(action("a.b"))]), accumulate([trace(action("a.c", "failed", "validate"))])
    both = merge(one, other)
    assert finish(both).score == 0.5
    assert finish(one).score == 0
    assert finish(other).score == 1


@pytest.mark.anyio
async def test_the_cooperative_form_lets_others_run_after_every_64_traces() -> None:
    corpus = [trace(action("a.b", "failed", "validate"), action("a.c")) for _ in range(640)]
    turns = 0
    done = False
    report: EntropyReport | None = None

    async def count() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        report = await measure_entropy_async(iter(corpus))
        done = True
    assert report == measure_entropy(corpus)
    assert turns >= 10


@pytest.mark.anyio
async def test_the_cooperative_form_can_be_cancelled() -> None:
    def endless() -> Any:
        while True:
            yield trace(action("a.b"))

    with anyio.CancelScope() as scope:
        scope.cancel()
        await measure_entropy_async(endless())
    assert scope.cancelled_caught
