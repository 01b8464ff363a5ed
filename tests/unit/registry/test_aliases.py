"""Authored aliases, used only while they have one meaning."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.registry.aliases import AliasTable
from toolfabric.values import JsonObject

SCHEMA: JsonObject = {"type": "object", "properties": {"path": {}, "limit": {}}}


@dataclass(frozen=True)
class Row:
    kind: str
    ref: str
    from_: str
    to: str


def keys(*pairs: tuple[str, str]) -> AliasTable:
    return AliasTable(Row("keyAlias", "pi.read", source, target) for source, target in pairs)


def test_a_key_with_one_meaning_is_renamed() -> None:
    table = keys(("file", "path"), ("file_path", "path"), ("max", "limit"))
    assert table.keys("pi.read", SCHEMA, {"file": 1, "max": 2}) == {"file": "path", "max": "limit"}


@pytest.mark.parametrize(
    ("pairs", "args"),
    [
        ([("file", "path")], {"path": 1}),
        ([("file", "path")], {"file": 1, "path": 2}),
        ([("file", "path"), ("name", "path")], {"file": 1, "name": 2}),
        ([("file", "path"), ("file", "limit")], {"file": 1}),
        ([("limit", "path")], {"limit": 1}),
        ([("file", "gone")], {"file": 1}),
        ([("path", "path")], {"path": 1}),
        ([], {"file": 1}),
    ],
    ids=[
        "canonical",
        "target there",
        "two sources",
        "two targets",
        "source declared",
        "target gone",
        "itself",
        "none",
    ],
)
def test_a_key_without_one_meaning_is_left_alone(pairs: list[tuple[str, str]], args: JsonObject) -> None:
    assert keys(*pairs).keys("pi.read", SCHEMA, args) == {}


def test_rows_of_another_action_and_open_schemas_do_nothing() -> None:
    table = keys(("file", "path"))
    assert table.keys("pi.write", SCHEMA, {"file": 1}) == {}
    schemas: list[JsonObject] = [{}, {"properties": True}, {**SCHEMA, "patternProperties": {"^f": {}}}]
    for schema in schemas:
        assert table.keys("pi.read", schema, {"file": 1}) == {}


@given(
    st.lists(st.tuples(st.sampled_from("abcdp"), st.sampled_from("abpq")), max_size=6),
    st.dictionaries(st.sampled_from("abcdpq"), st.integers(), max_size=6),
)
def test_renaming_never_loses_or_overwrites_a_value(
    pairs: list[tuple[str, str]], args: dict[str, int]
) -> None:
    schema: JsonObject = {"properties": {"p": {}, "q": {}}}
    renamed = keys(*pairs).keys("pi.read", schema, dict(args))
    after = {renamed.get(key, key): value for key, value in args.items()}
    assert sorted(after.values()) == sorted(args.values())
    assert set(renamed.values()) <= {"p", "q"} - set(args)
    assert keys(*pairs).keys("pi.read", schema, dict(after)) == {}


def actions(*rows: tuple[str, str, str]) -> AliasTable:
    return AliasTable(Row("actionAlias", ref, source, target) for ref, source, target in rows)


@pytest.mark.parametrize("target", ["pi.grep", "grep"])
@pytest.mark.parametrize("source", ["search", "pi.search"])
def test_an_action_alias_may_spell_its_names_with_or_without_the_provider(source: str, target: str) -> None:
    table = actions(("pi.grep", source, target))
    assert table.action("pi.search") == "pi.grep"
    assert table.action("search") is None
    assert table.action("pi.grep") is None


def test_an_action_alias_without_one_meaning_stands_for_nothing() -> None:
    assert actions(("pi.grep", "search", "find")).action("pi.search") is None
    assert actions(("nonsense", "search", "nonsense")).action("search") is None
    both = actions(("pi.grep", "search", "grep"), ("pi.find", "search", "find"))
    assert both.action("pi.search") is None
    twice = actions(("pi.grep", "search", "grep"), ("pi.grep", "pi.search", "pi.grep"))
    assert twice.action("pi.search") == "pi.grep"
