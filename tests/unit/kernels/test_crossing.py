"""JSON at the border of the sandbox."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.kernels.crossing import MAX_DEPTH, NotJsonError, TooLargeError, cross

LIMIT = 1_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_json_crosses_unchanged_as_a_new_value(value: Any) -> None:
    crossed, size = cross(value, limit=LIMIT)
    assert crossed == value
    assert size > 0
    if isinstance(value, list | dict):
        assert crossed is not value


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({1, 2}, "list"),
        (b"x", "decode"),
        (date(2026, 1, 1), "isoformat"),
        (Decimal(1), "float"),
        (1j, "two numbers"),
        (ValueError("x"), "str(error)"),
        (float("nan"), "None"),
        (float("inf"), "None"),
        ({1: 2}, "str(key)"),
        (object(), "dict"),
        ("<coroutine external_future(0)>", "await"),
        ("<function f at 0x7f>", "result"),
        (10**5_000, "string"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_has_no_json_form_is_refused_with_a_way_out(value: Any, hint: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        cross({"a": [value]} if not isinstance(value, dict) else value, limit=LIMIT)
    assert hint in caught.value.hint


def test_the_place_is_told() -> None:
    with pytest.raises(NotJsonError, match=r"the value\['a'\]\[1\] is a set"):
        cross({"a": [1, {2}]}, limit=LIMIT)


def test_size_and_depth_are_bounded() -> None:
    with pytest.raises(TooLargeError, match="larger than 100 bytes"):
        cross("x" * 200, limit=100)
    deep: Any = 1
    for _level in range(MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(NotJsonError, match="nested deeper"):
        cross(deep, limit=LIMIT)


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    crossed, _size = cross("a\ud800b", limit=LIMIT)
    assert crossed == "a\ufffdb"
    assert json.dumps(crossed, ensure_ascii=False).encode()
