"""The entropy report as JSON and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import msgspec
from msgspec import UNSET

from toolfabric.cli import output
from toolfabric.cli.corpus import Share, joined
from toolfabric.entropy.derive import derive_normal_form_plan
from toolfabric.entropy.measure import measure_entropy
from toolfabric.entropy.records import NormalFormPlan, ReviewSignal, Surface
from toolfabric.entropy.reports import EntropyReport, Trend
from toolfabric.entropy.review import review_signals
from toolfabric.entropy.trends import trend
from toolfabric.values import Json, JsonObject

__all__ = ["Findings", "show_findings"]

_WORST = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What recorded sessions show. ``witnesses`` counts operations that a normal form saved."""

    sessions: int
    report: EntropyReport
    trend: Trend
    plans: tuple[NormalFormPlan, ...]
    signals: tuple[ReviewSignal, ...]
    witnesses: int
    witnesses_succeeded: int

    @classmethod
    def of(cls, shares: Sequence[Share], surface: Surface | None) -> Self:
        """Measure the shares, oldest first; plans are those that the surface proves."""
        evidence = joined(shares)
        report = measure_entropy(evidence.traces, surface=surface)
        scores = [measure_entropy(share.evidence.traces).score for share in shares if share.evidence.traces]
        saved = [
            one for trace in evidence.traces for one in trace.operations if one.normalization is not UNSET
        ]
        actions = () if surface is None else surface.actions
        plans = (derive_normal_form_plan(action.ref, action.input_schema) for action in actions)
        return cls(
            sessions=len(shares),
            report=report,
            trend=trend(scores),
            plans=tuple(plan for plan in plans if plan is not None),
            signals=tuple(
                review_signals(
                    report, evidence.traces, surface=surface, value_observations=evidence.value_observations
                )
            ),
            witnesses=len(saved),
            witnesses_succeeded=sum(one.outcome == "succeeded" for one in saved),
        )

    def to_json(self) -> JsonObject:
        """The form that ``fabric entropy --json`` prints."""
        return {
            "sessions": self.sessions,
            "report": self.report.to_json(),
            "trend": self.trend.to_json(),
            "plans": [plan.to_json() for plan in self.plans],
            "reviewSignals": cast("list[Json]", msgspec.to_builtins(self.signals)),
            "witnesses": {"normalized": self.witnesses, "succeeded": self.witnesses_succeeded},
        }


def show_findings(findings: Findings) -> None:
    """Print the report for a person."""
    report, totals = findings.report, findings.report.totals
    output.emit_text(
        f"{findings.sessions} sessions, {totals.traces} executions, {totals.action_operations} action calls\n"
        f"Score {report.score:g}: {totals.invocation_rejections} calls were rejected before they could take "
        f"effect, {totals.invocation_rejections_per1k:g} per 1,000\n"
        f"Normal forms saved {findings.witnesses} calls; {findings.witnesses_succeeded} of them succeeded"
    )
    line = findings.trend
    if line.count > 1:
        output.emit_text(f"Trend over {line.count} sessions: {line.slope_per_step:+g} per session")
    worst = [one for one in report.refs if one.score > 0][:_WORST]
    if worst:
        output.emit_text("\nMost rejected:")
    output.emit_table(
        ("action", "score", "calls", "failed"),
        [(one.ref, f"{one.score:g}", str(one.calls), str(one.failed)) for one in worst],
    )
    if report.by_model:
        output.emit_text("\nBy model:")
    output.emit_table(
        ("model", "score", "calls", "rejected"),
        [
            (
                one.model,
                f"{one.behavioral_score:g}",
                str(one.action_operations),
                str(one.invocation_rejections),
            )
            for one in report.by_model
        ],
    )
    if findings.plans:
        output.emit_text(f"\nThe surface proves normal forms for {len(findings.plans)} actions.")
    for signal in findings.signals:
        output.emit_text(f"For review: {_signal(signal)}")


def _signal(signal: ReviewSignal) -> str:
    return msgspec.json.encode(signal).decode()
