"""Replaying recorded arguments: what is a sample, what is counted, and which verdict follows."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from toolfabric.entropy import (
    CompiledSurface,
    NormalFormResult,
    TrialReport,
    apply_normal_form_plan,
    compile_entropy_surface,
    measure_entropy,
    run_entropy_trial,
)
from toolfabric.entropy.probes import (
    AMBIGUOUS,
    CANONICAL,
    OPEN_SCHEMA,
    REF,
    SCHEMA,
    SPELLED,
    action,
    legacy_artifact,
    surface,
    trace,
)
from toolfabric.errors import RecordError

LIVE: Any = surface(search=SCHEMA, open=OPEN_SCHEMA)


def compiled(live: Any = LIVE) -> CompiledSurface:
    artifact = compile_entropy_surface([], live).artifact
    assert isinstance(artifact, CompiledSurface)
    return artifact


def call(args: Any, ref: str = REF, **more: Any) -> Any:
    return {"ref": ref, "args": args, "outcome": "failed", "failureStage": "validate", **more}


def audits(*calls: Any, ref: str = REF) -> list[Any]:
    return [{"ref": ref, "args": args} for args in calls]


def trial(traces: list[Any], *, live: Any = LIVE, **given: Any) -> TrialReport:
    artifact: Any = given.pop("artifact", compiled())
    return run_entropy_trial(traces, live, artifact=artifact, **given)


@pytest.mark.requirement("ENT-126", "ENT-132", "ENT-133", "ENT-134", "ENT-136", "ENT-137", "ENT-140")
def test_a_trial_has_exactly_this_report() -> None:
    calls = [*CANONICAL, *(given for given, _wanted in SPELLED), *AMBIGUOUS]
    traces = [trace(call({"limit": "5"}, "probe.open"), action("probe.open"))]
    report = trial(traces, audit_calls=audits(*calls))
    assert report.to_json() == {
        "verdict": "clean",
        "declaredScore": 0.5,
        "effectiveScore": 0.5,
        "delta": 0.0,
        "totals": {
            "operations": len(calls) + 2,
            "bothAccept": len(CANONICAL) + 1,
            "bothReject": len(AMBIGUOUS) + 1,
            "normalizationWin": len(SPELLED),
            "canonicalIdentityChecks": len(CANONICAL) + 1,
            "canonicalIdentityCost": 0,
            "idempotenceCost": 0,
            "tighteningCost": 0,
            "typedFailureWin": 0,
            "quarantineWin": 0,
            "quarantineCost": 0,
        },
        "divergences": [{"ref": REF, "trialClass": "normalization-win", "count": len(SPELLED)}],
    }
    assert TrialReport.from_json(report.to_json()) == report


@pytest.mark.requirement("ENT-067", "ENT-126")
def test_the_trials_normalizer_is_the_boundarys_function() -> None:
    parameters = inspect.signature(run_entropy_trial).parameters
    assert parameters["normalizer"].default is apply_normal_form_plan


@pytest.mark.requirement("ENT-035", "ENT-128", "ENT-129", "ENT-131")
def test_audits_replace_the_projected_arguments_of_their_ref_alone() -> None:
    traces = [
        trace(call({}), call({}), call({}, outcome="aborted"), model="p/m"),
        trace(call({"limit": "5"}, "probe.open"), call({}, "probe.open")),
    ]
    projected = trial(traces)
    assert (projected.totals.operations, projected.totals.both_reject, projected.totals.both_accept) == (
        5,
        4,
        1,
    )
    verbatim = trial(traces, audit_calls=audits({"query": "x"}))
    assert (verbatim.totals.operations, verbatim.totals.both_reject, verbatim.totals.both_accept) == (3, 1, 2)
    assert verbatim.declared_score == projected.declared_score == measure_entropy(traces).score == 0.8


@pytest.mark.requirement("ENT-130")
def test_unknown_refs_and_fabrics_own_operations_are_no_samples() -> None:
    own: Any = {"type": "object"}
    live = {
        "version": 1,
        "actions": [
            *LIVE["actions"],
            {"ref": "fabric.discovery.search", "inputSchema": own},
            {"ref": "fabric.workflow.phase", "inputSchema": own},
        ],
    }
    refs = ("probe.unknown", "fabric.discovery.search", "fabric.workflow.phase")
    traces = [trace(*(call({}, ref) for ref in refs))]
    calls = [audit for ref in refs for audit in audits({}, ref=ref)]
    report = trial(traces, live=live, audit_calls=calls)
    assert report.totals.operations == 0
    assert report.verdict == "no-evidence"


def test_an_action_with_a_null_schema_is_known_and_takes_anything() -> None:
    report = trial([], live=surface(free=None), audit_calls=audits({"x": 1}, "text", ref="probe.free"))
    assert (report.totals.operations, report.totals.both_accept) == (2, 2)
    assert report.verdict == "no-evidence"


def test_a_schema_that_does_not_compile_takes_nothing() -> None:
    live = surface(broken={"type": "nonsense"})
    assert trial([], live=live, audit_calls=audits({}, ref="probe.broken")).totals.both_reject == 1


@pytest.mark.requirement("ENT-127", "ENT-142")
def test_only_proven_plans_of_version_2_are_exercised() -> None:
    calls = audits({"query": "x", "maxResults": 3})
    assert trial([], audit_calls=calls).verdict == "clean"
    drifted = surface(search={**SCHEMA, "title": "newer"})
    forged = compiled().to_json()
    plans: Any = forged["normalizations"]
    forged["normalizations"] = [{**plans[0], "rules": plans[0]["rules"][:-1]}]
    for report in (
        trial([], audit_calls=calls, artifact=None),
        trial([], audit_calls=calls, artifact=legacy_artifact()),
        trial([], audit_calls=calls, artifact=forged),
        trial([], audit_calls=calls, live=drifted),
        trial([]),
        trial([], audit_calls=audits({"limit": 1}, ref="probe.open")),
    ):
        assert report.verdict == "no-evidence"
        assert report.totals.normalization_win == 0


@pytest.mark.requirement("ENT-141")
def test_clean_needs_no_win() -> None:
    for args in ({"query": "x"}, {"unknown": 1}):
        report = trial([], audit_calls=audits(args))
        assert report.verdict == "clean"
        assert report.divergences == ()


@pytest.mark.requirement("ENT-007", "ENT-135")
def test_a_win_does_not_make_a_recorded_failure_a_success() -> None:
    traces = [trace(call({"query": "x", "maxResults": 3}))]
    report = trial(traces)
    assert report.totals.normalization_win == 1
    assert (report.declared_score, report.effective_score, report.delta) == (1, 1, 0)
    same = trial([trace({**call({"query": "x", "maxResults": 3}), "failureStage": "invoke"})])
    assert same.totals.normalization_win == 1
    assert same.declared_score == 0


@pytest.mark.requirement("ENT-138")
def test_a_version_1_artifact_wins_nothing_by_restricting() -> None:
    calls = audits({"query": "other than listed"}, {"unknown": 1})
    totals = trial([], audit_calls=calls, artifact=legacy_artifact()).totals
    assert (totals.both_accept, totals.both_reject) == (1, 1)
    assert (
        totals.typed_failure_win,
        totals.quarantine_win,
        totals.quarantine_cost,
        totals.tightening_cost,
    ) == (0, 0, 0, 0)


def copying(_ref: str, _schema: object, args: Any, _plan: object) -> NormalFormResult:
    return NormalFormResult(args=dict(args))


def narrowing(_ref: str, _schema: object, _args: Any, _plan: object) -> NormalFormResult:
    return NormalFormResult(args={"never": "valid"})


def growing(ref: str, schema: object, args: Any, plan: Any) -> NormalFormResult:
    found = apply_normal_form_plan(ref, schema, args, plan)
    given = apply_normal_form_plan(ref, schema, {"Query": "x"}, plan)
    return (
        found if found.witness is None and "maxResults" not in args and "max_results" not in args else given
    )


@pytest.mark.requirement("ENT-136", "ENT-139", "ENT-143")
@pytest.mark.parametrize(
    ("normalizer", "args", "classes"),
    [
        (copying, {"query": "x"}, ["canonical-identity-cost", "idempotence-cost"]),
        (narrowing, {"query": "x"}, ["canonical-identity-cost", "idempotence-cost", "tightening-cost"]),
        (growing, {"query": "x", "max_results": 3}, ["canonical-identity-cost"]),
    ],
)
def test_a_broken_law_is_costly(normalizer: Any, args: Any, classes: list[str]) -> None:
    report = trial([], audit_calls=audits(args, args), normalizer=normalizer)
    assert report.verdict == "costly"
    assert [(one.ref, one.trial_class, one.count) for one in report.divergences] == [
        (REF, name, 2) for name in classes
    ]
    assert report.totals.canonical_identity_cost == 2
    assert report.totals.tightening_cost == (2 if "tightening-cost" in classes else 0)
    assert report.totals.idempotence_cost == (2 if "idempotence-cost" in classes else 0)
    assert report.totals.canonical_identity_checks == 2


def test_a_change_without_a_witness_earns_no_credit() -> None:
    def silent(_ref: str, _schema: object, args: Any, _plan: object) -> NormalFormResult:
        return NormalFormResult(args=args if args == {"query": "x"} else {"query": "x"})

    report = trial([], audit_calls=audits({"unknown": 1}), normalizer=silent)
    assert (report.totals.normalization_win, report.totals.both_reject) == (0, 1)


@pytest.mark.requirement("ENT-144")
def test_divergences_are_counted_and_sorted_by_ref_then_class() -> None:
    refs = ["probe.b\uffee", "probe.b\U0001f600", "probe.a", REF]
    live = {"version": 1, "actions": [{"ref": ref, "inputSchema": SCHEMA} for ref in refs]}
    calls = [one for ref in refs for one in audits({"query": "x", "maxResults": 3}, {"query": "x"}, ref=ref)]
    report = trial([], live=live, artifact=compiled(live), audit_calls=calls, normalizer=copying)
    assert [one.ref for one in report.divergences[::2]] == [
        "probe.a",
        "probe.b\U0001f600",
        "probe.b\uffee",
        REF,
    ]
    again = trial([], live=live, artifact=compiled(live), audit_calls=calls[::-1], normalizer=copying)
    assert again == report


@pytest.mark.parametrize("artifact", [{}, [], {"version": 2}])
def test_an_artifact_that_the_reader_refuses_is_an_error(artifact: Any) -> None:
    with pytest.raises(ValueError, match="not a compiled surface"):
        trial([], artifact=artifact)


def test_an_audit_of_another_form_is_an_error() -> None:
    with pytest.raises(RecordError):
        trial([], audit_calls=[{"ref": REF}])
