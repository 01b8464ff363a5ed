"""The guard accepts exactly the form of the design, and says why it refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from toolfabric.errors import RecordError
from toolfabric.trace.bounds import encode
from toolfabric.trace.reader import parse_trace, read_trace
from toolfabric.trace.records import Trace

DIGEST = "ab" * 32


def operation(sequence: object = 1, **more: Any) -> dict[str, Any]:
    return {
        "type": "call",
        "sequence": sequence,
        "ref": "pi.read",
        "args": {},
        "outcome": "succeeded",
        **more,
    }


def envelope(*operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": ["look"],
        "operations": list(operations),
        "counts": {"droppedValues": 0, "truncatedValues": 1, "redactedValues": 2, "droppedOperations": 3},
        **more,
    }


def witness(**more: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "baseSchemaDigest": DIGEST,
        "beforeShape": DIGEST,
        "afterShape": DIGEST,
        "rules": [{"kind": "numeric-string", "key": "limit"}],
        **more,
    }


FULL = operation(
    7,
    provider="pi",
    action="read",
    args={"path": "a", "limit": 3},
    outcome="failed",
    failureStage="invoke",
    error="The provider failed.",
    result={"created": True},
    normalization=witness(),
)


@pytest.mark.requirement("ENT-031", "ENT-034")
def test_a_trace_with_every_field_is_read_and_written_back_the_same() -> None:
    value = envelope(operation(), FULL, error="The execution failed.")
    before = copy.deepcopy(value)
    trace = read_trace(value)
    assert trace.to_json() == before == value
    assert parse_trace(value) == trace == Trace.from_json(value)


@pytest.mark.parametrize(
    "value",
    [
        envelope(),
        envelope(phases=[""]),
        envelope(operation(0)),
        envelope(operation(1), operation(5), operation(6)),
        envelope(operation(result=None)),
        envelope(operation(outcome="failed")),
        envelope(operation(args={"deep": {"list": [1, {"x": None}]}})),
    ],
)
def test_what_the_rules_allow_is_read(value: object) -> None:
    assert read_trace(value).to_json() == value


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        [],
        {},
        envelope(kind="other"),
        envelope(kind=None),
        envelope(version=2),
        envelope(version=True),
        envelope(version="1"),
        envelope(extra=1),
        envelope(error=None),
        envelope(outcome="done"),
        envelope(outcome="\ud800"),
        envelope(phases=None),
        envelope(phases=[1]),
        envelope(phases="look"),
        envelope(operations={}),
        envelope(operations=None),
        {key: value for key, value in envelope().items() if key != "counts"},
        envelope(counts={"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0}),
        envelope(counts={**envelope()["counts"], "more": 0}),
        envelope(counts={**envelope()["counts"], "droppedValues": -1}),
        envelope(counts={**envelope()["counts"], "droppedValues": None}),
        envelope(counts={**envelope()["counts"], "droppedValues": True}),
        envelope(counts={**envelope()["counts"], "droppedValues": 0.5}),
        envelope({key: value for key, value in operation().items() if key != "type"}),
        envelope(operation(type="event")),
        envelope(operation(extra=1)),
        envelope(operation(sequence=-1)),
        envelope(operation(sequence=True)),
        envelope(operation(sequence="1")),
        envelope(operation(ref="")),
        envelope(operation(ref=None)),
        envelope(operation(provider=None)),
        envelope(operation(action=None)),
        envelope(operation(args=None)),
        envelope(operation(args=[])),
        envelope(operation(outcome=None)),
        envelope(operation(failureStage=None)),
        envelope(operation(failureStage="normalize")),
        envelope(operation(error=None)),
        envelope(operation(normalization=None)),
        envelope(operation(1), operation(1)),
        envelope(operation(2), operation(1)),
    ],
)
def test_what_breaks_a_rule_is_refused(value: object) -> None:
    assert parse_trace(value) is None
    with pytest.raises(RecordError, match="not an execution trace"):
        read_trace(value)


@pytest.mark.parametrize(
    "bad",
    [
        witness(version=2),
        witness(baseSchemaDigest="short"),
        witness(beforeShape=None),
        witness(rules=[]),
        witness(rules=[{"kind": "rename", "key": "a"}]),
        witness(rules=[{"kind": "key-form"}]),
        witness(rules=[{"kind": "key-form", "key": "a", "to": "b"}]),
        witness(rules=[{"kind": "key-form", "key": "a"}] * 129),
        witness(more=1),
        {},
        [],
    ],
)
def test_a_witness_that_is_not_well_formed_spoils_the_trace(bad: object) -> None:
    assert parse_trace(envelope(operation(normalization=witness()))) is not None
    assert parse_trace(envelope(operation(normalization=bad))) is None


def test_fifteen_levels_are_read_and_sixteen_are_not() -> None:
    def nested(levels: int) -> dict[str, Any]:
        inner: Any = 1
        for _ in range(levels - 4):
            inner = [inner]
        return envelope(operation(args={"value": inner}))

    assert parse_trace(nested(15)) is not None
    assert parse_trace(nested(16)) is None


def test_half_a_mebibyte_is_read_and_one_byte_more_is_not() -> None:
    room = 524_288 - len(encode(envelope(operation(args={"value": ""}))))
    assert parse_trace(envelope(operation(args={"value": "x" * room}))) is not None
    assert parse_trace(envelope(operation(args={"value": "x" * (room + 1)}))) is None
    assert parse_trace(envelope(operation(args={"value": "é" * (room // 2 + 1)}))) is None


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (envelope(outcome="\x1b[2Jdone"), r"not one of the known values - at `\$\.outcome`$"),
        (
            envelope(operation(failureStage="soon")),
            r"known values - at `\$\.operations\[0\]\.failureStage`$",
        ),
        (envelope(operation(2), operation(1)), "sequence 1 follows 2"),
        (envelope(version=3), "version is not 1"),
        (envelope(**{"\x1b[2J" * 100: 1}), r"unknown field .{1,300}$"),
    ],
)
def test_a_refusal_says_where_and_never_repeats_the_value(value: object, told: str) -> None:
    with pytest.raises(RecordError, match=told) as refused:
        read_trace(value)
    assert "done" not in str(refused.value)
    assert "soon" not in str(refused.value)
    assert str(refused.value).isprintable()


class _Trap(dict[str, Any]):
    def get(self, *_args: object) -> Any:
        raise RuntimeError


class _Colliding:
    def __hash__(self) -> int:
        return hash("kind")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError


@pytest.mark.parametrize("value", [_Trap(), {_Colliding(): 1}, envelope(operation(args=_Trap()))])
def test_objects_that_only_look_like_json_are_refused_without_running_their_code(value: object) -> None:
    assert parse_trace(value) is None
