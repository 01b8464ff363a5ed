"""Every check runs offline, tries what it says, and fails when what it tries is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec import structs as msgspec_structs

from toolfabric.entropy import (
    CertificationReport,
    CheckResult,
    CompiledSurface,
    NormalFormResult,
    apply_normal_form_plan,
    certify_entropy,
    compile_entropy_surface,
    derive_normal_form_plan,
    measure_entropy,
    merge_compiled_surfaces,
    parse_compiled_surface,
    proves_normal_form_plan,
    run_entropy_trial,
    save_compiled_surface,
    session_evidence,
)
from toolfabric.entropy.artifact import compiled_surface_path
from toolfabric.entropy.certification import Check, Subject
from toolfabric.entropy.certify import CHECKS, corpus_checks, run_check
from toolfabric.entropy.evidence import SessionEvidence
from toolfabric.entropy.probes import REF, SCHEMA, action, execution, session_lines, surface

COVERED = {
    "exact-rates": "ENT-145",
    "sample-count-invariance": "ENT-146",
    "all-rejected-nonzero": "ENT-147",
    "no-reward-for-narrowing": "ENT-027",
    "ingestion-and-models": "ENT-157",
    "static-preservation": "ENT-148",
    "identity-and-idempotence": "ENT-151",
    "ambiguity-refusal": "ENT-152",
    "forged-plans": "ENT-153",
    "schema-drift": "ENT-154",
    "deterministic-compilation": "ENT-149",
    "convergence": "ENT-150",
    "forged-artifacts": "ENT-153",
    "legacy-migration": "ENT-155",
    "store-round-trips": "ENT-156",
    "shared-normalizer-trial": "ENT-158",
}


def check(name: str) -> Check:
    return next(one for one in CHECKS if one.name == name)


def tried(name: str, folder: Path, **broken: Any) -> CheckResult:
    return run_check(check(name), folder, subject=replace(Subject(), **broken))


@pytest.mark.requirement(
    *(
        "ENT-145",
        "ENT-146",
        "ENT-147",
        "ENT-148",
        "ENT-149",
        "ENT-150",
        "ENT-151",
        "ENT-152",
        "ENT-153",
        "ENT-154",
    ),
    *("ENT-155", "ENT-156", "ENT-157", "ENT-158"),
)
def test_every_check_passes_and_says_what_it_tried(tmp_path: Path) -> None:
    report = certify_entropy(tmp_path)
    assert [one.name for one in report.checks] == list(COVERED)
    assert [one.name for one in report.checks if not one.passed] == []
    assert all(one.cases >= 4 and one.tries for one in report.checks)
    assert report.passed
    assert CertificationReport.from_json(report.to_json()) == report


@pytest.mark.requirement("ENT-003")
def test_certifying_twice_gives_the_same_report(tmp_path: Path) -> None:
    assert certify_entropy(tmp_path / "one") == certify_entropy(tmp_path / "two")


@pytest.mark.requirement("ENT-003", "ENT-004")
def test_certifying_opens_no_connection_starts_no_process_and_asks_nobody(tmp_path: Path) -> None:
    code = """
import sys, pathlib
from toolfabric.entropy import certify_entropy
WATCHED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "http.", "urllib.")
def watch(event, args):
    if event.startswith(WATCHED):
        raise RuntimeError(event)
sys.addaudithook(watch)
sys.stdin.close()
report = certify_entropy(pathlib.Path(sys.argv[1]))
sys.exit(0 if report.passed else 1)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- sabotage: one broken part for each check -----------------------------------------------------


def _shifted(report: Any) -> Any:
    return msgspec_structs.replace(report, score=report.score + 0.000001)


def _modelless(report: Any) -> Any:
    return msgspec_structs.replace(report, by_model=())


def _one_line_less(lines: Any) -> Any:
    return session_evidence(list(lines)[:-1])


def _idle(_ref: str, _schema: object, args: Any, _plan: Any) -> NormalFormResult:
    return NormalFormResult(args=args)


