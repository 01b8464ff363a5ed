"""Compiling measures what was recorded, derives what is declared, and imagines nothing."""

from __future__ import annotations

import inspect
from typing import Any

import anyio
import pytest

from toolfabric.entropy import (
    CompiledSurface,
    CompileOutcome,
    EntropyReport,
    canonical_digest,
    compile_entropy_surface,
    compile_entropy_surface_async,
    derive_normal_form_plan,
    measure_entropy,
    parse_compiled_surface,
)
from toolfabric.entropy.artifact import artifact_bytes
from toolfabric.entropy.corpus import read_schemas, surface_digest
from toolfabric.entropy.probes import (
    CANONICAL,
    OPEN_SCHEMA,
    REF,
    SCHEMA,
    action,
    legacy_artifact,
    surface,
    trace,
)
from toolfabric.entropy.proof import prove
from toolfabric.entropy.records import ValueObservation
from toolfabric.errors import RecordError

CORPUS: list[Any] = [
    trace(action(REF, "failed", "validate", max_results="2"), action(REF), model="maker/a"),
    trace(action("probe.open"), task="other"),
]
LIVE: Any = surface(search=SCHEMA, open=OPEN_SCHEMA)


def artifact_of(outcome: CompileOutcome) -> CompiledSurface:
    assert isinstance(outcome.artifact, CompiledSurface)
    return outcome.artifact


@pytest.mark.requirement("ENT-084", "ENT-086", "ENT-087", "ENT-092", "ENT-093", "ENT-094")
def test_a_compilation_has_exactly_this_outcome() -> None:
    outcome = compile_entropy_surface(CORPUS, LIVE)
    plan = derive_normal_form_plan(REF, SCHEMA)
    assert plan is not None
    digest = surface_digest(read_schemas(LIVE))
    report = measure_entropy(CORPUS, surface=LIVE, catalog_digest=digest)
    assert outcome.to_json() == {
        "status": "compiled",
        "artifact": {
            "version": 2,
            "metricVersion": 3,
            "actions": [],
            "quarantined": [],
            "normalizations": [plan.to_json()],
            "applied": [{"kind": "normal-form", "ref": REF, "detail": f"{len(plan.rules)} proven rules"}],
            "gate": {"passed": True, "beforeScore": 0.333333, "afterScore": 0.333333, "reasons": []},
            "evidenceDigest": canonical_digest({"surface": digest, "plans": [plan.to_json()]}),
        },
        "report": report.to_json(),
        "after": report.to_json(),
        "proposals": [
            {
                "kind": "normal-form",
                "ref": REF,
                "baseSchemaDigest": plan.base_schema_digest,
                "rules": plan.to_json()["rules"],
            }
        ],
        "gate": {
            "passed": True,
            "beforeScore": 0.333333,
            "afterScore": 0.333333,
            "delta": 0.0,
            "reasons": [],
        },
    }
    assert outcome.after is outcome.report
    assert CompileOutcome.from_json(outcome.to_json()) == outcome


@pytest.mark.requirement("ENT-001", "ENT-002", "ENT-094", "ENT-098")
def test_actions_and_members_stay_however_rarely_or_badly_they_were_used() -> None:
    corpus = [trace(*[action(REF, "failed", "invoke", sort_order="newest")] * 50)]
    before = str(LIVE)
    artifact = artifact_of(compile_entropy_surface(corpus, LIVE))
    assert (artifact.actions, artifact.quarantined) == ((), ())
    assert str(LIVE) == before
    assert [plan.ref for plan in artifact.plans] == [REF]
    assert artifact.plans == artifact_of(compile_entropy_surface([], LIVE)).plans
    assert all(prove(SCHEMA).accepts(args) for args in CANONICAL)


@pytest.mark.requirement("ENT-085")
def test_an_empty_corpus_compiles() -> None:
    outcome = compile_entropy_surface([], LIVE)
    assert outcome.status == "compiled"
    assert outcome.report.score == 0
    assert [plan.ref for plan in artifact_of(outcome).plans] == [REF]


