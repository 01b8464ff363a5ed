"""Taking arguments apart, and the older forms of ``edit``."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.errors import PrepareError
from toolfabric.providers.pi.arguments import flag_argument, integer_argument, prepared_edit, text_argument
from toolfabric.values import JsonObject


def test_arguments_are_read_by_type() -> None:
    args: JsonObject = {"text": "a", "number": 2.0, "flag": True, "null": None}
    assert (text_argument(args, "text"), text_argument(args, "none"), text_argument(args, "null", "x")) == (
        "a",
        "",
        "x",
    )
    assert (integer_argument(args, "number", 1), integer_argument(args, "none", 1)) == (2, 1)
    assert (flag_argument(args, "flag"), flag_argument(args, "none")) == (True, False)


PAIR: JsonObject = {"oldText": "a", "newText": "b"}


@pytest.mark.parametrize(
    ("args", "prepared"),
    [
        ({"path": "f", **PAIR}, {"path": "f", **PAIR}),
        ({"path": "f", "edits": [PAIR]}, {"path": "f", "edits": [PAIR]}),
        ({"path": "f", "edits": '[{"oldText": "a", "newText": "b"}]'}, {"path": "f", "edits": [PAIR]}),
        ({"path": "f", "edits": [], **PAIR}, {"path": "f", "edits": [PAIR]}),
        ({"path": "f", "edits": [PAIR], "oldText": "c"}, {"path": "f", "edits": [PAIR], "oldText": "c"}),
        ({"path": "f", "edits": None}, {"path": "f", "edits": None}),
        ({"path": "f", "edits": "3"}, {"path": "f", "edits": 3}),
    ],
)
def test_the_forms_that_models_mix_up_become_one(args: JsonObject, prepared: JsonObject) -> None:
    before = deepcopy(args)
    assert prepared_edit(args) == prepared
    assert args == before
    assert prepared_edit(prepared) == prepared


@pytest.mark.parametrize("text", ["", "no JSON", "[", "[" * 100_000])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(PrepareError, match="edits is text that is not JSON"):
        prepared_edit({"path": "f", "edits": text})


@given(
    st.dictionaries(
        st.sampled_from(["path", "edits", "oldText", "newText", "x"]), st.none() | st.integers() | st.just([])
    )
)
def test_anything_else_is_left_to_the_schema(args: JsonObject) -> None:
    assert set(prepared_edit(args)) >= set(args) - {"oldText", "newText"}
