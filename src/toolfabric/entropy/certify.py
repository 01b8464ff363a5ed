"""Certify the entropy system: every check of the seed's last section, each by name with its cases.

Finite probes beside a bounded rule construction: they show that the implementation keeps its laws on
what is tried here. They do not prove that a future task succeeds, that anybody is understood, or what the
author of a schema meant by an optional or nullable field. No model is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET

from toolfabric.durable.atomic import make_folders
from toolfabric.durable.fileops import RealFiles
from toolfabric.entropy.artifact import artifact_bytes
from toolfabric.entropy.artifact_checks import ARTIFACT_CHECKS
from toolfabric.entropy.certification import Case, CertificationReport, Check, CheckResult, Subject
from toolfabric.entropy.corpus import read_schemas
from toolfabric.entropy.evidence import SessionEvidence
from toolfabric.entropy.form_checks import FORM_CHECKS, forgeries
from toolfabric.entropy.measure import accumulate, finish, merge
from toolfabric.entropy.measure_checks import MEASURE_CHECKS
from toolfabric.entropy.proof import prove
from toolfabric.entropy.records import CompiledSurface, Surface
from toolfabric.entropy.reports import TrialReport

__all__ = ["CHECKS", "certify_entropy", "corpus_checks", "run_check"]

CHECKS: Final = (*MEASURE_CHECKS, *FORM_CHECKS, *ARTIFACT_CHECKS)
"""Every check that needs nothing from outside."""

_MOST_FAILURES: Final = 20


def certify_entropy(
    folder: Path,
    *,
    evidence: SessionEvidence | None = None,
    surface: Surface | Mapping[str, Any] | None = None,
    artifact: CompiledSurface | Mapping[str, Any] | None = None,
    trial: bool = False,
    subject: Subject | None = None,
) -> CertificationReport:
    """Run every check.

    Args:
        folder: An empty folder that the checks of the store may write to.
        evidence: Recorded sessions, to be tried as well.
        surface: The live surface; it needs ``evidence``.
        artifact: The artifact of the trial.
        trial: Whether to run the representation trial; it needs ``evidence`` and ``surface``.
        subject: What is certified, by default this package.

    Raises:
        ValueError: Something is given without what it needs, or the artifact is refused.
        RecordError: The surface or the evidence does not have its declared form.
    """
    if surface is not None and evidence is None:
        raise ValueError("a surface can be certified with recorded sessions only; give both")
    if trial and (evidence is None or surface is None):
        raise ValueError("a trial needs recorded sessions and a surface; give both")
    tried = subject or Subject()
    checks = [*CHECKS, *corpus_checks(evidence, surface)]
    results = tuple(run_check(check, folder / check.name, subject=tried) for check in checks)
    report: TrialReport | None = None
    if trial and evidence is not None and surface is not None:
        report = tried.trial(evidence.traces, surface, artifact=artifact, audit_calls=evidence.audit_calls)
    return CertificationReport(
        passed=all(result.passed for result in results) and (report is None or report.verdict != "costly"),
        checks=results,
        trial=UNSET if report is None else report,
    )


def run_check(check: Check, folder: Path, *, subject: Subject) -> CheckResult:
    """Run one check to its end or to its first exception; a check that tried nothing has not passed."""
    make_folders(folder, files=RealFiles())
    count = 0
    failures: list[str] = []
    try:
        for name, held in check.cases(subject, folder):
            count += 1
            if not held:
                failures.append(name)
    except Exception as error:  # noqa: BLE001 - the edge: whatever the subject raises is its failure
        count += 1
        failures.append(f"stopped by {type(error).__name__}: {error}")
    if not count:
        failures.append("nothing was tried")
    return CheckResult(
        name=check.name,
        tries=check.tries,
        cases=count,
        passed=not failures,
        failures=tuple(failures[:_MOST_FAILURES]),
    )


def corpus_checks(
    evidence: SessionEvidence | None, surface: Surface | Mapping[str, Any] | None
) -> tuple[Check, ...]:
    """The checks of recorded sessions, and of a live surface, if there are any."""
    if evidence is None:
        return ()
    checks = [_corpus_check(evidence)]
    if surface is not None:
        checks.append(_surface_check(evidence, surface))
    return tuple(checks)


def _corpus_check(evidence: SessionEvidence) -> Check:
    def cases(subject: Subject, _folder: Path) -> Iterator[Case]:
        traces = evidence.traces
        whole = subject.measure(traces)
        yield "twice", subject.measure([*traces, *traces]).score == whole.score
        yield "turned round", subject.measure(traces[::-1]) == whole
        for parts in (2, 3, 7):
            states = [accumulate(traces[at::parts]) for at in range(parts)]
            total = states[-1]
            for state in states[:-1]:
                total = merge(total, state)
            yield f"in {parts} parts", finish(total) == whole

    return Check(name="recorded-sessions", tries="the recorded traces, repeated and split", cases=cases)


def _surface_check(evidence: SessionEvidence, surface: Surface | Mapping[str, Any]) -> Check:
    def cases(subject: Subject, _folder: Path) -> Iterator[Case]:
        outcome = subject.compile(evidence.traces, surface)
        again = subject.compile(evidence.traces, surface, artifact=outcome.artifact or None)
        yield "compiling converges", again.status == "converged"
        second = subject.compile(evidence.traces, surface).artifact
        yield (
            "compiling gives the same bytes",
            (not second and not outcome.artifact)
            or (artifact_bytes(second) == artifact_bytes(outcome.artifact)),
        )
        schemas = read_schemas(surface)
        plans = {plan.ref: plan for plan in outcome.artifact.plans} if outcome.artifact else {}
        for ref, plan in plans.items():
            yield f"the plan of {ref} holds", subject.proves(plan, schemas[ref])
            yield (
                f"forgeries of the plan of {ref} do not",
                not any(
                    subject.proves(forged, schemas[ref])
                    for _name, forged in forgeries(plan.to_json())
                    if forged["ref"] == ref
                ),
            )
        for call in (*evidence.audit_calls, *(one for trace in evidence.traces for one in trace.operations)):
            if call.ref in plans:
                yield (
                    f"a call of {call.ref} keeps the laws",
                    _keeps_laws(subject, call.ref, schemas[call.ref], call.args, plans[call.ref]),
                )

    return Check(
        name="live-surface", tries="derived plans, and the recorded calls of their actions", cases=cases
    )


def _keeps_laws(subject: Subject, ref: str, schema: object, args: Any, plan: object) -> bool:
    accepts = prove(schema).accepts
    result = subject.apply(ref, schema, args, plan)
    if result.args is args:
        return result.witness is None
    again = subject.apply(ref, schema, result.args, plan)
    return (
        not accepts(args)
        and accepts(result.args)
        and result.witness is not None
        and again.args is result.args
        and again.witness is None
    )
