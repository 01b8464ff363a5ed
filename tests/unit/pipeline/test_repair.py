"""Authored key aliases, each only while it is the one meaning."""

from __future__ import annotations

import pytest

from toolfabric.config.records import RepairKind, RepairRow
from toolfabric.errors import ValidateError
from toolfabric.registry.aliases import AliasTable

from .conftest import Bench

pytestmark = pytest.mark.anyio


def table(*pairs: tuple[str, str]) -> AliasTable:
    return AliasTable(
        RepairRow(kind=RepairKind.KEY_ALIAS, ref="tool.run", from_=source, to=target)
        for source, target in pairs
    )


async def test_an_alias_is_renamed_and_the_record_keeps_what_was_said(bench: Bench) -> None:
    bench.settings["repairs"] = table(("file", "path"))
    await bench.call("tool.run", {"file": "a"})
    assert bench.tool.calls == [{"path": "a"}]
    (audit,) = bench.audits.to_json(10_000)
    assert audit["args"] == {"file": "a"}


@pytest.mark.parametrize(
    ("rows", "args"),
    [
        ([("file", "path")], {"file": "a", "path": "b"}),
        ([("file", "path"), ("name", "path")], {"file": "a", "name": "b"}),
        ([("file", "nowhere")], {"file": "a"}),
        ([("file", "path"), ("file", "count")], {"file": "a"}),
    ],
    ids=["target is there", "two want one", "target is not declared", "two meanings"],
)
async def test_anything_but_one_meaning_is_left_to_validation(
    bench: Bench, rows: list[tuple[str, str]], args: dict[str, str]
) -> None:
    bench.settings["repairs"] = table(*rows)
    with pytest.raises(ValidateError):
        await bench.call("tool.run", dict(args))


async def test_an_alias_never_renames_a_declared_key(bench: Bench) -> None:
    bench.settings["repairs"] = table(("count", "path"))
    with pytest.raises(ValidateError, match="path: required"):
        await bench.call("tool.run", {"count": 1})
