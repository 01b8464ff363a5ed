"""Violations as sentences: the place, the expectation, the nearest key, and never a value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric._base.validation import compile_schema
from toolfabric.values import Json, JsonObject

# Neither a word of the messages nor of a schema here.
SECRETS = st.builds("MARK{}".format, st.text()) | st.integers(min_value=10**9) | st.just(987654.25)
VALUES = st.recursive(
    SECRETS | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "limit", "mode", "kind", "q", "r", "u", "n"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)

CLOSED: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "mode": {"enum": ["a", "b"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}
BRANCH_B: JsonObject = {
    "type": "object",
    "properties": {"kind": {"const": "b"}, "q": {"type": "integer"}},
    "required": ["kind", "q"],
    "additionalProperties": False,
}
BRANCH_C: JsonObject = {
    "type": "object",
    "properties": {"kind": {"enum": ["c", "d"]}, "r": {"type": "string"}},
    "required": ["kind", "r"],
}
TAGGED: JsonObject = {
    "properties": {"u": {"oneOf": [{"$ref": "#/$defs/b"}, BRANCH_C]}},
    "$defs": {"b": BRANCH_B},
}
OPTIONAL: JsonObject = {"properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}


def told(schema: JsonObject, value: Json) -> list[str]:
    return [str(one) for one in compile_schema(schema).violations(value)]


@pytest.mark.parametrize(
    ("value", "sentences"),
    [
        (
            {"pth": "x"},
            [
                'at $.pth: not a declared key (did you mean "path"?)',
                'at $.path: required, and not there (was "pth" meant for it?)',
            ],
        ),
        ({"path": "x", "zzz": 1}, ["at $.zzz: not a declared key"]),
        ({"path": "x", "Path": 1}, ["at $.Path: not a declared key"]),
        ({}, ["at $.path: required, and not there"]),
        ({"path": 1}, ["at $.path: expected string, got integer"]),
        ({"path": "x", "limit": 0}, ["at $.limit: expected at least 1, got integer"]),
        ({"path": "x", "mode": "c"}, ['at $.mode: expected one of "a", "b", got string']),
        ([], ["at $: expected object, got array"]),
    ],
)
def test_a_closed_object(value: Json, sentences: list[str]) -> None:
    assert told(CLOSED, value) == sentences


@pytest.mark.parametrize(
    ("value", "sentences"),
    [
        (
            {"kind": "b", "q": "x", "z": 1},
            ["at $.u.q: expected integer, got string", "at $.u.z: not a declared key"],
        ),
        ({"kind": "c", "r": 1}, ["at $.u.r: expected string, got integer"]),
        ({"kind": "d"}, ["at $.u.r: required, and not there"]),
        ({"kind": "x", "q": 1}, ['at $.u.kind: expected "b" or one of "c", "d", got string']),
        ({"q": 1}, ["at $.u.kind: required, and not there"]),
        (3, ["at $.u: expected object, got integer"]),
    ],
)
def test_a_union_is_explained_by_the_branch_that_its_tag_names(value: Json, sentences: list[str]) -> None:
    assert told(TAGGED, {"u": value}) == sentences


def test_an_optional_value_says_all_its_types() -> None:
    assert told(OPTIONAL, {"n": "x"}) == ["at $.n: expected integer or null, got string"]


def test_a_union_without_a_tag_is_explained_by_the_branch_of_the_values_type() -> None:
    items: JsonObject = {"type": "array", "items": {"type": "string"}}
    assert told({"anyOf": [{"type": "string"}, items]}, ["a", 1]) == ["at $[1]: expected string, got integer"]


def test_a_union_whose_meant_branch_cannot_be_seen_says_so() -> None:
    schema: JsonObject = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "array"}]}
    assert told(schema, {}) == ["at $: expected one of the 3 forms that the schema allows, got object"]


def test_a_value_that_fits_two_exclusive_forms_says_so() -> None:
    schema: JsonObject = {"oneOf": [{"type": "string"}, {"minLength": 1}]}
    assert told(schema, "x") == ["at $: expected exactly one of the forms that the schema allows, got string"]


def test_a_union_inside_a_union_is_explained_all_the_way() -> None:
    schema: JsonObject = {
        "anyOf": [{"type": "null"}, {"properties": {"u": {"oneOf": [BRANCH_B, BRANCH_C]}}, "type": "object"}]
    }
    assert told(schema, {"u": {"kind": "b", "q": "x"}}) == ["at $.u.q: expected integer, got string"]


KEYWORDS: list[tuple[JsonObject, Json, str]] = [
    ({"const": 3}, 4, "3"),
    ({"exclusiveMinimum": 3}, 3, "more than 3"),
    ({"exclusiveMaximum": 3}, 3, "less than 3"),
    ({"maximum": 3}, 4, "at most 3"),
    ({"multipleOf": 3}, 4, "a multiple of 3"),
    ({"minLength": 3}, "ab", "at least 3 characters"),
    ({"maxLength": 1}, "ab", "at most 1 characters"),
    ({"pattern": "^[a-z]+$"}, "A", 'text that matches "^[a-z]+$"'),
    ({"minItems": 2}, [1], "at least 2 items"),
    ({"maxItems": 0}, [1], "at most 0 items"),
    ({"uniqueItems": True}, [1, 1], "items that all differ"),
    ({"contains": {"type": "string"}}, [1], "an item that the schema's contains describes"),
    ({"minProperties": 1}, {}, "at least 1 keys"),
    ({"maxProperties": 0}, {"a": 1}, "at most 0 keys"),
    ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, 'keys that are text that matches "^a"'),
    ({"not": {}}, 1, "something that the schema's not does not describe"),
    ({"type": ["string", "null"]}, 1, "null or string"),
    ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "no further items"),
    ({"enum": list(range(20))}, 99, "one of 0, 1, 2, 3, 4, 5, 6, 7, …"),
]


@pytest.mark.parametrize(
    ("schema", "value", "expected"), KEYWORDS, ids=[str(next(iter(row[0]))) for row in KEYWORDS]
)
def test_every_keyword_says_what_it_expects(schema: JsonObject, value: Json, expected: str) -> None:
    (violation,) = compile_schema(schema).violations(value)
    assert violation.expected == expected


def test_a_forbidden_key_and_one_that_another_demands_are_told_at_their_place() -> None:
    assert told({"properties": {"a": False}}, {"a": 1}) == [
        "at $.a: expected nothing at all here, got integer"
    ]
    assert told({"dependentRequired": {"a": ["b"]}}, {"a": 1}) == ["at $.b: required, and not there"]
    assert told({"unevaluatedProperties": False}, {"z": 1}) == ["at $.z: not a declared key"]


def test_declared_keys_are_looked_up_where_the_failed_schema_stands() -> None:
    schema: JsonObject = {"properties": {"o": {"$ref": "#/$defs/o"}}, "$defs": {"o": CLOSED}}
    assert told(schema, {"o": {"path": "x", "limits": 1}}) == [
        'at $.o.limits: not a declared key (did you mean "limit"?)'
    ]


def test_no_value_is_ever_told_and_no_key_or_schema_steers_a_terminal() -> None:
    schema: JsonObject = {
        "properties": {"e": {"enum": ["\x1b[31m", "x" * 500]}, "p": {"type": "integer"}, "\x1b[2Jq": {}},
        "additionalProperties": False,
    }
    value: Json = {"e": "MARKER", "p": "MARKER", "\x1b[2J": "MARKER", "k" * 500: {"MARKER": 1}}
    text = "\n".join(told(schema, value))
    assert "MARKER" not in text
    assert text.replace("\n", "").isprintable()
    assert len(text) < 1_200


@given(VALUES)
def test_whatever_the_value_no_sentence_repeats_a_part_of_it(value: Json) -> None:
    others: list[JsonObject] = [{"type": "string", "pattern": "^$"}, {"maximum": 1}]
    schemas = [CLOSED, TAGGED, OPTIONAL, BRANCH_B, *others]
    text = "\n".join(line for schema in schemas for line in told(schema, value))
    assert "MARK" not in text
    for number in numbers(value):
        assert str(number) not in text


def numbers(value: Json) -> list[int | float]:
    """Every number in a value; booleans are none."""
    match value:
        case bool():
            return []
        case int() | float():
            return [value]
        case list():
            return [found for item in value for found in numbers(item)]
        case dict():
            return [found for item in value.values() for found in numbers(item)]
        case _:
            return []
