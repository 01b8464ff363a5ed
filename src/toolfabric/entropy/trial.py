"""Replay recorded arguments against the declared schemas, with and without the normal forms.

The normalizer is the very function that the boundary uses. A trial is about representation: it does not
say that a call ran, or would have succeeded (seed: Representation trials).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from toolfabric._base.canonical import code_units
from toolfabric.entropy.apply import apply_normal_form_plan
from toolfabric.entropy.artifact import trusted_artifact
from toolfabric.entropy.corpus import AnyTrace, Schemas, read_rows, read_schemas, read_trace
from toolfabric.entropy.derive import proves_normal_form_plan
from toolfabric.entropy.measure import measure_entropy
from toolfabric.entropy.proof import prove
from toolfabric.entropy.records import (
    DISCOVERY_PREFIX,
    WORKFLOW_PREFIX,
    AuditCall,
    CompiledSurface,
    NormalFormPlan,
    NormalFormResult,
    Surface,
)
from toolfabric.entropy.reports import Divergence, TrialClass, TrialReport, TrialTotals
from toolfabric.values import Json

__all__ = ["Normalizer", "run_entropy_trial"]

Normalizer: TypeAlias = Callable[[str, object, Json, NormalFormPlan | None], NormalFormResult]

_OWN: Final = (DISCOVERY_PREFIX, WORKFLOW_PREFIX)


def run_entropy_trial(
    traces: Iterable[AnyTrace],
    live: Surface | Mapping[str, Any],
    *,
    artifact: CompiledSurface | Mapping[str, Any] | None = None,
    audit_calls: Iterable[AuditCall | Mapping[str, Any]] = (),
    normalizer: Normalizer = apply_normal_form_plan,
) -> TrialReport:
    """Compare what the declared schemas accept before and after the normalizer.

    Args:
        traces: The recorded calls; the historical score is theirs, whatever the samples are.
        live: The declared surface.
        artifact: Its plans are used as far as the live surface proves them; those of version 1 do nothing.
        audit_calls: Verbatim calls. For each ref that has some they replace the projected ones of traces.
        normalizer: What is tried; only the sabotage of a certification gives another one.

    Raises:
        ValueError: The guarded reader refuses the artifact.
        RecordError: Something else does not have its declared form.
    """
    trusted = None if artifact is None else trusted_artifact(artifact)
    recorded = list(traces)
    schemas = read_schemas(live)
    replay = _Replay(schemas, _proven(trusted, schemas), normalizer)
    for ref, args in _samples(recorded, list(read_rows(audit_calls, AuditCall)), schemas):
        replay.call(ref, args)
    return replay.report(measure_entropy(recorded).score)


def _proven(artifact: CompiledSurface | None, schemas: Schemas) -> dict[str, NormalFormPlan]:
    return {
        plan.ref: plan
        for plan in (artifact.plans if artifact else ())
        if plan.ref in schemas and proves_normal_form_plan(plan, schemas[plan.ref])
    }


def _samples(
    traces: Iterable[AnyTrace], audits: Iterable[AuditCall], schemas: Schemas
) -> Iterator[tuple[str, Json]]:
    """The calls of known actions: all audits of a ref that has any, else what traces kept of its calls."""
    audited = set[str]()
    for audit in audits:
        if audit.ref in schemas and not audit.ref.startswith(_OWN):
            audited.add(audit.ref)
            yield audit.ref, audit.args
    for trace in traces:
        for operation in read_trace(trace).operations:
            ref = operation.ref
            if ref in schemas and ref not in audited and not ref.startswith(_OWN):
                yield ref, operation.args


@dataclass(slots=True)
class _Replay:
    """Calls one by one, and what they add up to."""

    schemas: Schemas
    plans: Mapping[str, NormalFormPlan]
    normalizer: Normalizer
    operations: int = 0
    accepted: int = 0
    kept: int = 0
    rejected: int = 0
    classes: Counter[tuple[str, TrialClass]] = field(default_factory=Counter[tuple[str, TrialClass]])
    exercised: bool = False

    def call(self, ref: str, args: Json) -> None:
        """Replay one call."""
        schema, plan = self.schemas[ref], self.plans.get(ref)
        self.operations += 1
        self.exercised = self.exercised or plan is not None
        declared = _accepts(schema, args)
        result = self.normalizer(ref, schema, args, plan)
        same = _is_identity(result, args)
        effective = declared if same else _accepts(schema, result.args)
        if declared:
            self.accepted += 1
            self._mark(ref, "canonical-identity-cost", when=not same)
            self._mark(ref, "tightening-cost", when=not effective)
            self.kept += effective
        elif effective and result.witness is not None:
            self._mark(ref, "normalization-win", when=True)
        else:
            self.rejected += 1
        if not same:
            again = self.normalizer(ref, schema, result.args, plan)
            self._mark(ref, "idempotence-cost", when=not _is_identity(again, result.args))

    def report(self, score: float) -> TrialReport:
        """The trial's report; ``score`` is the historical rejection rate, before and after."""
        divergences = tuple(
            Divergence(ref=ref, trial_class=trial_class, count=count)
            for (ref, trial_class), count in sorted(
                self.classes.items(), key=lambda item: (code_units(item[0][0]), item[0][1])
            )
        )
        return TrialReport(
            verdict=self._verdict(),
            declared_score=score,
            effective_score=score,
            delta=0.0,
            totals=TrialTotals(
                operations=self.operations,
                both_accept=self.kept,
                both_reject=self.rejected,
                normalization_win=self._count("normalization-win"),
                canonical_identity_checks=self.accepted,
                canonical_identity_cost=self._count("canonical-identity-cost"),
                idempotence_cost=self._count("idempotence-cost"),
                tightening_cost=self._count("tightening-cost"),
                typed_failure_win=0,
                quarantine_win=0,
                quarantine_cost=0,
            ),
            divergences=divergences,
        )

    def _verdict(self) -> Literal["clean", "no-evidence", "costly"]:
        if any(trial_class != "normalization-win" for _ref, trial_class in self.classes):
            return "costly"
        return "clean" if self.exercised else "no-evidence"

    def _mark(self, ref: str, trial_class: TrialClass, *, when: bool) -> None:
        if when:
            self.classes[ref, trial_class] += 1

    def _count(self, trial_class: TrialClass) -> int:
        return sum(count for (_ref, found), count in self.classes.items() if found == trial_class)


def _is_identity(result: NormalFormResult, args: Json) -> bool:
    return result.args is args and result.witness is None


def _accepts(schema: Json, args: Json) -> bool:
    """Whether the declared schema takes the arguments; one of ``null`` declares nothing of them."""
    return schema is None or prove(schema).accepts(args)
