from __future__ import annotations

from enum import StrEnum

import pytest

from toolfabric.config.rules import (
    Rule,
    UnfitError,
    choice,
    clamped,
    flag,
    integer,
    key_name,
    text,
    text_map,
    texts,
    type_name,
    web_address,
)
from toolfabric.values import Json


class Color(StrEnum):
    RED = "red"
    DARK_RED = "darkRed"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_types_have_their_json_names(value: Json, name: str) -> None:
    assert type_name(value) == name


def test_odd_keys_are_quoted_and_cut() -> None:
    assert key_name("timeoutMs") == "timeoutMs"
    assert key_name("a.b") == '"a.b"'
    assert key_name("\x1b[2J") == '"\\u001b[2J"'
    assert key_name("a\n") == '"a\\n"'
    assert key_name("k" * 1000) == '"' + "k" * 64 + '"'


@pytest.mark.parametrize(
    ("rule", "value", "read"),
    [
        (flag(), False, False),
        (integer(1, 9), 1, 1),
        (integer(1, 9), 9.0, 9),
        (clamped(1, 9), 5, 5),
        (choice(Color), "darkRed", Color.DARK_RED),
        (text(), "x", "x"),
        (texts(), ["a", ""], ("a", "")),
        (texts(), [], ()),
        (text_map(), {"a": ""}, {"a": ""}),
        (web_address(), "HTTPS://example.org/x", "HTTPS://example.org/x"),
    ],
)
def test_a_fit_value_is_read_without_a_remark(rule: Rule[object], value: Json, read: object) -> None:
    got, remark = rule.read(value)
    assert got == read
    assert type(got) is type(read)
    assert remark == ""


@pytest.mark.parametrize(
    ("value", "used"), [(0, 1), (-5.5, 1), (10, 9), (1e300, 9), (10**400, 9), (2.7, 2), (8.999, 8)]
)
def test_numbers_are_clamped_and_cut_with_a_remark(value: float, used: int) -> None:
    got, remark = clamped(1, 9).read(value)
    assert got == used
    assert type(got) is int
    assert f"{used} is used" in remark


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (flag(), 1, "is a number"),
        (flag(), "true", "is a string"),
        (integer(1, 9), True, "is a boolean"),
        (integer(1, 9), "5", "is a string"),
        (integer(1, 9), 1.5, "is a number with a fraction"),
        (integer(1, 9), 0, "is a number out of range"),
        (integer(1, 9), 10**400, "is a number out of range"),
        (integer(1, 9), float("nan"), "is a number without a value"),
        (clamped(1, 9), float("inf"), "is a number without a value"),
        (clamped(1, 9), False, "is a boolean"),
        (clamped(1, 9), None, "is null"),
        (choice(Color), 1, "is a number"),
        (choice(Color), "rot", "is an unknown string"),
        (choice(Color), "darkred", "is an unknown string (did you mean 'darkRed'?)"),
        (text(), 1, "is a number"),
        (text(), "", "is a string that is empty, too long or not plain text"),
        (text(longest=2), "abc", "is a string that is empty, too long or not plain text"),
        (text(), "a\0", "is a string that is empty, too long or not plain text"),
        (text(), "\ud800", "is a string that is empty, too long or not plain text"),
        (texts(), "ab", "is a string"),
        (texts(), ["a", 1], "has a number in it"),
        (texts(), ["a\0"], "has a string in it that is not plain text"),
        (text_map(), [], "is an array"),
        (text_map(), {"a": None}, "has null in it"),
        (text_map(), {"a\0": "b"}, "has a string in it that is not plain text"),
        (text_map(), {"a": "\udcff"}, "has a string in it that is not plain text"),
        (web_address(), 1, "is a number"),
        (web_address(), "file:///etc/passwd", "is a string of another form"),
        (web_address(), "http:///x", "is a string of another form"),
    ],
)
def test_an_unfit_value_is_named_by_its_type(rule: Rule[object], value: Json, message: str) -> None:
    with pytest.raises(UnfitError) as raised:
        rule.read(value)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (flag(), "true or false"),
        (integer(1, 9), "an integer from 1 to 9"),
        (clamped(1, 9), "a number from 1 to 9; others are clamped"),
        (choice(Color), "one of red, darkRed"),
        (text(longest=9), "a string of 1 to 9 characters"),
        (texts(), "an array of strings"),
        (text_map(), "an object of strings"),
        (web_address(), "an address beginning with http:// or https://"),
    ],
)
def test_each_rule_says_what_it_allows(rule: Rule[object], allowed: str) -> None:
    assert rule.allowed == allowed
