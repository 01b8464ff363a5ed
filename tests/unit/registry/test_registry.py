"""Mounting, finding, refreshing and closing providers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolfabric.errors import MountError, ResolveError
from toolfabric.registry.registry import Registry
from toolfabric.registry.surface import surface_of
from toolfabric.values import Origin

from .conftest import SCHEMA, Announcing, Made, action

pytestmark = pytest.mark.anyio


async def test_a_mounted_provider_can_be_found_in_every_way(registry: Registry) -> None:
    binding = await registry.mount(Made("tool", action("run"), action("stop")), origin=Origin.HOST)
    assert (binding.name, binding.origin, sorted(binding.actions)) == ("tool", Origin.HOST, ["run", "stop"])
    assert registry.resolve("tool.run").spec.name == "run"
    assert registry.describe("stop").ref == "tool.stop"
    assert [one.ref for one in registry.actions()] == ["tool.run", "tool.stop"]
    assert [one.ref for one in registry.search("stop")] == ["tool.stop"]


async def test_a_bare_name_that_several_have_lists_their_refs(registry: Registry) -> None:
    await registry.mount(Made("one", action("run")))
    await registry.mount(Made("two", action("run")))
    with pytest.raises(ResolveError, match=r"one\.run, two\.run"):
        registry.describe("run")


@pytest.mark.parametrize(
    ("ref", "near"),
    [("tool.rum", "tool.run"), ("tol.run", "tool.run"), ("tool.RUN", "tool.run"), ("run", "tool.run")],
)
async def test_an_unknown_ref_lists_near_ones(registry: Registry, ref: str, near: str) -> None:
    await registry.mount(Made("tool", action("run")))
    with pytest.raises(ResolveError, match=f"Did you mean .*{near}"):
        registry.resolve(ref)


async def test_a_name_cannot_be_mounted_twice(registry: Registry) -> None:
    await registry.mount(Made("tool", action("run")))
    with pytest.raises(MountError, match="mounted already"):
        await registry.mount(Made("tool", action("other")))
    assert [one.ref for one in registry.actions()] == ["tool.run"]


async def test_one_bad_descriptor_refuses_the_whole_provider(registry: Registry) -> None:
    before = registry.generation
    with pytest.raises(MountError, match=r"'tool'.*'bad name'"):
        await registry.mount(Made("tool", action("good"), action("bad name")))
    assert (registry.actions(), registry.generation) == ((), before)


async def test_a_list_that_raises_or_hangs_is_refused(registry: Registry) -> None:
    class Raising(Made):
        def list(self) -> Any:
            raise RuntimeError("boom\x1b[31m")

    class Hanging(Made):
        async def list(self) -> Any:
            await asyncio.Event().wait()

    with pytest.raises(MountError, match=r"raised RuntimeError: boom") as caught:
        await registry.mount(Raising("raising"))
    assert "\x1b" not in str(caught.value)
    with pytest.raises(MountError, match="did not answer within"):
        await registry.mount(Hanging("hanging"))


async def test_the_surface_is_sorted_by_code_units(registry: Registry) -> None:
    await registry.mount(Made("b", action("x"), action("X"), action("_x")))
    await registry.mount(Made("a-b", action("y")))
    await registry.mount(Made("a", action("y")))
    surface = surface_of(registry.actions())
    assert surface["version"] == 1
    actions = surface["actions"]
    assert isinstance(actions, list)
    assert [one["ref"] for one in actions if isinstance(one, dict)] == ["a-b.y", "a.y", "b.X", "b._x", "b.x"]
    assert actions[0] == {"ref": "a-b.y", "inputSchema": SCHEMA}


async def test_a_change_that_is_announced_becomes_a_new_generation(registry: Registry) -> None:
    provider = Announcing("tool", action("run"))
    await registry.mount(provider)
    held = registry.lease("tool.run")
    before = registry.generation
    provider.actions = [action("walk")]
    provider.changed()
    async with asyncio.timeout(5):
        while registry.generation == before:  # noqa: ASYNC110 -- nothing announces the end of a refresh
            await asyncio.sleep(0)
    assert [one.ref for one in registry.actions()] == ["tool.walk"]
    assert held.action.ref == "tool.run"
    held.release()


async def test_a_refresh_that_is_refused_leaves_the_binding_as_it_was(registry: Registry) -> None:
    provider = Made("tool", action("run"))
    await registry.mount(provider)
    provider.actions = [action("bad name")]
    with pytest.raises(MountError):
        await registry.refresh("tool")
    assert registry.resolve("tool.run").ref == "tool.run"


async def test_a_refresh_without_a_difference_changes_no_generation(registry: Registry) -> None:
    await registry.mount(Made("tool", action("run")))
    before = registry.generation
    await registry.refresh("tool")
    assert registry.generation == before


async def test_unmounting_waits_for_leases_and_closes_once(registry: Registry) -> None:
    provider = Made("tool", action("run"))
    await registry.mount(provider)
    lease = registry.lease("tool.run")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(registry.unmount("tool"))
        await asyncio.sleep(0)
        assert registry.actions() == ()
        assert (task.done(), provider.closed) == (False, 0)
        lease.release()
        lease.release()
    assert provider.closed == 1
    await registry.close()
    assert provider.closed == 1


async def test_closing_the_registry_closes_every_provider_and_never_raises(registry: Registry) -> None:
    class Bad(Made):
        def close(self) -> None:
            raise RuntimeError("no")

    good = Made("good", action("run"))
    await registry.mount(good)
    await registry.mount(Bad("bad", action("run")))
    await registry.close()
    assert good.closed == 1
    assert any("close() raised" in problem for problem in registry.problems())


async def test_invocation_ended_reaches_who_wants_it_and_never_raises(registry: Registry) -> None:
    heard: list[str] = []

    class Listening(Made):
        def invocation_ended(self, invocation_id: str) -> None:
            heard.append(invocation_id)
            raise RuntimeError("no matter")

    await registry.mount(Listening("listening", action("run")))
    await registry.mount(Made("deaf", action("run")))
    await registry.invocation_ended("call_1")
    assert heard == ["call_1"]
