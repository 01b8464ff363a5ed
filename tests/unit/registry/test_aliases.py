"""An authored alias counts only while it is the one meaning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolfabric.config.records import RepairKind, RepairRow
from toolfabric.registry.aliases import AliasTable
from toolfabric.values import JsonObject

NAMES = st.sampled_from(["a", "b", "c", "d"])
PAIRS = st.lists(st.tuples(NAMES, NAMES), max_size=6)


def table(pairs: list[tuple[str, str]]) -> AliasTable:
    rows = [RepairRow(kind=RepairKind.KEY_ALIAS, ref="x.run", from_=one, to=two) for one, two in pairs]
    return AliasTable(rows)


@given(PAIRS, st.sets(NAMES), st.dictionaries(NAMES, st.integers(), max_size=4))
def test_renaming_is_always_from_undeclared_to_declared_and_never_overwrites(
    pairs: list[tuple[str, str]], declared: set[str], args: dict[str, int]
) -> None:
    schema: JsonObject = {"type": "object", "properties": {name: {} for name in declared}}
    renamed = table(pairs).keys("x.run", schema, dict(args))
    for source, target in renamed.items():
        assert source in args
        assert source not in declared
        assert target in declared
        assert target not in args
        assert {two for one, two in pairs if one == source} == {target}
    assert len(set(renamed.values())) == len(renamed)


@given(PAIRS, st.dictionaries(NAMES, st.integers(), max_size=4))
def test_arguments_of_declared_keys_alone_are_never_renamed(
    pairs: list[tuple[str, str]], args: dict[str, int]
) -> None:
    schema: JsonObject = {"type": "object", "properties": {name: {} for name in args}}
    assert table(pairs).keys("x.run", schema, dict(args)) == {}


def test_another_refs_rows_do_not_count() -> None:
    assert table([("a", "b")]).keys("y.run", {"properties": {"b": {}}}, {"a": 1}) == {}


def test_an_action_alias_with_two_meanings_has_none() -> None:
    rows = [
        RepairRow(kind=RepairKind.ACTION_ALIAS, ref=ref, from_="x.old", to=ref) for ref in ("x.run", "x.walk")
    ]
    assert AliasTable(rows[:1]).action("x.old") == "x.run"
    assert AliasTable(rows).action("x.old") is None
