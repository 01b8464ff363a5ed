"""Fabric: one programmable tool over a registry that checks and records every call.

The names below are public; everything heavy loads on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from toolfabric._version import __version__
from toolfabric.values import ActionSpec, Outcome, Risk, Stage

if TYPE_CHECKING:
    from toolfabric.runtime import ExecutionResult, Fabric

__all__ = ["ActionSpec", "ExecutionResult", "Fabric", "Outcome", "Risk", "Stage", "__version__"]

_LAZY = {"ExecutionResult": "toolfabric.runtime", "Fabric": "toolfabric.runtime"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
