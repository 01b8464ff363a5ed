"""Merging and importing keep what the live surface proves, and count the rest."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy import (
    CompiledSurface,
    canonical_digest,
    compile_entropy_surface,
    import_compiled_surface,
    merge_compiled_surfaces,
    parse_compiled_surface,
)
from toolfabric.entropy.form_checks import forgeries
from toolfabric.entropy.probes import OPEN_SCHEMA, REF, SCHEMA, action, legacy_artifact, surface, trace
from toolfabric.errors import RecordError

OTHER: Any = {"type": "object", "additionalProperties": False, "properties": {"limit": {"type": "integer"}}}
LIVE: Any = surface(search=SCHEMA, other=OTHER, third=OTHER, open=OPEN_SCHEMA)


def compiled(**schemas: Any) -> CompiledSurface:
    artifact = compile_entropy_surface([], surface(**schemas)).artifact
    assert isinstance(artifact, CompiledSurface)
    return artifact


def counts(merged: Any) -> tuple[int, int, int]:
    return merged.dropped_overlays, merged.dropped_quarantines, merged.dropped_normalizations


@pytest.mark.requirement("ENT-101", "ENT-103")
def test_valid_plans_are_joined_and_ordered_by_ref() -> None:
    merged = merge_compiled_surfaces(compiled(third=OTHER, search=SCHEMA), compiled(other=OTHER), LIVE)
    assert [plan.ref for plan in merged.file.plans] == ["probe.other", "probe.search", "probe.third"]
    assert counts(merged) == (0, 0, 0)
    assert merged.file.evidence_digest == canonical_digest([plan.to_json() for plan in merged.file.plans])
    assert [entry.ref for entry in merged.file.applied] == ["probe.other", "probe.search", "probe.third"]
    assert parse_compiled_surface(merged.file.to_json()) == merged.file
    assert list(merged.to_json()) == [
        "file",
        "droppedOverlays",
        "droppedQuarantines",
        "droppedNormalizations",
    ]


@pytest.mark.requirement("ENT-103")
def test_a_plan_that_both_have_is_kept_once_and_not_counted() -> None:
    merged = merge_compiled_surfaces(compiled(search=SCHEMA), compiled(search=SCHEMA, other=OTHER), LIVE)
    assert [plan.ref for plan in merged.file.plans] == ["probe.other", "probe.search"]
    assert counts(merged) == (0, 0, 0)


def test_without_a_local_artifact_the_incoming_one_is_proved_alone() -> None:
    merged = merge_compiled_surfaces(None, compiled(search=SCHEMA).to_json(), LIVE)
    assert [plan.ref for plan in merged.file.plans] == [REF]


@pytest.mark.requirement("ENT-101", "ENT-102", "ENT-115")
def test_forged_plans_and_plans_of_another_schema_are_dropped_whatever_the_gate_claims() -> None:
    genuine = compiled(search=SCHEMA).to_json()
    plans: Any = genuine["normalizations"]
    tried = 0
    for name, forged in forgeries(plans[0]):
        artifact = {
            **genuine,
            "normalizations": [forged],
            "gate": {"passed": True, "beforeScore": 1, "afterScore": 0, "reasons": ["all is well"]},
        }
        if parse_compiled_surface(artifact) is None:
            continue
        merged = merge_compiled_surfaces(None, artifact, surface(search=SCHEMA))
        assert counts(merged) == (0, 0, 1), name
        assert merged.file.plans == (), name
        assert (merged.file.gate.before_score, merged.file.gate.after_score) == (0, 0)
        tried += 1
    assert tried > 30
    drifted = surface(search={**SCHEMA, "title": "newer"})
    assert counts(merge_compiled_surfaces(None, genuine, drifted)) == (0, 0, 1)
    assert counts(merge_compiled_surfaces(genuine, genuine, drifted)) == (0, 0, 2)
    assert counts(merge_compiled_surfaces(None, genuine, surface())) == (0, 0, 1)


@pytest.mark.requirement("ENT-096", "ENT-097", "ENT-100")
def test_restrictions_are_dropped_and_counted() -> None:
    merged = merge_compiled_surfaces(legacy_artifact(), legacy_artifact(), LIVE)
    assert counts(merged) == (2, 2, 0)
    assert (merged.file.version, merged.file.actions, merged.file.quarantined, merged.file.plans) == (
        2,
        (),
        (),
        (),
    )
    assert counts(merge_compiled_surfaces(compiled(search=SCHEMA), legacy_artifact(), LIVE)) == (1, 1, 0)


def test_the_local_history_stays_and_a_foreign_one_does_not_come_in() -> None:
    corpus = [trace(action(REF, "failed", "validate"), action(REF))]
    local = compile_entropy_surface(corpus, surface(search=SCHEMA)).artifact
    assert isinstance(local, CompiledSurface)
    assert merge_compiled_surfaces(local, compiled(other=OTHER), LIVE).file.gate.before_score == 0.5
    assert merge_compiled_surfaces(compiled(other=OTHER), local, LIVE).file.gate.before_score == 0


def test_plans_past_the_thousandth_are_left_out_without_being_counted() -> None:
    small: Any = {"type": "object", "additionalProperties": False, "properties": {"x": {"type": "boolean"}}}

    def many(start: int, stop: int) -> Any:
        return {f"a{at:04}": small for at in range(start, stop)}

    merged = merge_compiled_surfaces(
        compiled(**many(500, 1_400)), compiled(**many(0, 500)), surface(**many(0, 1_400))
    )
    refs = [plan.ref for plan in merged.file.plans]
    assert refs == [f"probe.a{at:04}" for at in (*range(100), *range(500, 1_400))]
    assert counts(merged) == (0, 0, 0)


@pytest.mark.parametrize("artifact", [{}, {"version": 2}, [], 5, None])
def test_what_the_reader_refuses_is_an_error(artifact: Any) -> None:
    with pytest.raises(ValueError, match="not a compiled surface"):
        merge_compiled_surfaces(compiled(search=SCHEMA), artifact, LIVE)
    if artifact is not None:
        with pytest.raises(ValueError, match="not a compiled surface"):
            merge_compiled_surfaces(artifact, compiled(search=SCHEMA), LIVE)


@pytest.mark.requirement("ENT-100", "ENT-101", "ENT-102", "ENT-115")
def test_an_import_judges_plan_by_plan_and_says_why_one_was_not_taken() -> None:
    genuine = compiled(search=SCHEMA, other=OTHER).to_json()
    plans: Any = genuine["normalizations"]
    incoming = {
        **genuine,
        "normalizations": [
            plans[0],
            {**plans[1], "rules": plans[1]["rules"][:-1]},
            {**plans[1], "ref": "probe.nowhere"},
            {**plans[1], "rules": [{"kind": "default-value", "key": "query"}]},
            plans[0],
            "no plan at all",
            {"ref": "\x1b[2J", "version": 1},
        ],
    }
    imported = import_compiled_surface(None, incoming, LIVE)
    assert [plan.ref for plan in imported.merged.file.plans] == ["probe.other"]
    assert counts(imported.merged) == (0, 0, 5)
    assert [one.ref for one in imported.reasons] == [REF, "probe.nowhere", "", "", ""]
    assert [one.reason for one in imported.reasons[:2]] == [
        "the schema that is declared here does not give this plan",
        "no such action is declared here",
    ]
    assert all(one.reason.isprintable() for one in imported.reasons)


def test_an_import_takes_what_a_merge_takes() -> None:
    local, incoming = compiled(search=SCHEMA), compiled(other=OTHER, search=SCHEMA)
    imported = import_compiled_surface(local, incoming.to_json(), LIVE)
    assert imported.merged == merge_compiled_surfaces(local, incoming, LIVE)
    assert imported.reasons == ()
    assert counts(import_compiled_surface(local, legacy_artifact(), LIVE).merged) == (1, 1, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"version": 3},
        {"normalizations": {}},
        {"actions": [1]},
        {"evidenceDigest": ""},
        {"gate": None},
    ],
)
def test_a_broken_envelope_refuses_the_whole_file(change: Any) -> None:
    with pytest.raises(RecordError, match="not a compiled surface"):
        import_compiled_surface(None, {**compiled(search=SCHEMA).to_json(), **change}, LIVE)
    with pytest.raises(RecordError):
        import_compiled_surface(None, [], LIVE)


def test_the_reasons_of_an_import_are_bounded_and_the_counts_are_not() -> None:
    incoming = {**compiled(search=SCHEMA).to_json(), "normalizations": [5] * 2_000}
    imported = import_compiled_surface(None, incoming, LIVE)
    assert imported.merged.dropped_normalizations == 2_000
    assert len(imported.reasons) == 256
