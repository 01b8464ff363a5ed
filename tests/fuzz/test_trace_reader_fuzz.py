"""The guard takes anything at all: it answers, soon, and never raises."""

from __future__ import annotations

import copy
import json
import random
from collections import OrderedDict, UserDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.trace.bounds import ENVELOPE_BYTES, encode
from toolfabric.trace.reader import parse_trace
from toolfabric.trace.seal import trace_from_events

DIGEST = "0" * 64
VALID: dict[str, Any] = {
    "kind": "pi-fabric.execution",
    "version": 1,
    "outcome": "failed",
    "phases": ["look", ""],
    "operations": [
        {
            "type": "call",
            "sequence": 1,
            "ref": "pi.read",
            "provider": "pi",
            "action": "read",
            "args": {"path": "a", "limit": 3, "deep": [{"x": None}]},
            "outcome": "failed",
            "failureStage": "invoke",
            "error": "The provider failed.",
            "result": None,
            "normalization": {
                "version": 1,
                "baseSchemaDigest": DIGEST,
                "beforeShape": DIGEST,
                "afterShape": DIGEST,
                "rules": [{"kind": "key-form", "key": "path"}],
            },
        },
        {"type": "call", "sequence": 4, "ref": "x.y", "args": {}, "outcome": "succeeded"},
    ],
    "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 1, "droppedOperations": 0},
    "error": "The execution failed.",
}


class Angry:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __hash__(self) -> int:
        return hash("nothing of the kind")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError


class AngryDict(dict[Any, Any]):
    def __iter__(self) -> Any:
        raise RuntimeError

    def __getitem__(self, key: object) -> Any:
        raise RuntimeError

    def get(self, *_args: object) -> Any:
        raise RuntimeError

    def items(self) -> Any:
        raise RuntimeError


def oddities() -> list[Any]:
    """Values that have no place in a trace, or none in JSON."""
    cycle: list[Any] = []
    cycle.append(cycle)
    return [
        None, True, -1, 0.5, 2**53, 10**5000, float("nan"), float("inf"), "", "\ud800", "x" * 600_000,
        [], {}, [None], {"": 0}, {1: 2}, (1,), {1}, b"", object(), Angry(), AngryDict(kind=1), cycle,
        UserDict(VALID), OrderedDict(VALID), int, parse_trace, [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]],
    ]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every part of a JSON value."""
    found = [path]
    if isinstance(value, dict | list):
        pairs: Any = value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- any JSON
        for key, inner in pairs:
            found += places(inner, (*path, key))
    return found


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with one part replaced."""
    if not path:
        return new
    copied = copy.deepcopy(value)
    part = copied
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = new
    return copied


def answer(value: object) -> None:
    """Ask the guard; what it takes comes back the same, and is within the bound."""
    trace = parse_trace(value)
    if trace is not None:
        assert trace.to_json() == value
        assert len(encode(trace.to_json())) <= ENVELOPE_BYTES


def test_the_valid_trace_is_taken() -> None:
    assert parse_trace(VALID) is not None


@pytest.mark.parametrize("path", places(VALID), ids=str)
def test_anything_in_any_place_is_answered(path: tuple[Any, ...]) -> None:
    for odd in oddities():
        answer(put(VALID, path, odd))


@pytest.mark.parametrize(
    "path", [path for path in places(VALID) if path and isinstance(path[-1], str)], ids=str
)
def test_a_part_left_out_or_one_too_many_is_answered(path: tuple[Any, ...]) -> None:
    without = copy.deepcopy(VALID)
    part: Any = without
    for step in path[:-1]:
        part = part[step]
    part["more"] = 1
    answer(without)
    del part[path[-1]]
    answer(without)
    part[Angry()] = 1
    assert parse_trace(without) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)


@given(json_values)
def test_any_json_is_answered(value: object) -> None:
    answer(value)
    answer({"kind": "pi-fabric.execution", "version": 1, "operations": value})
    answer({**VALID, "phases": value})


@given(st.sampled_from(places(VALID)), json_values)
def test_any_json_in_any_place_is_answered(path: tuple[Any, ...], value: object) -> None:
    answer(put(VALID, path, value))


def mutations(seed: int, count: int) -> None:
    """Damage the bytes of a valid trace and read what is still JSON."""
    chance = random.Random(seed)  # noqa: S311 -- which damage, not whose secret
    source = json.dumps(VALID).encode()
    for _ in range(count):
        damaged = bytearray(source)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(damaged))
            match chance.randrange(3):
                case 0:
                    damaged[at] = chance.randrange(256)
                case 1:
                    del damaged[at : at + chance.randint(1, 8)]
                case _:
                    damaged[at:at] = damaged[chance.randrange(len(damaged)) :][: chance.randint(1, 30)]
        try:
            value = json.loads(bytes(damaged))
        except (ValueError, RecursionError):
            continue
        answer(value)


def test_damaged_bytes_are_answered() -> None:
    mutations(seed=1, count=3_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_damaged_bytes_are_answered(seed: int) -> None:
    mutations(seed=seed, count=50_000)


@given(st.lists(st.dictionaries(st.sampled_from(["event", "operation", "counts", "name"]), json_values)))
def test_any_events_fold_into_a_trace_that_the_guard_takes(events: Any) -> None:
    assert parse_trace(trace_from_events(events).to_json()) is not None


@given(st.sampled_from(places(VALID["operations"][0])), json_values, st.sampled_from(["issue", "settle"]))
def test_a_damaged_event_folds_into_a_trace_that_the_guard_takes(
    path: tuple[Any, ...], value: object, kind: str
) -> None:
    event: Any = {"event": kind, "operation": put(VALID["operations"][0], path, value), "counts": value}
    assert parse_trace(trace_from_events([event]).to_json()) is not None
