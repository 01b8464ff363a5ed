"""A plan is what the schema alone gives, and a plan that is anything else is not proved."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy import canonical_digest, derive_normal_form_plan, proves_normal_form_plan
from toolfabric.entropy.form_checks import forgeries
from toolfabric.entropy.probes import REF, SCHEMA
from toolfabric.entropy.records import NormalFormPlan
from toolfabric.values import Json, JsonObject


def closed(properties: Any, **more: Any) -> JsonObject:
    return {"type": "object", "additionalProperties": False, "properties": properties, **more}


def rules(schema: object) -> list[tuple[str, str]] | None:
    plan = derive_normal_form_plan("a.b", schema)
    return None if plan is None else [(rule.kind, rule.key) for rule in plan.rules]


@pytest.mark.requirement("ENT-006", "ENT-041", "ENT-051", "ENT-054")
def test_a_plan_names_its_ref_its_schema_and_its_rules_in_order() -> None:
    schema = closed(
        {
            "limit": {"type": "integer"},
            "Mode": {"type": "string", "enum": ["on", "off"]},
            "path": {"type": "string"},
        },
        required=["path"],
    )
    plan = derive_normal_form_plan("a.b", schema)
    assert plan is not None
    assert plan.to_json() == {
        "version": 1,
        "ref": "a.b",
        "baseSchemaDigest": canonical_digest(schema),
        "rules": [
            {"kind": "key-form", "key": "Mode"},
            {"kind": "optional-null", "key": "Mode"},
            {"kind": "enum-form", "key": "Mode"},
            {"kind": "key-form", "key": "limit"},
            {"kind": "optional-null", "key": "limit"},
            {"kind": "numeric-string", "key": "limit"},
            {"kind": "key-form", "key": "path"},
        ],
    }
    assert NormalFormPlan.from_json(plan.to_json()) == plan


@pytest.mark.requirement("ENT-041")
def test_the_digest_binds_to_the_exact_declaration_and_not_to_the_order_of_its_keys() -> None:
    plan = derive_normal_form_plan("a.b", closed({"a": {"type": "integer"}, "b": {"type": "string"}}))
    turned = derive_normal_form_plan(
        "a.b",
        {
            "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
            "additionalProperties": False,
            "type": "object",
        },
    )
    described = derive_normal_form_plan(
        "a.b", closed({"a": {"type": "integer"}, "b": {"type": "string"}}, title="x")
    )
    assert plan == turned
    assert plan is not None
    assert described is not None
    assert plan.base_schema_digest != described.base_schema_digest
    assert not proves_normal_form_plan(
        plan, closed({"a": {"type": "integer"}, "b": {"type": "string"}}, title="x")
    )


@pytest.mark.requirement("ENT-060")
def test_words_that_people_read_make_no_rule() -> None:
    plain = closed({"a": {"type": "boolean"}}, required=["a"])
    worded = closed(
        {"a": {"type": "boolean", "description": "send 'yes' or 'no'", "default": True, "examples": ["yes"]}},
        required=["a"],
        description="numbers may be sent as text; null means false",
    )
    assert rules(plain) == rules(worded) == [("key-form", "a")]


@pytest.mark.requirement("ENT-052", "ENT-053")
@pytest.mark.parametrize("keyword", ["patternProperties", "oneOf", "anyOf", "allOf", "$ref", "if", "not"])
@pytest.mark.parametrize("value", [None, False, True, {}, [], [{}], "#"])
def test_a_forbidden_keyword_forbids_by_being_there(keyword: str, value: Json) -> None:
    assert rules(closed({"limit": {"type": "integer"}}, **{keyword: value})) is None


@pytest.mark.requirement("ENT-005", "ENT-052", "ENT-053")
@pytest.mark.parametrize(
    "schema",
    [
        *(None, True, False, 1, "object", [], {}, {"type": "object"}),
        {"type": "object", "properties": {"limit": {"type": "integer"}}},
        {"type": "object", "properties": {"limit": {"type": "integer"}}, "additionalProperties": True},
        {"type": "object", "properties": {"limit": {"type": "integer"}}, "additionalProperties": {}},
        {"type": "object", "properties": {"limit": {"type": "integer"}}, "additionalProperties": 0},
        {"type": "object", "properties": {"limit": {"type": "integer"}}, "unevaluatedProperties": False},
        {"type": ["object"], "properties": {"limit": {"type": "integer"}}, "additionalProperties": False},
        {"type": "array", "properties": {"limit": {"type": "integer"}}, "additionalProperties": False},
        {"properties": {"limit": {"type": "integer"}}, "additionalProperties": False},
        {"type": "object", "properties": [], "additionalProperties": False},
        {"type": "object", "properties": None, "additionalProperties": False},
    ],
)
def test_what_is_no_closed_object_justifies_no_plan(schema: object) -> None:
    assert rules(schema) is None


@pytest.mark.requirement("ENT-053")
@pytest.mark.parametrize("key", ["__proto__", "prototype", "constructor", "k" * 129])
def test_one_unsafe_name_forbids_the_whole_plan(key: str) -> None:
    assert rules(closed({"limit": {"type": "integer"}, key: {"type": "string"}})) is None


@pytest.mark.requirement("ENT-054")
def test_bounds_are_met_exactly() -> None:
    assert rules(closed({"k" * 128: True})) is None
    assert rules(closed({"k" * 128: {}})) == [("key-form", "k" * 128)]
    most = {f"p{at:03}": {"type": "string"} for at in range(128)}
    assert rules(closed({**most, "q": {"type": "string"}})) is None
    found = rules(closed(most))
    assert found is not None
    assert len(found) == 128
    assert found[-1] == ("optional-null", "p063")


@pytest.mark.parametrize(
    ("ref", "usable"),
    [("", False), ("r" * 1_024, True), ("r" * 1_025, False), ("r\ud800", False), ("  ", False)],
)
def test_a_ref_has_1_to_1024_characters_that_can_be_written_down(ref: str, usable: bool) -> None:  # noqa: FBT001 - a parameter
    schema = closed({"limit": {"type": "integer"}})
    plan = derive_normal_form_plan(ref, schema)
    assert (plan is not None) == usable
    if not usable and ref.strip():
        forged: JsonObject = {
            "version": 1,
            "ref": ref,
            "baseSchemaDigest": canonical_digest(schema),
            "rules": [{"kind": "key-form", "key": "limit"}],
        }
        assert not proves_normal_form_plan(forged, schema)


def test_no_rules_are_no_plan() -> None:
    assert rules(closed({})) is None
    assert rules(closed({"größe": {"type": ["string", "null"]}})) is None
    assert rules(closed({"a": True, "b": False})) is None


@pytest.mark.requirement("ENT-055")
def test_keys_of_one_form_have_no_key_rule_and_boolean_schemas_collide_too() -> None:
    schema = closed(
        {"a_b": {"type": "string"}, "aB": True, "c": {"type": "string"}}, required=["a_b", "aB", "c"]
    )
    assert rules(schema) == [("key-form", "c")]


@pytest.mark.requirement("ENT-058", "ENT-059")
@pytest.mark.parametrize(
    ("inner", "required", "omitted"),
    [
        ({"type": "string"}, False, True),
        ({"type": "string"}, True, False),
        ({"type": ["string", "null"]}, False, False),
        ({}, False, False),
        ({"enum": ["a", None]}, False, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, False, False),
        ({"$ref": "#/$defs/nullable"}, False, False),
        ({"$ref": "#/$defs/plain"}, False, True),
        ({"not": {"type": "null"}}, False, True),
    ],
)
def test_null_is_omitted_only_where_it_is_optional_and_the_property_rejects_it(
    inner: JsonObject,
    required: bool,  # noqa: FBT001 - a parameter
    omitted: bool,  # noqa: FBT001 - a parameter
) -> None:
    schema = closed(
        {"x": inner}, **{"$defs": {"nullable": {"type": ["string", "null"]}, "plain": {"type": "string"}}}
    )
    if required:
        schema["required"] = ["x"]
    found = rules(schema)
    assert found is not None
    assert (("optional-null", "x") in found) == omitted


@pytest.mark.requirement("ENT-057")
@pytest.mark.parametrize(
    ("kind", "numeric"),
    [
        ("number", True),
        ("integer", True),
        (["integer"], False),
        (["number", "null"], False),
        ("string", False),
        (None, False),
    ],
)
def test_numbers_are_read_from_text_only_for_a_type_that_is_exactly_one(kind: Json, numeric: bool) -> None:  # noqa: FBT001 - a parameter
    found = rules(closed({"x": {} if kind is None else {"type": kind}}))
    assert found is not None
    assert (("numeric-string", "x") in found) == numeric


@pytest.mark.requirement("ENT-056", "ENT-064")
@pytest.mark.parametrize(
    ("inner", "formed"),
    [
        ({"type": "string", "enum": ["a", "b"]}, True),
        ({"type": "string", "enum": ["fast", "FAST", "slow"]}, True),
        ({"type": "string", "enum": ["fast", "FAST"]}, False),
        ({"type": "string", "enum": ["1", "é"]}, False),
        ({"type": "string", "enum": ["a", 1]}, False),
        ({"type": "string", "enum": []}, False),
        ({"enum": ["a", "b"]}, False),
        ({"type": ["string"], "enum": ["a", "b"]}, False),
        ({"type": "string", "const": "a"}, False),
    ],
)
def test_members_have_a_rule_where_one_of_them_is_unique_in_form(inner: JsonObject, formed: bool) -> None:  # noqa: FBT001 - a parameter
    found = rules(closed({"x": inner})) or []
    assert (("enum-form", "x") in found) == formed


@pytest.mark.requirement("ENT-005")
@pytest.mark.parametrize(
    "schema",
    [
        closed({"x": {"type": "nonsense"}}),
        closed({"x": {"$ref": "#/$defs/missing"}}),
        closed({"x": {"$ref": "https://elsewhere.example/schema.json"}}),
        closed({"x": {"type": "string", "pattern": "("}}),
        closed({"x": {"type": "integer", "maximum": 2**53}}),
        closed({"x": {"type": "string", "title": "\ud800"}}),
        closed({"x": {"type": "number", "maximum": float("nan")}}),
        closed({"x": {"type": "number"}}, required="x"),
        closed({1: {"type": "number"}}),
        closed({"x": {"const": (1, 2)}}),
        {**closed({"x": {"type": "integer"}}), "$schema": "https://unknown.example/draft"},
    ],
)
def test_a_schema_that_does_not_compile_or_has_no_canonical_form_gives_no_plan(schema: object) -> None:
    assert rules(schema) is None


def test_a_deep_or_recursive_schema_gives_no_plan_or_a_plan_and_no_crash() -> None:
    deep: Any = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "array", "items": deep}
    assert rules(closed({"x": deep})) is None
    looped: Any = closed({"x": {"type": "string"}})
    looped["properties"]["loop"] = looped
    assert rules(looped) is None
    recursive = closed({"x": {"type": "integer"}, "child": {"$ref": "#"}})
    assert rules(recursive) == [
        *[("key-form", "child"), ("optional-null", "child")],
        *[("key-form", "x"), ("optional-null", "x"), ("numeric-string", "x")],
    ]


def test_a_schema_that_doubles_with_every_level_is_refused_in_bounded_time() -> None:
    bombs: Any = {
        f"b{at}": {"allOf": [{"$ref": f"#/$defs/b{at + 1}"}, {"$ref": f"#/$defs/b{at + 1}"}]}
        for at in range(40)
    }
    assert (
        rules(closed({"x": {"$ref": "#/$defs/b0"}}, **{"$defs": {**bombs, "b40": {"type": "string"}}}))
        is None
    )


@pytest.mark.requirement("ENT-074", "ENT-075", "ENT-102")
def test_a_plan_that_differs_in_any_way_is_not_proved() -> None:
    plan = derive_normal_form_plan(REF, SCHEMA)
    assert plan is not None
    assert proves_normal_form_plan(plan, SCHEMA)
    assert proves_normal_form_plan(plan.to_json(), SCHEMA)
    proved = [
        name
        for name, forged in forgeries(plan.to_json())
        if proves_normal_form_plan(forged, SCHEMA) and forged["ref"] == REF
    ]
    assert proved == []


@pytest.mark.parametrize("plan", [None, 1, "plan", [], {}, {"version": 1}])
def test_what_is_no_plan_is_not_proved(plan: Any) -> None:
    assert not proves_normal_form_plan(plan, SCHEMA)


@pytest.mark.requirement("ENT-075")
def test_a_matching_digest_alone_is_not_enough() -> None:
    schema = closed({"limit": {"type": "integer"}})
    forged: JsonObject = {
        "version": 1,
        "ref": "a.b",
        "baseSchemaDigest": canonical_digest(schema),
        "rules": [{"kind": "key-form", "key": "limit"}],
    }
    assert not proves_normal_form_plan(forged, schema)