@pytest.mark.requirement("ENT-086", "ENT-087")
def test_recorded_failures_stay_failures() -> None:
    corpus = [trace(*[action(REF, "failed", "validate", maxResults="2")] * 4)]
    outcome = compile_entropy_surface(corpus, LIVE)
    assert isinstance(outcome.after, EntropyReport)
    assert outcome.report.score == outcome.after.score == 1
    assert outcome.gate
    assert (outcome.gate.before_score, outcome.gate.after_score, outcome.gate.delta) == (1, 1, 0)


@pytest.mark.requirement("ENT-089", "ENT-090")
@pytest.mark.parametrize("corpus", [CORPUS, [], CORPUS * 5, [trace(action(REF, "failed", "validate"))]])
def test_identical_plans_converge_whatever_the_score_is_and_the_artifact_is_reused(corpus: list[Any]) -> None:
    artifact = artifact_of(compile_entropy_surface(CORPUS, LIVE))
    outcome = compile_entropy_surface(corpus, LIVE, artifact=artifact)
    assert outcome.status == "converged"
    assert artifact_bytes(artifact_of(outcome)) == artifact_bytes(artifact)
    assert "after" not in outcome
    assert "gate" not in outcome
    assert compile_entropy_surface(corpus, LIVE, artifact=artifact.to_json()) == outcome


@pytest.mark.requirement("ENT-091")
def test_neither_artifact_nor_plan_is_converged_already() -> None:
    outcome = compile_entropy_surface(CORPUS, surface(open=OPEN_SCHEMA))
    assert outcome.status == "converged"
    assert "artifact" not in outcome
    assert compile_entropy_surface([], {"version": 1, "actions": []}).status == "converged"


@pytest.mark.requirement("ENT-089")
def test_other_plans_do_not_converge() -> None:
    artifact = artifact_of(compile_entropy_surface([], LIVE))
    for live in (
        surface(search=SCHEMA, more=SCHEMA),
        surface(open=OPEN_SCHEMA),
        surface(search={**SCHEMA, "title": "x"}),
    ):
        outcome = compile_entropy_surface([], live, artifact=artifact)
        assert outcome.status == "compiled"
        assert artifact_of(outcome) != artifact
        assert compile_entropy_surface([], live, artifact=outcome.artifact or None).status == "converged"


@pytest.mark.requirement("ENT-097", "ENT-098", "ENT-099")
def test_a_version_1_artifact_is_replaced_and_restricts_nothing_on_the_way() -> None:
    for live in (LIVE, surface(open=OPEN_SCHEMA)):
        outcome = compile_entropy_surface(CORPUS, live, artifact=legacy_artifact())
        assert outcome.status == "compiled"
        assert artifact_of(outcome) == artifact_of(
            compile_entropy_surface(
                CORPUS, live, artifact={**legacy_artifact(), "actions": [], "quarantined": []}
            )
        )
        assert artifact_of(outcome).version == 2
        assert (artifact_of(outcome).actions, artifact_of(outcome).quarantined) == ((), ())


@pytest.mark.requirement("ENT-003", "ENT-095")
def test_the_same_inputs_in_any_order_give_the_same_bytes() -> None:
    turned = {"version": 1, "actions": LIVE["actions"][::-1]}
    first = artifact_bytes(artifact_of(compile_entropy_surface(CORPUS, LIVE)))
    assert artifact_bytes(artifact_of(compile_entropy_surface(CORPUS[::-1], turned))) == first
    assert artifact_bytes(artifact_of(compile_entropy_surface(iter(CORPUS), LIVE))) == first


@pytest.mark.requirement("ENT-109")
@pytest.mark.parametrize("artifact", [{}, {"version": 2}, [], "text", {**legacy_artifact(), "version": 2}])
def test_an_artifact_that_the_reader_refuses_is_an_error(artifact: Any) -> None:
    with pytest.raises(ValueError, match="not a compiled surface"):
        compile_entropy_surface([], LIVE, artifact=artifact)


def test_a_surface_of_another_form_is_an_error() -> None:
    with pytest.raises(RecordError, match="not a valid surface"):
        compile_entropy_surface([], {"version": 1, "actions": "all"})


