"""The snapshot of a surface."""

from __future__ import annotations

import pytest

from toolfabric.registry.descriptors import bind
from toolfabric.registry.surface import surface_of
from toolfabric.values import JsonObject, Origin

from .conftest import Listed, spec

SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "never used"]}}}


@pytest.mark.requirement("ENT-114")
def test_it_has_the_declared_schemas_by_ref_in_code_unit_order() -> None:
    actions = bind(
        Listed(), [spec("b", SCHEMA), spec("_", SCHEMA), spec("B")], origin=Origin.HOST, generation=1
    )
    assert surface_of(actions.actions.values()) == {
        "version": 1,
        "actions": [
            {"ref": "demo.B", "inputSchema": {"type": "object"}},
            {"ref": "demo._", "inputSchema": SCHEMA},
            {"ref": "demo.b", "inputSchema": SCHEMA},
        ],
    }


def test_nothing_mounted_is_an_empty_surface() -> None:
    assert surface_of(()) == {"version": 1, "actions": []}
