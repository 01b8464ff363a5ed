"""Values cut to a budget, and that the cut can be seen."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric._base.bounded import bound_json, bound_text
from toolfabric._base.json_form import NotJsonError, json_size
from toolfabric.values import Json, JsonObject

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(TEXT, inner, max_size=8),
    max_leaves=40,
)


@given(JSON, st.integers(min_value=128, max_value=4_000))
def test_the_result_fits_and_one_that_fitted_is_the_same_object(value: Json, budget: int) -> None:
    bounded = bound_json(value, budget)
    assert json_size(bounded.value) <= budget
    assert (bounded.value is value) == (json_size(value) <= budget) == (bounded.left_out == 0)
    if bounded.left_out:
        assert "left out]" in json.dumps(bounded.value)


@given(JSON, st.integers(min_value=128, max_value=1_000))
def test_cutting_is_deterministic_and_leaves_the_input_alone(value: Json, budget: int) -> None:
    before = json.dumps(value)
    assert json.dumps(bound_json(value, budget).value) == json.dumps(bound_json(value, budget).value)
    assert json.dumps(value) == before


def test_a_text_keeps_both_ends() -> None:
    cut = bound_text("a" * 500 + "z" * 500, 200)
    assert cut.startswith("aaaa")
    assert cut.endswith("zzzz")
    head, tail = cut.partition("…")[0], cut.rpartition("…")[2]
    assert f"…[{1_000 - len(head) - len(tail)} characters left out]…" in cut
    assert len(cut.encode()) <= 200


def test_a_text_is_cut_between_characters() -> None:
    cut = bound_text("漢" * 1_000, 300)
    assert len(cut.encode()) <= 300
    assert "\ufffd" not in cut


def test_an_array_says_how_many_items_are_missing() -> None:
    numbers: list[Json] = list(range(1_000))
    cut = bound_json(numbers, 200).value
    assert isinstance(cut, list)
    assert cut[:-1] == numbers[: len(cut) - 1]
    assert cut[-1] == f"…[{1_000 - len(cut) + 1} of 1000 items left out]"


def test_an_object_keeps_what_fits_and_gets_a_key_that_was_free() -> None:
    fields: JsonObject = {"…": 1, "small": "s", "large": "x" * 1_000, **{f"k{n}": n for n in range(200)}}
    cut = bound_json(fields, 400).value
    assert isinstance(cut, dict)
    assert (cut["…"], cut["small"]) == (1, "s")
    assert "characters left out" in str(cut["large"])
    assert "of 203 keys left out" in str(cut["……"])


def test_what_follows_a_large_member_has_room_too() -> None:
    cut = bound_json({"large": ["x" * 1_000, "last"], "after": "s" * 200}, 600).value
    assert isinstance(cut, dict)
    assert cut["after"] == "s" * 200
    large = cut["large"]
    assert isinstance(large, list)
    assert large[-1] == "last"


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(NotJsonError):
        bound_json({"a": {1, 2}}, 1_000)  # pyright: ignore[reportArgumentType] -- what a careless provider gives
