"""Counting what a schema can ask for, without doing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from toolfabric._base.expansion import expansion, has_references, visits
from toolfabric.values import Json, JsonObject


def doubling(levels: int, keyword: str = "anyOf") -> JsonObject:
    """Each definition refers twice to the next."""
    definitions: JsonObject = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


def test_an_ordinary_schema_counts_what_applies_along_its_deepest_path() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"anyOf": [{"type": "null"}, {"type": "integer"}]}},
    }
    assert expansion(schema, at_most=100) == 4


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_doubling_references_are_counted_and_the_count_stops(keyword: str) -> None:
    assert expansion(doubling(3, keyword), at_most=10**6) == 1 + 4 * 8 - 3
    assert expansion(doubling(60, keyword), at_most=1_000) == 1_001


WAYS: Mapping[str, Callable[[JsonObject], JsonObject]] = {
    "properties": lambda inner: {"properties": {"a": inner}},
    "items": lambda inner: {"items": inner},
    "prefixItems": lambda inner: {"prefixItems": [inner]},
    "additionalProperties": lambda inner: {"additionalProperties": inner},
    "patternProperties": lambda inner: {"patternProperties": {"^a": inner}},
    "if": lambda inner: {"if": inner},
    "dependentSchemas": lambda inner: {"dependentSchemas": {"a": inner}},
}


@pytest.mark.parametrize("way", WAYS)
def test_doubling_is_seen_through_every_way_to_a_member(way: str) -> None:
    definitions: JsonObject = {}
    for n in range(30):
        inner = WAYS[way]({"$ref": f"#/$defs/d{n + 1}"})
        definitions[f"d{n}"] = {"allOf": [inner, inner]}
    schema: JsonObject = {"$ref": "#/$defs/d0", "$defs": {**definitions, "d30": {}}}
    assert expansion(schema, at_most=10_000) == 10_001


def test_several_patterns_can_fit_one_key() -> None:
    schema: JsonObject = {"patternProperties": {"^a": {"allOf": [{}, {}]}, "a$": {"allOf": [{}]}}}
    assert expansion(schema, at_most=100) == 1 + 3 + 2


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    ],
)
def test_a_loop_ends(schema: JsonObject) -> None:
    assert expansion(schema, at_most=100) < 10


def test_references_by_anchor_and_id_are_followed() -> None:
    inner: JsonObject = {"allOf": [{}, {}, {}]}
    anchored: JsonObject = {"$ref": "#here", "$defs": {"x": {"$anchor": "here", **inner}}}
    named: JsonObject = {
        "$id": "https://a.example/root",
        "$ref": "item",
        "$defs": {"x": {"$id": "item", **inner}},
    }
    pointed: JsonObject = {
        "$ref": "https://a.example/i#/$defs/y",
        "$defs": {"x": {"$id": "https://a.example/i", "$defs": {"y": inner}}},
    }
    for schema in (anchored, named, pointed):
        assert expansion(schema, at_most=100) == 5


@pytest.mark.parametrize(
    "ref", ["#/$defs/none", "https://a.example/none", "#none", "#/$defs/x/0/0", "#/$defs/list/9"]
)
def test_a_reference_that_leads_nowhere_counts_nothing(ref: str) -> None:
    assert expansion({"$ref": ref, "$defs": {"x": [], "list": [{}]}}, at_most=100) == 1


def test_pointers_are_unescaped() -> None:
    schema: JsonObject = {"$ref": "#/$defs/a~1b~0%20c", "$defs": {"a/b~ c": {"allOf": [{}, {}]}}}
    assert expansion(schema, at_most=100) == 4


def test_references_are_noticed_wherever_they_stand() -> None:
    assert has_references({"properties": {"a": {"items": [{"$dynamicRef": "#x"}]}}})
    assert not has_references({"properties": {"a": {"type": "string"}}})


def test_visits_are_counted_on_the_value_and_stop() -> None:
    member: JsonObject = {"properties": {"a": {"$ref": "#/$defs/n"}}}
    recursive: JsonObject = {
        "$ref": "#/$defs/n",
        "$defs": {"n": {"allOf": [member, member]}},
    }
    value: Json = {}
    assert visits(recursive, value, at_most=1_000) == 4
    for _level in range(40):
        value = {"a": value}
    assert visits(recursive, value, at_most=1_000) == 1_001


def test_visits_follow_items_and_named_members() -> None:
    schema: JsonObject = {"properties": {"a": {"items": {"type": "integer"}}, "b": {}}}
    assert visits(schema, {"a": [1, 2, 3], "c": 1}, at_most=100) == 1 + 1 + 3
    assert visits(schema, 3, at_most=100) == 1
