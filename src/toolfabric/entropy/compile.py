"""Compile: measure the recorded calls, then derive the plans that the declared surface proves.

Deterministic and offline. Nothing is transformed into an imagined success: the report before and after is
the same one. Convergence means identical plans, not a better score (seed: Compiler and artifact
contract). The corpus authorizes nothing, so an empty one compiles as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from anyio.lowlevel import checkpoint
from msgspec import UNSET
from msgspec.structs import replace

from toolfabric._base.canonical import canonical_digest
from toolfabric.entropy.artifact import trusted_artifact
from toolfabric.entropy.corpus import AnyTrace, Schemas, read_schemas, surface_digest
from toolfabric.entropy.derive import derive_normal_form_plan
from toolfabric.entropy.measure import accumulate, accumulate_async, finish
from toolfabric.entropy.records import (
    ARTIFACT_VERSION,
    MAX_APPLIED,
    MAX_PLANS,
    METRIC_VERSION,
    AppliedEntry,
    AuditCall,
    CompiledSurface,
    Gate,
    NormalFormPlan,
    RepairRow,
    Surface,
    ValueObservation,
)
from toolfabric.entropy.reports import CompileGate, CompileOutcome, EntropyReport, NormalFormProposal
from toolfabric.entropy.review import review_signals
from toolfabric.entropy.state import EntropyState
from toolfabric.values import Json

__all__ = ["compile_entropy_surface", "compile_entropy_surface_async", "surface_of_plans"]

COOPERATIVE_ACTIONS: Final = 64


def compile_entropy_surface(
    traces: Iterable[AnyTrace],
    surface: Surface | Mapping[str, Any],
    *,
    repairs: Iterable[RepairRow | Mapping[str, Any]] = (),
    value_observations: Iterable[ValueObservation | Mapping[str, Any]] | None = None,
    audit_calls: Iterable[AuditCall | Mapping[str, Any]] | None = None,  # noqa: ARG001 - see Args
    artifact: CompiledSurface | Mapping[str, Any] | None = None,
    catalog_digest: str | None = None,
) -> CompileOutcome:
    """Compile the surface's normal forms.

    Args:
        traces: The recorded calls; they are measured and authorize nothing.
        surface: The declared actions; of a ref declared twice the last one counts.
        repairs: The catalog's alias rows; they are counted, nothing more.
        value_observations: What review signals look at; ``None`` takes the values from the traces.
        audit_calls: Taken so that a session's whole evidence can be passed on. Verbatim arguments have a
            say in the trial alone.
        artifact: The artifact in force, if any.
        catalog_digest: Passed on into the report; by default the digest of the surface.

    Raises:
        ValueError: The guarded reader refuses the artifact, or a ref has no canonical form.
        RecordError: Something else does not have its declared form.
    """
    job = _Job(traces, surface, repairs=repairs, observations=value_observations, artifact=artifact)
    state = accumulate(job.traces)
    plans = _Plans()
    for ref, schema in job.schemas.items():
        plans.add(ref, schema)
    return job.outcome(state, plans, catalog_digest)


async def compile_entropy_surface_async(
    traces: Iterable[AnyTrace],
    surface: Surface | Mapping[str, Any],
    *,
    repairs: Iterable[RepairRow | Mapping[str, Any]] = (),
    value_observations: Iterable[ValueObservation | Mapping[str, Any]] | None = None,
    audit_calls: Iterable[AuditCall | Mapping[str, Any]] | None = None,  # noqa: ARG001 - as above
    artifact: CompiledSurface | Mapping[str, Any] | None = None,
    catalog_digest: str | None = None,
) -> CompileOutcome:
    """As ``compile_entropy_surface``, with the same result; others run after every 64 traces or actions.

    Raises:
        ValueError: As there.
        RecordError: As there.
    """
    job = _Job(traces, surface, repairs=repairs, observations=value_observations, artifact=artifact)
    state = await accumulate_async(job.traces)
    plans = _Plans()
    for count, (ref, schema) in enumerate(job.schemas.items(), start=1):
        plans.add(ref, schema)
        if count % COOPERATIVE_ACTIONS == 0:
            await checkpoint()
    return job.outcome(state, plans, catalog_digest)


def surface_of_plans(
    plans: Sequence[NormalFormPlan], *, evidence_digest: str, before: float, after: float
) -> CompiledSurface:
    """The version 2 artifact of proven plans in ref order, with its ledger."""
    return CompiledSurface(
        version=ARTIFACT_VERSION,
        metric_version=METRIC_VERSION,
        actions=(),
        quarantined=(),
        normalizations=tuple(plans),
        applied=tuple(
            AppliedEntry(kind="normal-form", ref=plan.ref, detail=f"{len(plan.rules)} proven rules")
            for plan in plans[:MAX_APPLIED]
        ),
        gate=Gate(passed=True, before_score=before, after_score=after, reasons=()),
        evidence_digest=evidence_digest,
    )


@dataclass(slots=True)
class _Plans:
    """Plans in ref order, as many as an artifact may hold; the rest is counted."""

    kept: list[NormalFormPlan] = field(default_factory=list[NormalFormPlan])
    omitted: int = 0

    def add(self, ref: str, schema: Json) -> None:
        plan = derive_normal_form_plan(ref, schema)
        if plan is None:
            return
        if len(self.kept) < MAX_PLANS:
            self.kept.append(plan)
        else:
            self.omitted += 1


class _Job:
    """The inputs, read once, and what is made of them."""

    def __init__(
        self,
        traces: Iterable[AnyTrace],
        surface: Surface | Mapping[str, Any],
        *,
        repairs: Iterable[RepairRow | Mapping[str, Any]],
        observations: Iterable[ValueObservation | Mapping[str, Any]] | None,
        artifact: CompiledSurface | Mapping[str, Any] | None,
    ) -> None:
        self.artifact = None if artifact is None else trusted_artifact(artifact)
        self.traces = list(traces)
        self.schemas: Schemas = read_schemas(surface)
        self._surface = surface
        self._repairs = list(repairs)
        self._observations = None if observations is None else list(observations)

    def outcome(self, state: EntropyState, plans: _Plans, catalog_digest: str | None) -> CompileOutcome:
        digest = surface_digest(self.schemas)
        report = finish(
            state,
            surface=self._surface,
            repairs=self._repairs,
            catalog_digest=digest if catalog_digest is None else catalog_digest,
        )
        if plans.omitted:
            report = replace(report, omitted_plans=plans.omitted)
        signals = review_signals(
            report, self.traces, surface=self._surface, value_observations=self._observations
        )
        proposals = (*(_proposal(plan) for plan in plans.kept), *signals)
        if self._converged(plans.kept):
            return CompileOutcome(
                status="converged",
                artifact=self.artifact or UNSET,
                report=report,
                proposals=proposals,
            )
        return CompileOutcome(
            status="compiled",
            artifact=surface_of_plans(
                plans.kept,
                evidence_digest=canonical_digest(
                    {"surface": digest, "plans": [plan.to_json() for plan in plans.kept]}
                ),
                before=report.score,
                after=report.score,
            ),
            report=report,
            after=report,
            proposals=proposals,
            gate=_gate(report),
        )

    def _converged(self, plans: Sequence[NormalFormPlan]) -> bool:
        if self.artifact is None:
            return not plans
        return self.artifact.version == ARTIFACT_VERSION and self.artifact.plans == tuple(plans)


def _proposal(plan: NormalFormPlan) -> NormalFormProposal:
    return NormalFormProposal(ref=plan.ref, base_schema_digest=plan.base_schema_digest, rules=plan.rules)


def _gate(report: EntropyReport) -> CompileGate:
    return CompileGate(
        passed=True, before_score=report.score, after_score=report.score, delta=0.0, reasons=()
    )
