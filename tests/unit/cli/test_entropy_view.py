"""The entropy report as JSON and as tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.cli.corpus import Share
from toolfabric.cli.entropy_view import Findings, show_findings
from toolfabric.entropy.evidence import SessionEvidence
from toolfabric.entropy.records import Trace
from toolfabric.values import JsonObject


def share(name: str, *outcomes: tuple[str, str | None]) -> Share:
    operations: list[JsonObject] = [
        {"ref": "x.run", "args": {}, "outcome": outcome, **({"failureStage": stage} if stage else {})}
        for outcome, stage in outcomes
    ]
    trace = Trace.from_json({"operations": operations, "model": "maker/m-1"})
    return Share(
        path=Path(name), evidence=SessionEvidence(traces=(trace,), value_observations=(), audit_calls=())
    )


def test_scores_trend_and_models_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shares = [
        share("a", ("failed", "validate"), ("succeeded", None)),
        share("b", ("succeeded", None), ("failed", "invoke")),
    ]
    findings = Findings.of(shares, None)
    assert findings.report.score == 0.25
    assert findings.trend.slope_per_step == -0.5
    show_findings(findings)
    shown = capsys.readouterr().out
    assert "1 calls were rejected" in shown
    assert "Trend over 2 sessions: -0.5 per session" in shown
    assert "maker/m-1" in shown
    assert findings.to_json()["sessions"] == 2


def test_nothing_recorded_is_shown_without_tables(capsys: pytest.CaptureFixture[str]) -> None:
    show_findings(Findings.of([], None))
    shown = capsys.readouterr().out
    assert shown.startswith("0 sessions")
    assert "By model" not in shown
