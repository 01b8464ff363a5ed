"""From a ref to its action."""

from __future__ import annotations

import pytest

from toolfabric.config.records import RepairKind, RepairRow
from toolfabric.errors import ResolveError
from toolfabric.registry.aliases import AliasTable

from .conftest import Bench

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "ref", ["tool.rum", "tol.run", "run", "", "tool.", ".run", "tool.run.x", "a" * 5_000, "x\ny"]
)
async def test_an_unknown_ref_is_refused_and_recorded(bench: Bench, ref: str) -> None:
    with pytest.raises(ResolveError):
        await bench.call(ref, {"path": "a"})
    assert bench.last() == ("failed", "resolve")


async def test_near_names_are_listed(bench: Bench) -> None:
    with pytest.raises(ResolveError, match=r"Did you mean tool\.run"):
        await bench.call("tool.rum", {"path": "a"})


async def test_an_authored_action_alias_is_recorded_under_its_canonical_ref(bench: Bench) -> None:
    row = RepairRow(kind=RepairKind.ACTION_ALIAS, ref="tool.run", from_="tool.exec", to="tool.run")
    bench.settings["repairs"] = AliasTable([row])
    assert await bench.call("tool.exec", {"path": "a"}) == {"ok": True}
    (operation,) = bench.operations()
    assert (operation.ref, operation.provider, operation.action) == ("tool.run", "tool", "run")


async def test_an_alias_never_hides_a_live_action(bench: Bench) -> None:
    row = RepairRow(kind=RepairKind.ACTION_ALIAS, ref="tool.change", from_="tool.run", to="tool.change")
    bench.settings["repairs"] = AliasTable([row])
    await bench.call("tool.run", {"path": "a"})
    assert bench.operations()[0].ref == "tool.run"