def _proves_yesterday(plan: Any, _schema: object) -> bool:
    return proves_normal_form_plan(plan, SCHEMA)


def _always(_plan: object, _schema: object) -> bool:
    return True


def _never(_plan: object, _schema: object) -> bool:
    return False


def _verdict(verdict: str) -> Callable[..., Any]:
    def run(*args: Any, **given: Any) -> Any:
        return msgspec_structs.replace(run_entropy_trial(*args, **given), verdict=verdict)

    return run


def _report(change: Callable[[Any], Any]) -> Callable[..., Any]:
    def measure(traces: Any, **given: Any) -> Any:
        return change(measure_entropy(traces, **given))

    return measure


def _sampled(traces: Any, **given: Any) -> Any:
    kept = list(traces)
    report = measure_entropy(kept, **given)
    return report if len(kept) < 3 else msgspec_structs.replace(report, score=0.0)


def _static(traces: Any, *, surface: Any = None, **given: Any) -> Any:
    report = measure_entropy(traces, surface=surface, **given)
    return msgspec_structs.replace(report, score=report.score + report.static_freedom / 1_000)


def _zero(report: Any) -> Any:
    return msgspec_structs.replace(report, score=0.0, behavioral_score=0.0)


def _unstamped(lines: Any) -> Any:
    found = session_evidence(lines)
    return msgspec_structs.replace(
        found, traces=tuple(msgspec_structs.replace(one, model=UNSET) for one in found.traces)
    )


def _copies(ref: str, schema: object, args: Any, plan: Any) -> NormalFormResult:
    found = apply_normal_form_plan(ref, schema, args, plan)
    return NormalFormResult(args=dict(found.args), witness=found.witness)


def _guesses(ref: str, schema: object, args: Any, plan: Any) -> NormalFormResult:
    found = apply_normal_form_plan(ref, schema, args, plan)
    if found.witness is None and "mode" in args:
        return NormalFormResult(args={**args, "mode": "fast"})
    return found


def _trusts_digests(ref: str, schema: object, args: Any, plan: Any) -> NormalFormResult:
    derived = derive_normal_form_plan(ref, schema)
    digest = plan["baseSchemaDigest"] if plan is not None else ""
    trusted = derived if derived is not None and digest == derived.base_schema_digest else plan
    return apply_normal_form_plan(ref, schema, args, trusted)


def _trusts_refs(plan: Any, schema: Any) -> bool:
    derived = derive_normal_form_plan(plan["ref"], schema)
    return derived is not None and derived.rules[0].kind == plan["rules"][0]["kind"]


def _ignores_drift(ref: str, _schema: object, args: Any, plan: Any) -> NormalFormResult:
    return apply_normal_form_plan(ref, SCHEMA, args, plan)


def _hides(traces: Any, live: Any, **given: Any) -> Any:
    outcome: Any = compile_entropy_surface(traces, live, **given)
    hidden = {"ref": "probe.unused", "baseSchemaDigest": "x"}
    artifact = CompiledSurface.from_json({**outcome.artifact.to_json(), "quarantined": [hidden]})
    return msgspec_structs.replace(outcome, artifact=artifact)


def _counts_runs() -> Callable[..., Any]:
    runs = 0

    def compile_(traces: Any, live: Any, **given: Any) -> Any:
        nonlocal runs
        runs += 1
        outcome = compile_entropy_surface(traces, live, **given)
        if not outcome.artifact:
            return outcome
        dated = msgspec_structs.replace(outcome.artifact, evidence_digest=f"run {runs}")
        return msgspec_structs.replace(outcome, artifact=dated)

    return compile_


def _never_converges(traces: Any, live: Any, **given: Any) -> Any:
    given.pop("artifact", None)
    return compile_entropy_surface(traces, live, **given)


