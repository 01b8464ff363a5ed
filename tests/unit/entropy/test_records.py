"""Records have exact JSON forms, and decoding what was encoded gives them back."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric._base.camel import Record
from toolfabric.entropy.probes import legacy_artifact
from toolfabric.entropy.records import (
    AuditCall,
    CompiledSurface,
    DeclareEnum,
    KeyCluster,
    NormalFormPlan,
    Operation,
    OverloadSplit,
    RepairRow,
    SequenceFuse,
    Surface,
    Trace,
    ValueObservation,
)
from toolfabric.errors import RecordError

DIGEST = "0" * 64
WITNESS = {
    "version": 1,
    "baseSchemaDigest": DIGEST,
    "beforeShape": DIGEST,
    "afterShape": DIGEST,
    "rules": [{"kind": "key-form", "key": "k"}],
}
FORMS: list[tuple[type[Record], dict[str, Any]]] = [
    (
        NormalFormPlan,
        {"version": 1, "ref": "a.b", "baseSchemaDigest": DIGEST, "rules": [{"kind": "enum-form", "key": ""}]},
    ),
    (Operation, {"ref": "a.b", "args": {"x": [1, {"y": None}]}, "outcome": "timed_out"}),
    (
        Operation,
        {"ref": "a.b", "args": {}, "outcome": "failed", "failureStage": "validate", "normalization": WITNESS},
    ),
    (Trace, {"operations": []}),
    (
        Trace,
        {"operations": [{"ref": "a.b", "args": {}, "outcome": "succeeded"}], "taskKey": "", "model": "p/m"},
    ),
    (
        Surface,
        {
            "version": 1,
            "actions": [
                {"ref": "a.b", "inputSchema": {"type": "object"}},
                {"ref": "c.d", "inputSchema": None},
            ],
        },
    ),
    (RepairRow, {"kind": "keyAlias", "ref": "a.b", "from": "x", "to": "y"}),
    (RepairRow, {"kind": "actionAlias", "ref": "a.b", "from": "a.c", "to": "a.b"}),
    (ValueObservation, {"ref": "a.b", "key": "k", "value": True, "count": 3}),
    (ValueObservation, {"ref": "a.b", "key": "k", "value": 0.5, "count": 3}),
    (AuditCall, {"ref": "a.b", "args": {"x": 1}}),
    (AuditCall, {"ref": "a.b", "args": "not an object"}),
    (CompiledSurface, legacy_artifact()),
    (
        DeclareEnum,
        {
            "kind": "declare-enum",
            "ref": "a.b",
            "key": "k",
            "values": ["a", 1, True],
            "calls": 9,
            "distinct": 3,
            "topShare": 0.5,
        },
    ),
    (
        OverloadSplit,
        {
            "kind": "overload-split",
            "ref": "a.b",
            "shapeEntropyBits": 1.5,
            "clusters": [{"keys": ["a"], "calls": 2}],
        },
    ),
    (SequenceFuse, {"kind": "sequence-fuse", "sequence": ["a.b", "a.c", "a.d"], "occurrences": 3}),
    (KeyCluster, {"keys": ["a", "b"], "calls": 2}),
]


@pytest.mark.requirement("ENT-040", "ENT-054", "ENT-078")
@pytest.mark.parametrize(("record", "form"), FORMS)
def test_encoding_then_decoding_is_the_identity(record: type[Record], form: dict[str, Any]) -> None:
    read = record.from_json(form)
    assert read.to_json() == form
    assert record.from_json(read.to_json()) == read


@pytest.mark.parametrize(("record", "form"), FORMS)
def test_an_unknown_field_is_refused(record: type[Record], form: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="unknown field"):
        record.from_json({**form, "surprise": 1})


@pytest.mark.requirement("ENT-040")
def test_records_read_like_the_dictionaries_they_stand_for() -> None:
    surface = Surface.from_json({"version": 1, "actions": [{"ref": "a.b", "inputSchema": True}]})
    assert surface["actions"] == [{"ref": "a.b", "inputSchema": True}]
    assert "version" in surface
    assert surface.get("nothing") is None


def test_a_count_of_one_may_be_left_out() -> None:
    assert ValueObservation.from_json({"ref": "a.b", "key": "k", "value": "x"}).count == 1


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"ref": ""},
        {"ref": "r" * 1_025},
        {"baseSchemaDigest": "0" * 63},
        {"baseSchemaDigest": "g" * 64},
        {"baseSchemaDigest": "0" * 64 + "\n"},
        {"rules": []},
        {"rules": [{"kind": "key-form", "key": "k"}] * 129},
        {"rules": [{"kind": "default-value", "key": "k"}]},
        {"rules": [{"kind": "key-form", "key": "k" * 129}]},
        {"rules": [{"kind": "key-form"}]},
    ],
)
def test_a_plan_has_bounds(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        NormalFormPlan.from_json({**FORMS[0][1], **change})
