"""Sizes are measured as JavaScript would write them, and measuring is safe for any object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolfabric.trace.bounds import Cut, bound_text, encode, excess
from toolfabric.values import JsonObject


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, None, True, 1.5]}, b'{"a":[1,null,true,1.5]}'),
        ("é\n\x01\u2028", b'"\xc3\xa9\\n\\u0001\xe2\x80\xa8"'),
        ("\ud800", b'"\\ud800"'),
    ],
)
def test_a_value_is_encoded_compactly_with_lone_surrogates_escaped(value: Any, expected: bytes) -> None:
    assert encode(value) == expected


def test_what_is_encoded_reads_back_equal_lone_surrogates_included() -> None:
    value: Any = {"\udcff": ["\ud83d", "\U0001f600", 2**70, -0.0]}
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), pytest.param(10**5000, id="long")])
def test_a_number_that_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON compliant|digits"):
        encode(value)


def test_a_value_of_exactly_the_size_fits_and_one_byte_less_does_not() -> None:
    empty: JsonObject = {"object": {}, "list": []}
    value: JsonObject = {"key": ["ä" * 10, {"n": -12.5, "empty": empty}, None, False, 10**20]}
    size = len(encode(value))
    assert excess(value, levels=9, size=size) is None
    assert excess(value, levels=9, size=size - 1) is not None


@pytest.mark.parametrize(
    "value", [{}, [], "", 0, None, {"a": {}}, [[], [], {}], {"": "", "b": 0}, [2**63], [-(2**64)], 10**30]
)
def test_no_value_is_refused_at_its_own_size(value: object) -> None:
    assert excess(value, levels=9, size=len(encode(value))) is None  # pyright: ignore[reportArgumentType]


def test_containers_are_counted_the_outermost_included() -> None:
    value: Any = []
    for _ in range(14):
        value = {"in": value}
    assert excess(value, levels=15, size=10_000) is None
    assert excess([value], levels=15, size=10_000) == "it is nested more than 15 levels deep"
    assert excess({"scalar": 1}, levels=1, size=100) is None


class _Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class _Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        {"a": {1: 2}},
        {_Text("a"): 1},
        _Text("a"),
        (1, 2),
        b"a",
        {1, 2},
        float("nan"),
        [float("-inf")],
        pytest.param(10**5000, id="long"),
    ],
)
def test_what_is_not_plain_json_is_refused_without_running_its_code(value: object) -> None:
    assert excess(value, levels=15, size=100_000) is not None


def test_an_object_that_answers_nothing_is_refused_too() -> None:
    assert excess(_Hostile(), levels=15, size=100_000) is not None
    assert excess([_Hostile()], levels=15, size=100_000) is not None


def test_a_cycle_and_a_shared_value_that_unfolds_enormously_end_soon() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    wide: Any = ["x" * 100] * 1_000
    for _ in range(12):
        wide = [wide] * 1_000
    assert excess(cycle, levels=15, size=524_288) is not None
    assert excess(wide, levels=15, size=524_288) is not None


def test_a_text_within_its_limit_is_kept_as_it_is() -> None:
    assert bound_text("plain", 7) == ("plain", Cut())


@pytest.mark.parametrize("text", ["x" * 100, "é" * 60, "\x01" * 30, 'a"b\\' * 20, "\U0001f600" * 30])
def test_a_text_too_long_keeps_its_longest_beginning_that_fits(text: str) -> None:
    kept, cut = bound_text(text, 64)
    assert kept is not None
    assert text.startswith(kept)
    assert cut == Cut(truncated=1)
    assert len(encode(kept)) <= 64 < len(encode(text[: len(kept) + 1]))


def test_a_text_with_a_lone_surrogate_is_dropped() -> None:
    assert bound_text("name\udcff") == (None, Cut(dropped=1))


def test_cuts_add_up_and_nothing_cut_is_false() -> None:
    total = Cut(dropped=1, redacted=2) + Cut(dropped=3, truncated=4)
    assert total == Cut(dropped=4, truncated=4, redacted=2)
    assert [bool(Cut()), bool(total)] == [False, True]
