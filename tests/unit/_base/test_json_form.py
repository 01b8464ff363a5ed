"""What is JSON, how large and how deep, and where it is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric._base.json_form import (
    NotJsonError,
    copy_json,
    deeper_than,
    is_json,
    json_path,
    json_size,
    json_type,
)
from toolfabric.values import Json

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


class Word(StrEnum):
    ONE = "one"


class Mapping(dict[str, Any]):
    """A subclass is not plain."""


def nested(levels: int) -> Json:
    value: Json = 1
    for _level in range(levels):
        value = [value]
    return value


TYPES: list[tuple[object, str]] = [
    (None, "null"),
    (True, "boolean"),
    (1, "integer"),
    (1.0, "number"),
    ("", "string"),
    ([], "array"),
    ({}, "object"),
    ((), "tuple"),
]
DEPTHS: list[tuple[Json, int]] = [
    (1, 0),
    ("x", 0),
    ([], 1),
    ({}, 1),
    ([[], 1], 2),
    ({"a": [{}]}, 3),
    (nested(50), 50),
]


@given(JSON)
def test_the_size_is_a_near_upper_bound_of_the_compact_text(value: Json) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert len(text.encode()) <= json_size(value) <= 16 * len(text.encode())


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("", 2),
        ("abc", 5),
        ("é", 4),
        ("漢字" * 1_000_000, 6_000_002),
        ([], 2),
        ({"a": "b"}, 10),
        (7, 2),
        (-1_000, 5),
        (0.5, 24),
        (None, 5),
    ],
)
def test_text_is_counted_in_utf_8(value: Json, size: int) -> None:
    assert json_size(value) == size


@pytest.mark.parametrize(
    ("value", "where", "problem"),
    [
        ((1,), "$", "tuple"),
        ({"a": {1}}, "$.a", "set"),
        ({"a": [0, b"x"]}, "$.a[1]", "bytes"),
        ({"a": datetime(2020, 1, 1, tzinfo=UTC)}, "$.a", "datetime"),
        (Word.ONE, "$", "Word"),
        ([Mapping()], "$[0]", "Mapping"),
        ({1: 2}, "$", "a key is of the Python type int"),
        ([float("nan")], "$[0]", "NaN"),
        ({"x": float("-inf")}, "$.x", "infinities"),
        ("\ud800", "$", "surrogate"),
        ({"\udfff": 1}, '$["\\udfff"]', "surrogate"),
        ({"n": 2**2_000}, "$.n", "2001 bits"),
        ({"d": nested(300)}, "$.d" + "[0]" * 199, "more than the 200 levels"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_named_with_its_place(value: object, where: str, problem: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        json_size(value)
    assert str(caught.value).startswith(f"at {where}: ")
    assert problem in caught.value.problem


def test_lists_that_hold_each_other_are_refused_before_time_runs_out() -> None:
    value: list[Any] = []
    for _level in range(100):
        value = [value, value]
    with pytest.raises(NotJsonError, match="too many values"):
        json_size(value)
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(NotJsonError, match="levels"):
        json_size(ring)


@given(JSON)
def test_a_copy_is_equal_and_shares_no_container(value: Json) -> None:
    copy = copy_json(value)
    assert json.dumps(copy) == json.dumps(value)

    def containers(of: Json) -> set[int]:
        if not isinstance(of, dict | list):
            return set()
        inner = of.values() if isinstance(of, dict) else of
        return {id(of)}.union(*(containers(one) for one in inner))

    assert not containers(copy) & containers(value)


@pytest.mark.parametrize(("value", "depth"), DEPTHS)
def test_depth_counts_containers_in_one_another(value: Json, depth: int) -> None:
    assert not deeper_than(value, depth)
    assert depth == 0 or deeper_than(value, depth - 1)


def test_depth_of_lists_that_hold_each_other_is_found_at_once() -> None:
    value: list[Any] = []
    for _level in range(100):
        value = [value, value]
    assert deeper_than(value, 100)
    assert not deeper_than(value, 101)
    ring: list[Any] = []
    ring.append(ring)
    assert deeper_than(ring, 1_000)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "integer"),
        (1.0, "number"),
        ("", "string"),
        ([], "array"),
        ({}, "object"),
        ((), "tuple"),
    ],
)
def test_types_have_their_json_names(value: object, name: str) -> None:
    assert json_type(value) == name


def test_a_path_quotes_only_what_is_no_plain_name() -> None:
    assert json_path(("a", 0, "b_1")) == "$.a[0].b_1"
    assert json_path(("a b", 'q"\x1b')) == '$["a b"]["q\\u0022\\u001b"]'
    assert json_path(("k" * 100,)) == f'$["{"k" * 60}…"]'


def test_whether_it_is_json_agrees_with_its_size() -> None:
    assert is_json({"a": [1, None, "x"]})
    assert not is_json({"a": {1}})
    assert not is_json(float("nan"))