def test_plans_stand_by_ref_and_those_past_the_thousandth_are_counted() -> None:
    schema = {"type": "object", "additionalProperties": False, "properties": {"x": {"type": "boolean"}}}
    live: Any = {
        "version": 1,
        "actions": [{"ref": f"a.{at:04}", "inputSchema": schema} for at in range(1_003)][::-1],
    }
    outcome = compile_entropy_surface([], live)
    artifact = artifact_of(outcome)
    assert [plan.ref for plan in artifact.plans] == [f"a.{at:04}" for at in range(1_000)]
    assert outcome.report.omitted_plans == 3
    assert len(artifact.applied) == 256
    assert artifact.applied[255].to_json() == {
        "kind": "normal-form",
        "ref": "a.0255",
        "detail": "2 proven rules",
    }
    assert parse_compiled_surface(artifact.to_json()) == artifact
    assert compile_entropy_surface([], live, artifact=artifact).status == "converged"
    assert "omittedPlans" not in compile_entropy_surface([], LIVE).report


def test_of_a_ref_declared_twice_the_last_declaration_counts() -> None:
    def twice(first: Any, last: Any) -> Any:
        return {"version": 1, "actions": [{"ref": REF, "inputSchema": one} for one in (first, last)]}

    assert compile_entropy_surface([], twice(SCHEMA, OPEN_SCHEMA)).status == "converged"
    assert artifact_of(compile_entropy_surface([], twice(OPEN_SCHEMA, SCHEMA))) == artifact_of(
        compile_entropy_surface([], surface(search=SCHEMA))
    )


def test_a_schema_without_canonical_form_gives_no_plan_and_does_not_stop_the_others() -> None:
    odd: Any = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"x": {"type": "integer", "maximum": 2**64}},
    }
    outcome = compile_entropy_surface([], surface(search=SCHEMA, odd=odd))
    assert [plan.ref for plan in artifact_of(outcome).plans] == [REF]


def test_the_catalog_digest_is_that_of_the_surface_unless_one_is_given() -> None:
    assert compile_entropy_surface([], LIVE).report.catalog_digest == surface_digest(read_schemas(LIVE))
    assert compile_entropy_surface([], LIVE, catalog_digest="given").report.catalog_digest == "given"
    assert compile_entropy_surface([], LIVE, catalog_digest="").report.catalog_digest == ""


@pytest.mark.requirement("ENT-048")
def test_proposals_are_the_plans_and_then_the_remarks_which_change_no_plan() -> None:
    marked: Any = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"mode": {"type": "string", "x-fabric-enum-candidate": True}},
    }
    live = surface(marked=marked)
    seen = [ValueObservation(ref="probe.marked", key="mode", value=value, count=4) for value in ("a", "b")]
    outcome = compile_entropy_surface([], live, value_observations=seen)
    assert [proposal.to_json()["kind"] for proposal in outcome.proposals] == ["normal-form", "declare-enum"]
    assert artifact_of(outcome) == artifact_of(compile_entropy_surface([], live))
    assert prove(marked).accepts({"mode": "something never seen"})


def test_audit_calls_and_repairs_change_no_plan() -> None:
    outcome = compile_entropy_surface(
        CORPUS,
        LIVE,
        audit_calls=[{"ref": REF, "args": {"query": "x"}}],
        repairs=[{"kind": "keyAlias", "ref": REF, "from": "q", "to": "query"}],
    )
    assert artifact_of(outcome) == artifact_of(compile_entropy_surface(CORPUS, LIVE))
    assert outcome.report.lexicon_rows == 1


@pytest.mark.requirement("ENT-084")
@pytest.mark.anyio
async def test_the_cooperative_form_gives_the_same_and_lets_others_run() -> None:
    live = surface(**{f"a{at:04}": SCHEMA for at in range(200)})
    corpus = CORPUS * 100
    turns = 0
    outcome: CompileOutcome | None = None

    async def count() -> None:
        nonlocal turns
        while outcome is None:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        outcome = await compile_entropy_surface_async(corpus, live)
    assert outcome == compile_entropy_surface(corpus, live)
    assert turns >= 6


@pytest.mark.requirement("ENT-004")
def test_compiling_asks_nobody() -> None:
    assert list(inspect.signature(compile_entropy_surface).parameters) == [
        *("traces", "surface", "repairs", "value_observations", "audit_calls", "artifact", "catalog_digest"),
    ]
    assert (
        inspect.signature(compile_entropy_surface).parameters
        == inspect.signature(compile_entropy_surface_async).parameters
    )
