"""Measuring rejected calls, and normal forms proved from the live schema.

Names load on first use, so that the pipeline's hot path (``toolfabric.entropy.apply``) does not pay for
the offline half.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfabric.entropy.apply import apply_normal_form_plan
    from toolfabric.entropy.derive import derive_normal_form_plan, proves_normal_form_plan

__all__ = ["apply_normal_form_plan", "derive_normal_form_plan", "proves_normal_form_plan"]

_HOMES = {
    "apply_normal_form_plan": "apply",
    "derive_normal_form_plan": "derive",
    "proves_normal_form_plan": "derive",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"toolfabric.entropy.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
