"""Shapes of arguments, their distance, and the freedom of a schema."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.entropy import schema_freedom, shape_signature, signature_distance
from toolfabric.values import Json


@pytest.mark.parametrize(
    ("args", "shape"),
    [
        ({}, "()"),
        ({"b": 1, "a": "x"}, "(a:str,b:num)"),
        ({"n": None, "l": [], "t": True, "f": 0.5}, "(f:num,l:arr,n:null,t:bool)"),
        ({"o": {}}, "(o:{})"),
        ({"o": {"b": {"c": {"d": 1}}, "a": 1}}, "(o:{a:num,b:{c:obj}})"),
        ({"\U0001f600": 1, "\uffee": 2}, "(\U0001f600:num,\uffee:num)"),
    ],
)
def test_a_shape_tells_keys_and_kinds_and_no_values(args: Json, shape: str) -> None:
    assert shape_signature(args) == shape


def test_what_is_no_json_is_other() -> None:
    odd: Any = {"s": (1,), "b": b""}
    assert shape_signature(odd) == "(b:other,s:other)"


def test_a_level_shows_at_most_thirty_two_keys() -> None:
    args: Any = {f"k{at:02}": 1 for at in range(35)}
    shape = shape_signature(args)
    assert shape.endswith("k31:num,…+3)")
    assert shape_signature({"o": args}) == f"(o:{{{shape[1:-1]}}})"
    assert "…" not in shape_signature({key: args[key] for key in list(args)[:32]})


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0.0),
        ("", "abc", 1.0),
        ("abc", "abc", 0.0),
        ("kitten", "sitting", 0.428571),
        ("(a:str)", "(a:num)", 0.428571),
        ("\U0001f600", "a", 1.0),
        ("\U0001f600", "\U0001f601", 0.5),
    ],
)
def test_distance_counts_edits_of_utf16_code_units(a: str, b: str, distance: float) -> None:
    assert signature_distance(a, b) == distance


def _table(a: list[int], b: list[int]) -> int:
    row = list(range(len(b) + 1))
    for at, one in enumerate(a, start=1):
        before, row = row, [at]
        for to, other in enumerate(b, start=1):
            row.append(min(before[to] + 1, row[-1] + 1, before[to - 1] + (one != other)))
    return row[-1]


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[at] | data[at + 1] << 8 for at in range(0, len(data), 2)]


@given(
    st.text("ab:,\u00e9\U0001f600\U0001f601\ud83d", max_size=80),
    st.text("ab:,\u00e9\U0001f600\ud83d", max_size=80),
)
def test_distance_is_that_of_the_whole_table(a: str, b: str) -> None:
    left, right = _units(a), _units(b)
    expected = math.floor(_table(left, right) / max(len(left), len(right), 1) * 1e6 + 0.5) / 1e6
    assert signature_distance(a, b) == expected
    assert signature_distance(b, a) == expected


def test_long_shapes_are_compared_in_bounded_time() -> None:
    assert signature_distance("ab" * 10_000, "ba" * 10_000) == 0.0001


_FREEDOMS: list[tuple[object, float]] = [
    (True, 0.5),
    (None, 0.5),
    ([], 0.5),
    ({}, 0.75),
    ({"type": "string"}, 1),
    ({"type": "number"}, 0.5),
    ({"type": "integer"}, 0.5),
    ({"type": "boolean"}, 0.1),
    ({"type": "null"}, 0.75),
    ({"type": ["string", "null"]}, 0.75),
    ({"const": 5, "type": "string"}, 0),
    ({"enum": [1]}, 0),
    ({"enum": []}, 0),
    ({"enum": ["a", "b"], "type": "string"}, 0.166667),
    ({"enum": list(range(64))}, 1),
    ({"enum": list(range(65))}, 1),
    ({"type": "array"}, 0.75),
    ({"type": "array", "items": {"type": "string"}}, 1),
    ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, 0.63208),
    ({"anyOf": []}, 0),
    ({"anyOf": [{"type": "string"}, {"type": "number"}, {"const": 1}]}, 1.2),
    ({"oneOf": [{"const": 1}]}, 0),
    ({"anyOf": [{"const": 1}], "oneOf": [{"type": "string"}]}, 0),
    ({"anyOf": "?", "oneOf": [{"type": "boolean"}], "enum": [1]}, 0.1),
    ({"type": "object"}, 1),
    ({"type": "object", "properties": {}}, 1),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, 1.75),
    ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, 1.5),
    ({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}, 1.25),
    ({"type": "object", "properties": {"a": True}, "required": ["a"], "additionalProperties": {}}, 1),
]


@pytest.mark.parametrize(("schema", "freedom"), _FREEDOMS)
def test_freedom_follows_the_table(schema: object, freedom: float) -> None:
    assert schema_freedom(schema) == freedom


def test_freedom_looks_four_levels_deep() -> None:
    def nested(levels: int, leaf: object) -> object:
        schema: object = leaf
        for _ in range(levels):
            schema = {
                "type": "object",
                "properties": {"x": schema},
                "required": ["x"],
                "additionalProperties": False,
            }
        return schema

    assert schema_freedom(nested(3, {"const": 1})) == 0
    assert schema_freedom(nested(4, {"const": 1})) == 0.5
    assert schema_freedom(nested(300, {"const": 1})) == 0.5


def test_halves_of_a_millionth_go_up_exactly() -> None:
    # 0.5 + 0.5 * 0.166667 = 0.5833335, of which the nearest double is a little less.
    assert schema_freedom({"type": "array", "items": {"enum": [1, 2]}}) == 0.583334
