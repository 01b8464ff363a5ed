"""Records: snake_case inside, exact JSON outside."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from msgspec import UNSET, Meta, UnsetType

from toolfabric._base.camel import Record
from toolfabric.errors import RecordError


class Inner(Record, frozen=True, kw_only=True):
    from_name: str


class Outer(Record, frozen=True, kw_only=True):
    base_digest: Annotated[str, Meta(max_length=4)]
    parts: tuple[Inner, ...] = ()
    note: str | UnsetType = UNSET


WHOLE = Outer(base_digest="ab", parts=(Inner(from_name="x"),), note="n")
FORM: dict[str, Any] = {"baseDigest": "ab", "parts": [{"fromName": "x"}], "note": "n"}


def test_the_json_form_is_exact_both_ways() -> None:
    assert WHOLE.to_json() == FORM
    assert Outer.from_json(FORM) == WHOLE


def test_what_is_not_set_is_left_out() -> None:
    assert Outer(base_digest="ab").to_json() == {"baseDigest": "ab"}


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"base_digest": "ab"},
        {**FORM, "more": 1},
        {**FORM, "note": None},
        {**FORM, "parts": "x"},
        {**FORM, "baseDigest": "MARKER-too-long"},
        [],
        None,
    ],
)
def test_another_form_is_refused_without_quoting_it(value: object) -> None:
    with pytest.raises(RecordError, match="not a valid Outer record") as caught:
        Outer.from_json(value)
    assert "MARKER" not in str(caught.value)


def test_a_record_can_stand_where_a_dictionary_does() -> None:
    assert WHOLE["baseDigest"] == "ab"
    assert WHOLE["parts"] == [{"fromName": "x"}]
    assert "note" in WHOLE
    assert "base_digest" not in WHOLE
    assert WHOLE.get("none", 3) == 3
    with pytest.raises(KeyError):
        _ = WHOLE["none"]


def test_a_refusal_never_repeats_the_value() -> None:
    from toolfabric.trace.records import Operation

    form: dict[str, Any] = {"type": "call", "sequence": 1, "ref": "x.y", "args": {}, "outcome": "MARKER"}
    for value in (form, {**form, "outcome": "\ud800"}):
        with pytest.raises(RecordError) as caught:
            Operation.from_json(value)
        assert "MARKER" not in str(caught.value)
