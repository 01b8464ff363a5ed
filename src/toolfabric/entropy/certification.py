"""What a certification is made of: the subject that is tried, a check, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from toolfabric._base.camel import Record
from toolfabric.entropy.apply import apply_normal_form_plan
from toolfabric.entropy.artifact import (
    load_compiled_surface,
    parse_compiled_surface,
    save_compiled_surface,
)
from toolfabric.entropy.compile import compile_entropy_surface
from toolfabric.entropy.derive import derive_normal_form_plan, proves_normal_form_plan
from toolfabric.entropy.evidence import session_evidence
from toolfabric.entropy.measure import measure_entropy
from toolfabric.entropy.merge import merge_compiled_surfaces
from toolfabric.entropy.reports import TrialReport
from toolfabric.entropy.trial import run_entropy_trial

__all__ = ["Case", "CertificationReport", "Check", "CheckResult", "Subject"]

Case: TypeAlias = tuple[str, bool]
"""What one case is about, and whether it held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The functions that are certified. Only a sabotage, which shows that a check can fail, gives others."""

    measure: Callable[..., Any] = measure_entropy
    derive: Callable[..., Any] = derive_normal_form_plan
    proves: Callable[..., Any] = proves_normal_form_plan
    apply: Callable[..., Any] = apply_normal_form_plan
    compile: Callable[..., Any] = compile_entropy_surface
    merge: Callable[..., Any] = merge_compiled_surfaces
    parse: Callable[..., Any] = parse_compiled_surface
    load: Callable[..., Any] = load_compiled_surface
    save: Callable[..., Any] = save_compiled_surface
    evidence: Callable[..., Any] = session_evidence
    trial: Callable[..., Any] = run_entropy_trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One named check. ``cases`` gets the subject and an empty folder that it may write to."""

    name: str
    tries: str
    cases: Callable[[Subject, Path], Iterable[Case]]


class CheckResult(Record, frozen=True, kw_only=True):
    """How a check came out; it passed when it tried something and nothing failed."""

    name: str
    tries: str
    cases: int
    passed: bool
    failures: tuple[str, ...]


class CertificationReport(Record, frozen=True, kw_only=True):
    """All checks, and the trial where one was run. It passed when every part of it did."""

    passed: bool
    checks: tuple[CheckResult, ...]
    trial: TrialReport | UnsetType = UNSET
