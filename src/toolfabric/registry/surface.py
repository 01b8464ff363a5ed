"""A snapshot of declared actions: the form in which surfaces are exported, compared and learned from."""

from __future__ import annotations

from collections.abc import Iterable

from toolfabric._base.canonical import code_units
from toolfabric.registry.bindings import Action
from toolfabric.values import JsonObject

__all__ = ["surface_of"]


def surface_of(actions: Iterable[Action]) -> JsonObject:
    """``{version: 1, actions: [{ref, inputSchema}]}``, by ref in code-unit order (design: Vocabulary).

    It holds the declared schemas as they are, not a restricted view (seed: Inspection, export).
    """
    ordered = sorted(actions, key=lambda action: code_units(action.ref))
    return {
        "version": 1,
        "actions": [{"ref": action.ref, "inputSchema": action.spec.input_schema} for action in ordered],
    }