def _keeps_all(local: Any, incoming: Any, live: Any) -> Any:
    merged = merge_compiled_surfaces(local, incoming, live)
    return msgspec_structs.replace(merged, dropped_normalizations=0)


def _obeys_legacy(local: Any, incoming: Any, live: Any) -> Any:
    merged = merge_compiled_surfaces(local, incoming, live)
    return msgspec_structs.replace(merged, dropped_overlays=0)


def _refuses_legacy(value: Any) -> Any:
    found = parse_compiled_surface(value)
    return None if found is None or found.version == 1 else found


def _overwrites(folder: Path, artifact: Any) -> bool:
    compiled_surface_path(folder).unlink(missing_ok=True)
    return save_compiled_surface(folder, artifact)


def _silent(folder: Path) -> Any:
    path = compiled_surface_path(folder)
    return (
        parse_compiled_surface(json.loads(path.read_bytes()))
        if path.exists() and path.stat().st_size > 500
        else None
    )


def _own_trial(traces: Any, live: Any, *, normalizer: Any = None, **given: Any) -> Any:
    del normalizer
    return run_entropy_trial(traces, live, **given)


SABOTAGE: list[tuple[str, dict[str, Any]]] = [
    (
        "exact-rates",
        {"measure": _report(_shifted)},
    ),
    ("exact-rates", {"measure": _report(_modelless)}),
    ("sample-count-invariance", {"measure": _sampled}),
    ("all-rejected-nonzero", {"measure": _report(_zero)}),
    ("no-reward-for-narrowing", {"measure": _static}),
    ("ingestion-and-models", {"evidence": _unstamped}),
    ("ingestion-and-models", {"evidence": _one_line_less}),
    ("static-preservation", {"compile": _hides}),
    ("static-preservation", {"apply": _copies}),
    ("identity-and-idempotence", {"apply": _copies}),
    ("identity-and-idempotence", {"apply": _idle}),
    ("ambiguity-refusal", {"apply": _guesses}),
    ("forged-plans", {"proves": _trusts_refs}),
    ("forged-plans", {"apply": _trusts_digests}),
    ("schema-drift", {"apply": _ignores_drift}),
    ("schema-drift", {"proves": _proves_yesterday}),
    ("deterministic-compilation", {"compile": _counts_runs()}),
    ("convergence", {"compile": _never_converges}),
    ("forged-artifacts", {"merge": _keeps_all}),
    (
        "forged-artifacts",
        {"trial": _verdict("clean")},
    ),
    ("legacy-migration", {"merge": _obeys_legacy}),
    ("legacy-migration", {"parse": _refuses_legacy}),
    (
        "legacy-migration",
        {
            "compile": _never_converges,
            "trial": _verdict("clean"),
        },
    ),
    ("store-round-trips", {"save": _overwrites}),
    ("store-round-trips", {"load": _silent}),
    ("shared-normalizer-trial", {"trial": _own_trial}),
    ("shared-normalizer-trial", {"apply": _copies}),
]


@pytest.mark.parametrize(("name", "broken"), SABOTAGE)
def test_a_check_fails_when_what_it_tries_is_broken(
    tmp_path: Path, name: str, broken: dict[str, Any]
) -> None:
    assert tried(name, tmp_path / "sound").passed
    result = tried(name, tmp_path / "broken", **broken)
    assert not result.passed
    assert result.failures


def test_every_check_is_sabotaged() -> None:
    assert {name for name, _broken in SABOTAGE} == {one.name for one in CHECKS} == set(COVERED)


@pytest.mark.parametrize("name", list(COVERED))
def test_a_check_whose_subject_raises_fails_and_says_so(tmp_path: Path, name: str) -> None:
    def raising(*_args: Any, **_kwargs: Any) -> Any:
        raise OSError("the subject broke")

    everything = dict.fromkeys(Subject.__slots__, raising)
    result = tried(name, tmp_path, **everything)
    assert not result.passed
    assert result.failures == ("stopped by OSError: the subject broke",)


