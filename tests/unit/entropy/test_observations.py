"""Values that arguments were given, counted as equal or apart."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy.observations import Observations, is_observed, observed_values, spell, text_order
from toolfabric.entropy.records import ValueObservation


@pytest.mark.parametrize(
    ("ref", "outcome", "observed"),
    [
        ("a.b", "succeeded", True),
        ("a.b", "failed", False),
        ("a.b", "aborted", False),
        ("a.b", "timed_out", False),
        ("fabric.discovery.search", "succeeded", False),
        ("fabric.anything", "succeeded", False),
        ("fabrication.x", "succeeded", True),
    ],
)
def test_only_successful_calls_of_others_are_observed(ref: str, outcome: str, *, observed: bool) -> None:
    assert is_observed(ref, outcome) == observed


def test_texts_numbers_and_booleans_at_the_top_are_values() -> None:
    args = {"s": "x", "n": 1, "f": 0.5, "b": True, "nothing": None, "list": [1], "object": {"s": "x"}}
    assert dict(observed_values(args)) == {"s": "x", "n": 1, "f": 0.5, "b": True}


@pytest.mark.parametrize("args", [None, 5, "x", [1], {1: "x"}])
def test_what_is_no_object_has_no_values(args: Any) -> None:
    assert list(observed_values(args)) == []


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (True, ("boolean", "true")),
        (False, ("boolean", "false")),
        ("true", ("string", "true")),
        (1, ("number", "1")),
        (1.0, ("number", "1")),
        ("1", ("string", "1")),
        (-0.0, ("number", "0")),
        (1e21, ("number", "1e+21")),
        (2**60, ("number", str(2**60))),
        (2**5_000, ("number", hex(2**5_000))),
    ],
)
def test_a_value_has_a_type_and_a_text(value: Any, spelled: tuple[str, str]) -> None:
    assert spell(value) == spelled


def test_values_stand_by_type_then_text_in_code_units() -> None:
    values: list[Any] = ["\uffee", "\U0001f600", "b", 10, 2, True, "a"]
    assert sorted(map(spell, values), key=text_order) == [
        spell(value) for value in (True, 10, 2, "a", "b", "\U0001f600", "\uffee")
    ]


def test_equal_numbers_are_one_value_whatever_came_first() -> None:
    def rows(values: list[Any]) -> tuple[ValueObservation, ...]:
        observed = Observations()
        for value in values:
            observed.add_call("a.b", {"x": value})
        return observed.rows()

    first = rows([1, 1.0, True, "1"])
    turned = rows(["1", True, 1.0, 1])
    assert first == turned
    assert [type(row.value) for row in first] == [type(row.value) for row in turned]
    assert [(row.value, type(row.value), row.count) for row in first] == [
        (True, bool, 1),
        (1, int, 2),
        ("1", str, 1),
    ]


def test_rows_stand_by_ref_key_type_and_text() -> None:
    observed = Observations()
    for ref, key, value in (("b", "k", "x"), ("a", "z", "x"), ("a", "k", "y"), ("a", "k", 3)):
        observed.add(ref, key, value, 2)
    assert [(row.ref, row.key, row.value, row.count) for row in observed.rows()] == [
        ("a", "k", 3, 2),
        ("a", "k", "y", 2),
        ("a", "z", "x", 2),
        ("b", "k", "x", 2),
    ]
