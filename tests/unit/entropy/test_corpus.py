"""Inputs are read for what is needed, and refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy import canonical_digest
from toolfabric.entropy.corpus import read_rows, read_schemas, read_trace, surface_digest
from toolfabric.entropy.probes import surface
from toolfabric.entropy.records import RepairRow, Trace
from toolfabric.errors import RecordError


def test_a_record_is_read_as_it_is() -> None:
    record = Trace(operations=())
    assert read_trace(record) is record


def test_a_schema_is_the_very_object_that_was_declared() -> None:
    schema = {"type": "object"}
    assert read_schemas({"version": 1, "actions": [{"ref": "a.b", "inputSchema": schema}]})["a.b"] is schema


def test_schemas_stand_in_code_unit_order() -> None:
    refs = ["b.\uffee", "a.z", "b.\U0001f600", "a.B"]
    declared = {"version": 1, "actions": [{"ref": ref, "inputSchema": None} for ref in refs]}
    assert list(read_schemas(declared)) == ["a.B", "a.z", "b.\U0001f600", "b.\uffee"]
    assert read_schemas(None) == {}


@pytest.mark.requirement("ENT-040", "ENT-041")
def test_the_digest_of_a_surface_is_the_one_digest_of_its_snapshot() -> None:
    declared = surface(b={"type": "object"}, a=None)
    ordered: Any = {
        "version": 1,
        "actions": [
            {"ref": "probe.a", "inputSchema": None},
            {"ref": "probe.b", "inputSchema": {"type": "object"}},
        ],
    }
    assert surface_digest(read_schemas(declared)) == canonical_digest(ordered)
    changed = surface(b={"type": "object", "title": "x"}, a=None)
    assert surface_digest(read_schemas(changed)) != surface_digest(read_schemas(declared))


def test_one_schema_without_canonical_form_does_not_spoil_the_surface() -> None:
    declared = surface(a={"type": "object"}, b={"type": "integer", "maximum": 2**64})
    assert surface_digest(read_schemas(declared)) == surface_digest(
        read_schemas(surface(a={"type": "object"}, b=None))
    )


def test_a_ref_that_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(ValueError, match="no canonical JSON form"):
        surface_digest(read_schemas({"version": 1, "actions": [{"ref": "\ud800", "inputSchema": {}}]}))


@pytest.mark.parametrize("row", [{}, {"kind": "keyAlias", "ref": "a", "from": "b", "to": None}, 5, [], None])
def test_a_row_of_another_form_is_refused(row: Any) -> None:
    with pytest.raises(RecordError):
        list(read_rows([row], RepairRow))


def test_rows_may_say_more_than_is_needed() -> None:
    row = {"kind": "keyAlias", "ref": "a", "from": "b", "to": "c", "since": "2024"}
    assert [one.to for one in read_rows([row], RepairRow)] == ["c"]