def test_a_check_that_tried_nothing_has_not_passed(tmp_path: Path) -> None:
    result = run_check(
        Check(name="idle", tries="nothing", cases=lambda _subject, _folder: []), tmp_path, subject=Subject()
    )
    assert not result.passed
    assert result.failures == ("nothing was tried",)


def test_failures_are_shown_in_bounded_number(tmp_path: Path) -> None:
    many = Check(
        name="many", tries="much", cases=lambda _subject, _folder: [(str(at), False) for at in range(500)]
    )
    result = run_check(many, tmp_path, subject=Subject())
    assert (result.cases, len(result.failures)) == (500, 20)


# --- recorded sessions and a live surface ---------------------------------------------------------

LIVE: Any = surface(search=SCHEMA)
AUDITS: list[Any] = [
    {"ref": REF, "args": {"query": "x", "maxResults": "3"}},
    {"ref": REF, "args": {"query": "x"}},
]


def recorded() -> SessionEvidence:
    traced = execution([action(REF, "failed", "validate"), action(REF)])
    return session_evidence(session_lines(("maker/a", {"trace": traced, "audits": AUDITS})))


@pytest.mark.requirement("ENT-119")
def test_a_surface_needs_sessions_and_a_trial_needs_both(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="recorded sessions only"):
        certify_entropy(tmp_path, surface=LIVE)
    with pytest.raises(ValueError, match="a trial needs"):
        certify_entropy(tmp_path, evidence=recorded(), trial=True)
    with pytest.raises(ValueError, match="a trial needs"):
        certify_entropy(tmp_path, trial=True)


def test_recorded_sessions_and_a_surface_add_checks_and_a_trial(tmp_path: Path) -> None:
    artifact = compile_entropy_surface([], LIVE).artifact
    report = certify_entropy(
        tmp_path, evidence=recorded(), surface=LIVE, artifact=artifact or None, trial=True
    )
    assert report.passed
    assert [one.name for one in report.checks[len(CHECKS) :]] == ["recorded-sessions", "live-surface"]
    assert report.trial
    assert (report.trial.verdict, report.trial.totals.normalization_win) == ("clean", 1)


@pytest.mark.requirement("ENT-159")
def test_passing_says_nothing_of_the_success_of_what_was_recorded(tmp_path: Path) -> None:
    traced = execution([action(REF, "failed", "validate"), action(REF, "failed", "invoke")])
    failed = session_evidence(session_lines(("maker/a", {"trace": traced, "audits": AUDITS})))
    report = certify_entropy(tmp_path, evidence=failed, surface=LIVE, trial=True)
    assert report.passed
    assert report.trial
    assert report.trial.declared_score == 0.5


def test_a_costly_trial_fails_the_certification(tmp_path: Path) -> None:
    report = certify_entropy(
        tmp_path, evidence=recorded(), surface=LIVE, trial=True, subject=Subject(trial=_verdict("costly"))
    )
    assert not report.passed


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("recorded-sessions", {"measure": _sampled}),
        ("recorded-sessions", {"measure": _report(_zero)}),
        ("live-surface", {"apply": _copies}),
        ("live-surface", {"compile": _never_converges}),
        ("live-surface", {"proves": _always}),
        ("live-surface", {"proves": _never}),
    ],
)
def test_a_check_of_recorded_sessions_can_fail_too(tmp_path: Path, name: str, broken: dict[str, Any]) -> None:
    evidence = recorded()
    doubled = msgspec_structs.replace(evidence, traces=evidence.traces * 2)
    found = next(one for one in corpus_checks(doubled, LIVE) if one.name == name)
    assert run_check(found, tmp_path / "sound", subject=Subject()).passed
    assert not run_check(found, tmp_path / "broken", subject=replace(Subject(), **broken)).passed


def test_a_refused_artifact_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a compiled surface"):
        certify_entropy(tmp_path, evidence=recorded(), surface=LIVE, artifact={}, trial=True)
