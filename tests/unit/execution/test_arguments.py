"""What fabric_exec accepts and forgives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.errors import ValidateError
from toolfabric.execution.arguments import parse_arguments
from toolfabric.execution.records import ResultFormat
from toolfabric.values import Json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("given_value", "code"),
    [
        ("return 1", "return 1"),
        (["a = 1", "return a"], "a = 1\nreturn a"),
        ({"code": "return 1"}, "return 1"),
        ({"code": ["a = 1", "return a"]}, "a = 1\nreturn a"),
        ({"code": ""}, ""),
    ],
)
def test_a_program_is_found_in_every_forgiven_form(given_value: Json, code: str) -> None:
    assert parse_arguments(given_value).code == code


def test_null_optional_fields_are_dropped() -> None:
    arguments = parse_arguments({"code": "return 1", "payloads": None, "resultFormat": None, "display": None})
    assert (dict(arguments.payloads), arguments.result_format, arguments.name) == ({}, None, None)
    assert arguments.given == {"code": "return 1"}


def test_all_fields_are_read_and_extra_display_keys_are_ignored() -> None:
    arguments = parse_arguments(
        {
            "code": "return 1",
            "payloads": {"k": "v"},
            "resultFormat": "yaml",
            "display": {"name": "Count", "description": "Counts.", "colour": "red"},
        }
    )
    assert dict(arguments.payloads) == {"k": "v"}
    assert arguments.result_format is ResultFormat.YAML
    assert (arguments.name, arguments.description) == ("Count", "Counts.")


@pytest.mark.parametrize(
    ("given_value", "named"),
    [
        ({}, "code"),
        ({"code": None}, "$.code"),
        ({"code": 3}, "$.code"),
        ({"cod": "return 1"}, "code"),
        ({"code": "return 1", "payloads": {"k": 1}}, "$.payloads.k"),
        ({"code": "return 1", "resultFormat": "xml"}, "$.resultFormat"),
        (None, "object"),
        (7, "object"),
        ([], "object"),
        (["a", 1], "object"),
    ],
)
def test_anything_else_is_refused_with_its_path(given_value: Json, named: str) -> None:
    with pytest.raises(ValidateError, match=r"^fabric_exec: ") as caught:
        parse_arguments(given_value)
    assert named in str(caught.value)


@given(json_values)
def test_no_json_value_does_anything_but_parse_or_be_refused(value: Json) -> None:
    try:
        arguments = parse_arguments(value)
    except ValidateError:
        return
    assert isinstance(arguments.code, str)
