"""Canonical bytes, the digest over them, and the one string order."""

from __future__ import annotations

import hashlib

import pytest

from toolfabric._base.canonical import (
    canonical_bytes,
    canonical_digest,
    form_digest,
    sorted_code_units,
)
from toolfabric.values import Json, JsonObject


def test_the_form_is_that_of_rfc_8785() -> None:
    value: Json = {"b": [1.0, 1e21, 1e-7, -0.0], "a": "é\n", "\U0001f600": None, "\ue000": True}
    expected = '{"a":"é\\n","b":[1,1e+21,1e-7,0],"\U0001f600":null,"\ue000":true}'
    assert canonical_bytes(value) == expected.encode()
    assert canonical_digest(value) == hashlib.sha256(expected.encode()).hexdigest()


@pytest.mark.parametrize("value", [2**53, float("nan"), float("inf"), "\ud800", {"a": {1}}, {1: 2}])
def test_what_has_no_canonical_form_is_refused(value: Json) -> None:
    with pytest.raises(ValueError, match="no canonical JSON form"):
        canonical_bytes(value)


def test_a_value_nested_without_end_is_refused() -> None:
    ring: list[Json] = []
    ring.append(ring)
    with pytest.raises(ValueError, match="RecursionError"):
        canonical_digest(ring)


def test_an_object_without_a_canonical_form_has_a_digest_all_the_same() -> None:
    large: JsonObject = {"id": 2**60, "a": 1}
    assert form_digest(large) == form_digest({"a": 1, "id": 2**60})
    assert form_digest(large) != form_digest({"a": 1, "id": 2**60 + 1})
    assert form_digest({"a": 1}) == canonical_digest({"a": 1})


def test_strings_are_ordered_by_utf_16_code_units() -> None:
    assert sorted_code_units(["\ue000", "\U0001f600", "b", "a", "\ud800"]) == [
        "a",
        "b",
        "\ud800",
        "\U0001f600",
        "\ue000",
    ]
