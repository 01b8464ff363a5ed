"""Merge artifacts, and import a foreign one: only what the live surface proves again is kept.

Claims count for nothing: forged kinds, altered targets, partial plans and plans of another schema are
dropped and counted, whatever gate the artifact says it passed. Restrictions of version 1 are dropped and
counted too; nothing is hidden and no schema is narrowed (seed: Compiler and artifact contract).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from toolfabric._base.camel import Record
from toolfabric._base.canonical import canonical_digest, code_units
from toolfabric._base.text import one_line
from toolfabric.entropy.artifact import read_compiled_surface, trusted_artifact
from toolfabric.entropy.compile import surface_of_plans
from toolfabric.entropy.corpus import Schemas, read_schemas
from toolfabric.entropy.derive import proves_normal_form_plan
from toolfabric.entropy.records import ARTIFACT_VERSION, MAX_PLANS, CompiledSurface, NormalFormPlan, Surface
from toolfabric.entropy.reports import MergedSurface
from toolfabric.errors import RecordError

__all__ = ["DroppedPlan", "ImportedSurface", "import_compiled_surface", "merge_compiled_surfaces"]

_MOST_REASONS = 256


class DroppedPlan(Record, frozen=True, kw_only=True):
    """Why one plan of a foreign artifact was not taken. ``ref`` is empty where none could be read."""

    ref: str
    reason: str


class ImportedSurface(Record, frozen=True, kw_only=True):
    """What an import came to. ``reasons`` names at most 256 of the dropped plans; the counts are whole."""

    merged: MergedSurface
    reasons: tuple[DroppedPlan, ...]


def merge_compiled_surfaces(
    local: CompiledSurface | Mapping[str, Any] | None,
    incoming: CompiledSurface | Mapping[str, Any],
    live: Surface | Mapping[str, Any],
) -> MergedSurface:
    """Join two artifacts, proving every plan against the live surface; local ones come first.

    Plans of a ref that has one already, and plans past the thousandth, are left out without being
    counted as dropped.

    Raises:
        ValueError: The guarded reader refuses one of the artifacts.
        RecordError: ``live`` is no surface.
    """
    ours, theirs = _local(local), trusted_artifact(incoming)
    taken = _Taken(read_schemas(live))
    for plan in (*(ours.plans if ours else ()), *theirs.plans):
        taken.add(plan)
    return taken.merged(ours, theirs)


def import_compiled_surface(
    local: CompiledSurface | Mapping[str, Any] | None, value: object, live: Surface | Mapping[str, Any]
) -> ImportedSurface:
    """Merge a foreign JSON value, judging it plan by plan: one that is malformed does not refuse the rest.

    Raises:
        RecordError: The envelope is no artifact's, or ``live`` is no surface.
        ValueError: The guarded reader refuses the local artifact.
    """
    envelope, plans = _opened(value)
    ours, theirs = _local(local), read_compiled_surface(envelope)
    taken = _Taken(read_schemas(live))
    for plan in ours.plans if ours else ():
        taken.add(plan)
    for plan in plans:
        taken.add_foreign(plan)
    return ImportedSurface(merged=taken.merged(ours, theirs), reasons=tuple(taken.reasons))


def _local(artifact: CompiledSurface | Mapping[str, Any] | None) -> CompiledSurface | None:
    return None if artifact is None else trusted_artifact(artifact)


def _opened(value: object) -> tuple[object, list[object]]:
    """The envelope without its plans, and the plans, unread."""
    if not isinstance(value, dict):
        return value, []
    envelope = cast("dict[str, object]", value)
    plans = envelope.get("normalizations")
    if envelope.get("version") != ARTIFACT_VERSION or not isinstance(plans, list):
        return envelope, []
    return {**envelope, "normalizations": []}, cast("list[object]", plans)


class _Taken:
    """Proven plans by ref, and what was dropped on the way."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._plans: dict[str, NormalFormPlan] = {}
        self._dropped = 0
        self.reasons: list[DroppedPlan] = []

    def add_foreign(self, plan: object) -> None:
        """Take one plan of a foreign artifact if it is one and holds here."""
        try:
            read = NormalFormPlan.from_json(plan)
        except RecordError as error:
            self._drop("", one_line(str(error)))
        else:
            self.add(read)

    def add(self, plan: NormalFormPlan) -> None:
        """Take one plan if it holds here and its ref has none yet."""
        if plan.ref not in self._schemas:
            self._drop(plan.ref, "no such action is declared here")
        elif not proves_normal_form_plan(plan, self._schemas[plan.ref]):
            self._drop(plan.ref, "the schema that is declared here does not give this plan")
        elif len(self._plans) < MAX_PLANS:
            self._plans.setdefault(plan.ref, plan)

    def merged(self, ours: CompiledSurface | None, theirs: CompiledSurface) -> MergedSurface:
        """Everything taken as one artifact; the historical score is the local one or none."""
        plans = [self._plans[ref] for ref in sorted(self._plans, key=code_units)]
        score = ours.gate.before_score if ours and ours.version == ARTIFACT_VERSION else 0.0
        both = [artifact for artifact in (ours, theirs) if artifact is not None]
        return MergedSurface(
            file=surface_of_plans(
                plans,
                evidence_digest=canonical_digest([plan.to_json() for plan in plans]),
                before=score,
                after=score,
            ),
            dropped_overlays=sum(len(artifact.actions) for artifact in both),
            dropped_quarantines=sum(len(artifact.quarantined) for artifact in both),
            dropped_normalizations=self._dropped,
        )

    def _drop(self, ref: str, reason: str) -> None:
        self._dropped += 1
        if len(self.reasons) < _MOST_REASONS:
            self.reasons.append(DroppedPlan(ref=one_line(ref), reason=reason))
