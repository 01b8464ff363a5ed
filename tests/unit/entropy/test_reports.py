"""Reports have exact JSON forms."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric._base.camel import Record
from toolfabric.entropy import (
    EntropyReport,
    MergedSurface,
    TrialReport,
    compile_entropy_surface,
    measure_entropy,
    merge_compiled_surfaces,
    run_entropy_trial,
)
from toolfabric.entropy.probes import REF, SCHEMA, action, legacy_artifact, surface, trace
from toolfabric.entropy.reports import CompileOutcome
from toolfabric.errors import RecordError

CORPUS: list[Any] = [trace(action(REF, "failed", "validate", x=1), action(REF), model="p/m")]
LIVE: Any = surface(search=SCHEMA)
REPORTS: list[Record] = [
    measure_entropy(CORPUS, surface=LIVE),
    compile_entropy_surface(CORPUS, LIVE),
    merge_compiled_surfaces(None, legacy_artifact(), LIVE),
    run_entropy_trial(CORPUS, LIVE, artifact=compile_entropy_surface([], LIVE).artifact or None),
]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: type(report).__name__)
def test_encoding_then_decoding_is_the_identity(report: Record) -> None:
    form = report.to_json()
    assert type(report).from_json(form) == report
    assert type(report).from_json(form).to_json() == form


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: type(report).__name__)
def test_an_unknown_field_is_refused(report: Record) -> None:
    with pytest.raises(RecordError, match="unknown field"):
        type(report).from_json({**report.to_json(), "surprise": 1})


@pytest.mark.requirement("ENT-008", "ENT-022", "ENT-137")
def test_the_names_of_fields_are_those_of_the_design() -> None:
    def names(kind: type[Record]) -> list[str]:
        return list(kind.__struct_encode_fields__)

    assert names(EntropyReport) == [
        *("metricVersion", "catalogDigest", "score", "behavioralScore", "staticScore", "staticFreedom"),
        *("shapeEntropyBits", "failureStageEntropyBits", "churnRate", "navigationRatio", "flowEntropyBits"),
        *("lexiconRows", "totals", "refs", "byModel", "omittedPlans"),
    ]
    assert names(CompileOutcome) == ["status", "artifact", "report", "after", "proposals", "gate"]
    assert names(MergedSurface) == ["file", "droppedOverlays", "droppedQuarantines", "droppedNormalizations"]
    assert names(TrialReport) == [
        "verdict",
        "declaredScore",
        "effectiveScore",
        "delta",
        "totals",
        "divergences",
    ]
