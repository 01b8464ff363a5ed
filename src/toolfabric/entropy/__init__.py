"""Measuring rejected calls, and normal forms proved from the live schema.

Names load on first use, so that the pipeline's hot path (``toolfabric.entropy.apply``) does not pay for
the offline half.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfabric._base.canonical import canonical_digest
    from toolfabric.entropy.apply import apply_normal_form_plan
    from toolfabric.entropy.artifact import (
        compiled_surface_path,
        load_compiled_surface,
        parse_compiled_surface,
        save_compiled_surface,
    )
    from toolfabric.entropy.certification import CertificationReport, CheckResult
    from toolfabric.entropy.certify import certify_entropy
    from toolfabric.entropy.compile import compile_entropy_surface, compile_entropy_surface_async
    from toolfabric.entropy.derive import derive_normal_form_plan, proves_normal_form_plan
    from toolfabric.entropy.evidence import SessionEvidence, session_evidence
    from toolfabric.entropy.measure import measure_entropy, measure_entropy_async
    from toolfabric.entropy.merge import (
        DroppedPlan,
        ImportedSurface,
        import_compiled_surface,
        merge_compiled_surfaces,
    )
    from toolfabric.entropy.records import (
        AppliedEntry,
        AuditCall,
        CompiledSurface,
        DeclareEnum,
        Gate,
        KeyCluster,
        LegacyAction,
        LegacyQuarantine,
        NormalFormPlan,
        NormalFormResult,
        Operation,
        OverloadSplit,
        RepairRow,
        ReviewSignal,
        SequenceFuse,
        Surface,
        SurfaceAction,
        Trace,
        ValueObservation,
    )
    from toolfabric.entropy.reports import (
        CompileGate,
        CompileOutcome,
        Divergence,
        EntropyReport,
        EntropyTotals,
        MergedSurface,
        ModelReport,
        NormalFormProposal,
        RefReport,
        ShapeCount,
        Trend,
        TrialReport,
        TrialTotals,
    )
    from toolfabric.entropy.review import review_signals
    from toolfabric.entropy.signature import schema_freedom, shape_signature, signature_distance
    from toolfabric.entropy.state import EntropyState
    from toolfabric.entropy.trends import trend
    from toolfabric.entropy.trial import run_entropy_trial
    from toolfabric.trace.records import RuleRef, Witness

__all__ = [
    "AppliedEntry",
    "AuditCall",
    "CertificationReport",
    "CheckResult",
    "CompileGate",
    "CompileOutcome",
    "CompiledSurface",
    "DeclareEnum",
    "Divergence",
    "DroppedPlan",
    "EntropyReport",
    "EntropyState",
    "EntropyTotals",
    "Gate",
    "ImportedSurface",
    "KeyCluster",
    "LegacyAction",
    "LegacyQuarantine",
    "MergedSurface",
    "ModelReport",
    "NormalFormPlan",
    "NormalFormProposal",
    "NormalFormResult",
    "Operation",
    "OverloadSplit",
    "RefReport",
    "RepairRow",
    "ReviewSignal",
    "RuleRef",
    "SequenceFuse",
    "SessionEvidence",
    "ShapeCount",
    "Surface",
    "SurfaceAction",
    "Trace",
    "Trend",
    "TrialReport",
    "TrialTotals",
    "ValueObservation",
    "Witness",
    "apply_normal_form_plan",
    "canonical_digest",
    "certify_entropy",
    "compile_entropy_surface",
    "compile_entropy_surface_async",
    "compiled_surface_path",
    "derive_normal_form_plan",
    "import_compiled_surface",
    "load_compiled_surface",
    "measure_entropy",
    "measure_entropy_async",
    "merge_compiled_surfaces",
    "parse_compiled_surface",
    "proves_normal_form_plan",
    "review_signals",
    "run_entropy_trial",
    "save_compiled_surface",
    "schema_freedom",
    "session_evidence",
    "shape_signature",
    "signature_distance",
    "trend",
]

_HOMES = {
    "_base.canonical": ("canonical_digest",),
    "entropy.apply": ("apply_normal_form_plan",),
    "entropy.artifact": (
        "compiled_surface_path",
        "load_compiled_surface",
        "parse_compiled_surface",
        "save_compiled_surface",
    ),
    "entropy.certification": ("CertificationReport", "CheckResult"),
    "entropy.certify": ("certify_entropy",),
    "entropy.compile": ("compile_entropy_surface", "compile_entropy_surface_async"),
    "entropy.derive": ("derive_normal_form_plan", "proves_normal_form_plan"),
    "entropy.evidence": ("SessionEvidence", "session_evidence"),
    "entropy.measure": ("measure_entropy", "measure_entropy_async"),
    "entropy.merge": (
        "DroppedPlan",
        "ImportedSurface",
        "import_compiled_surface",
        "merge_compiled_surfaces",
    ),
    "entropy.records": (
        "AppliedEntry",
        "AuditCall",
        "CompiledSurface",
        "DeclareEnum",
        "Gate",
        "KeyCluster",
        "LegacyAction",
        "LegacyQuarantine",
        "NormalFormPlan",
        "NormalFormResult",
        "Operation",
        "OverloadSplit",
        "RepairRow",
        "ReviewSignal",
        "SequenceFuse",
        "Surface",
        "SurfaceAction",
        "Trace",
        "ValueObservation",
    ),
    "entropy.reports": (
        "CompileGate",
        "CompileOutcome",
        "Divergence",
        "EntropyReport",
        "EntropyTotals",
        "MergedSurface",
        "ModelReport",
        "NormalFormProposal",
        "RefReport",
        "ShapeCount",
        "Trend",
        "TrialReport",
        "TrialTotals",
    ),
    "entropy.review": ("review_signals",),
    "entropy.signature": ("schema_freedom", "shape_signature", "signature_distance"),
    "entropy.state": ("EntropyState",),
    "entropy.trends": ("trend",),
    "entropy.trial": ("run_entropy_trial",),
    "trace.records": ("RuleRef", "Witness"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        return getattr(import_module(f"toolfabric.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
