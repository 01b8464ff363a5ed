"""Providers come, change and go, and a call keeps what it was resolved to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolfabric.errors import MountError, ResolveError
from toolfabric.registry.registry import Registry
from toolfabric.values import Origin

from .conftest import Announcing, Listed, ManualClock, fail, spec

pytestmark = pytest.mark.anyio


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something holds; the test's own timeout is the bound."""
    while not condition():  # noqa: ASYNC110 -- what is waited for is not ours to signal
        await asyncio.sleep(0.001)


# --- mounting ------------------------------------------------------------------------------------


async def test_a_mounted_provider_can_be_found_in_every_way(registry: Registry) -> None:
    provider = Listed(spec("b"), spec("a"))
    binding = await registry.mount(provider, origin=Origin.CONFIGURED)
    assert (binding.name, binding.origin, binding.provider) == ("demo", Origin.CONFIGURED, provider)
    assert registry.providers() == (binding,)
    assert [action.ref for action in registry.actions()] == ["demo.a", "demo.b"]
    assert registry.resolve("demo.a") is registry.describe("demo.a") is binding.actions["a"]
    assert "demo.a" in registry
    assert "demo.c" not in registry


async def test_origin_is_third_party_unless_said_otherwise(registry: Registry) -> None:
    assert (await registry.mount(Listed())).origin is Origin.THIRD_PARTY


async def test_one_bad_descriptor_keeps_the_whole_provider_out(registry: Registry) -> None:
    before = registry.generation
    with pytest.raises(MountError, match="action 'b'"):
        await registry.mount(Listed(spec("a"), spec("b", {"type": "string"})))
    assert (registry.providers(), registry.actions(), registry.generation) == ((), (), before)
    await registry.mount(Listed(spec("a")))


async def test_a_name_can_be_mounted_once(registry: Registry) -> None:
    await registry.mount(Listed())
    with pytest.raises(MountError, match="mounted already"):
        await registry.mount(Listed())


async def test_two_mounts_of_one_name_at_once_cannot_both_win(registry: Registry) -> None:
    gate = asyncio.Event()

    class Slow(Listed):
        async def list(self) -> Any:
            await gate.wait()
            return []

    async with asyncio.TaskGroup() as group:
        first = group.create_task(registry.mount(Slow()))
        await asyncio.sleep(0)
        with pytest.raises(MountError, match="mounted already"):
            await registry.mount(Listed())
        gate.set()
    assert registry.providers() == (first.result(),)


async def test_a_list_that_raises_is_refused_with_its_words(registry: Registry) -> None:
    class Raising(Listed):
        def list(self) -> Any:
            fail()

    with pytest.raises(MountError, match=r"list\(\) raised RuntimeError: broken\\x1b"):
        await registry.mount(Raising())
    assert registry.providers() == ()


async def test_a_list_that_hangs_is_refused(clock: ManualClock) -> None:
    registry = Registry(clock=clock, list_seconds=0.01)
    gate = threading.Event()

    class Hanging(Listed):
        async def list(self) -> Any:
            await asyncio.Event().wait()

    class HangingThread(Listed):
        def list(self) -> Any:
            gate.wait(10)

    with pytest.raises(MountError, match=r"list\(\) did not answer within 0\.01 seconds"):
        await registry.mount(Hanging())
    threading.Timer(0.05, gate.set).start()
    with pytest.raises(MountError, match="did not answer"):
        await registry.mount(HangingThread())
    assert registry.providers() == ()


async def test_a_mount_that_is_cancelled_leaves_nothing(registry: Registry) -> None:
    listing = asyncio.Event()

    class Hanging(Announcing):
        async def list(self) -> Any:
            listing.set()
            await asyncio.Event().wait()

    provider = Hanging()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(registry.mount(provider))
        await listing.wait()
        task.cancel()
    assert registry.providers() == ()
    assert provider.listeners == []
    await registry.mount(Listed())


# --- finding -------------------------------------------------------------------------------------


@pytest.fixture
async def full(registry: Registry) -> Registry:
    await registry.mount(Listed(spec("read"), spec("grep"), name="pi"))
    await registry.mount(Listed(spec("github.search_issues"), spec("jira.search"), name="mcp"))
    await registry.mount(Listed(spec("read"), spec("recall"), name="memory"))
    return registry


async def test_a_bare_name_describes_the_one_action_that_has_it(full: Registry) -> None:
    assert full.describe("grep").ref == "pi.grep"
    assert full.describe("search_issues").ref == "mcp.github.search_issues"
    assert full.describe("github.search_issues").ref == "mcp.github.search_issues"


async def test_a_bare_name_of_several_lists_their_refs(full: Registry) -> None:
    with pytest.raises(
        ResolveError, match=r"'read' is the name of several actions; use one of memory\.read, pi\.read"
    ):
        full.describe("read")


async def test_resolving_takes_whole_refs_alone(full: Registry) -> None:
    with pytest.raises(
        ResolveError, match=r"'grep' names no action; a ref is provider\.action\. Did you mean pi\.grep\?"
    ):
        full.resolve("grep")


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("pi.raed", "pi has no action 'raed'. Did you mean pi.read?"),
        ("ip.recall", "no provider is called 'ip'; there are: mcp, memory, pi. Did you mean memory.recall?"),
        (
            "mcp.github.searchIssues",
            "mcp has no action 'github.searchIssues'. Did you mean mcp.github.search_issues?",
        ),
        ("zzz.qqq", "no provider is called 'zzz'; there are: mcp, memory, pi"),
        ("", "'' names no action; a ref is provider.action"),
        ("x" * 2_000, "a ref has at most 1024 characters, this one has 2000"),
    ],
)
async def test_an_unknown_ref_is_told_with_near_ones(full: Registry, ref: str, message: str) -> None:
    with pytest.raises(ResolveError) as caught:
        full.resolve(ref)
    assert str(caught.value) == message


async def test_a_foreign_ref_cannot_steer_a_terminal_or_fill_it(full: Registry) -> None:
    with pytest.raises(ResolveError) as caught:
        full.describe("\x1b[2J\u202e" + "k" * 900)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


async def test_near_names_follow_the_surface(full: Registry) -> None:
    with pytest.raises(ResolveError, match=r"Did you mean pi\.read"):
        full.resolve("pi.raed")
    await full.unmount("pi")
    with pytest.raises(ResolveError) as caught:
        full.resolve("pi.raed")
    assert "pi.read" not in str(caught.value)


# --- changing ------------------------------------------------------------------------------------


async def test_the_generation_changes_whenever_the_surface_does(registry: Registry) -> None:
    provider = Listed(spec("a"))
    seen = [registry.generation]
    await registry.mount(provider)
    seen.append(registry.generation)
    await registry.refresh("demo")
    assert registry.generation == seen[-1], "an equal list changes nothing"
    provider.listed = [spec("a"), spec("b")]
    await registry.refresh("demo")
    seen.append(registry.generation)
    assert registry.resolve("demo.b").binding.generation == registry.generation
    await registry.unmount("demo")
    seen.append(registry.generation)
    assert seen == sorted(set(seen))


async def test_a_refresh_that_fails_leaves_the_binding_as_it_was(registry: Registry) -> None:
    provider = Listed(spec("a"))
    binding = await registry.mount(provider)
    provider.listed = [spec("a"), spec("a")]
    with pytest.raises(MountError, match="listed twice"):
        await registry.refresh("demo")
    assert registry.providers() == (binding,)


async def test_an_action_in_use_outlives_a_refresh_and_an_unmount(registry: Registry) -> None:
    provider = Listed(spec("a"))
    old = await registry.mount(provider)
    lease = registry.lease("demo.a")
    provider.listed = [spec("b")]
    await registry.refresh("demo")
    with pytest.raises(ResolveError):
        registry.lease("demo.a")
    assert lease.action is old.actions["a"]
    second = registry.lease("demo.b")
    async with asyncio.TaskGroup() as group:
        going = group.create_task(registry.unmount("demo"))
        await asyncio.sleep(0)
        assert registry.actions() == ()
        lease.release()
        lease.release()
        await asyncio.sleep(0.01)
        assert (going.done(), provider.closed) == (False, 0)
        second.release()
    assert provider.closed == 1


async def test_a_provider_is_closed_once_whoever_asks(registry: Registry) -> None:
    provider = Listed(spec("a"))
    await registry.mount(provider)
    lease = registry.lease("demo.a")
    async with asyncio.TaskGroup() as group:
        impatient = group.create_task(registry.unmount("demo"))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.sleep(0)
        closing = group.create_task(registry.close())
        await asyncio.sleep(0.01)
        assert provider.closed == 0
        lease.release()
    assert closing.done()
    await registry.close()
    assert provider.closed == 1


async def test_a_refresh_of_a_provider_that_went_meanwhile_brings_nothing_back(registry: Registry) -> None:
    gate = asyncio.Event()
    gate.set()

    class Slow(Listed):
        async def list(self) -> Any:
            await gate.wait()
            return self.listed

    provider = Slow()
    await registry.mount(provider)
    gate.clear()
    provider.listed = [spec("b")]
    async with asyncio.TaskGroup() as group:
        group.create_task(registry.refresh("demo"))
        await asyncio.sleep(0)
        await registry.unmount("demo")
        gone = registry.generation
        gate.set()
    assert (registry.actions(), registry.generation) == ((), gone)


async def test_a_close_that_fails_is_told_and_the_provider_is_gone(registry: Registry) -> None:
    class Raising(Listed):
        def close(self) -> Any:
            fail()

    await registry.mount(Raising())
    with pytest.raises(MountError, match=r"close\(\) raised RuntimeError"):
        await registry.unmount("demo")
    assert registry.providers() == ()
    await registry.mount(Raising())
    await registry.close()
    assert "close() raised" in registry.problems()[0]


@pytest.mark.parametrize("name", ["none", "\x1b[2J"])
async def test_what_is_not_mounted_can_be_neither_refreshed_nor_unmounted(
    registry: Registry, name: str
) -> None:
    await registry.mount(Listed())
    for act in (registry.refresh, registry.unmount):
        with pytest.raises(MountError, match="is mounted; there are: demo") as caught:
            await act(name)
        assert str(caught.value).isprintable()


# --- what providers announce ---------------------------------------------------------------------


async def test_an_announced_change_is_listed_again(registry: Registry) -> None:
    provider = Announcing(spec("a"))
    await registry.mount(provider)
    provider.listed = [spec("b")]
    threading.Thread(target=provider.announce).start()
    await until(lambda: "demo.b" in registry)
    await registry.close()
    assert provider.listeners == []


async def test_a_change_announced_while_mounting_is_not_lost(registry: Registry) -> None:
    class Early(Announcing):
        async def list(self) -> Any:
            listed = list(self.listed)
            self.listed = [spec("b")]
            self.announce()
            self.listeners.clear()
            return listed

    await registry.mount(Early(spec("a")))
    await until(lambda: "demo.b" in registry)
    await registry.close()


async def test_an_announced_change_that_is_refused_is_a_problem_until_one_succeeds(
    registry: Registry, clock: ManualClock
) -> None:
    provider = Announcing(spec("a"))
    await registry.mount(provider)
    provider.listed = [spec("a"), spec("a")]
    provider.announce()
    await until(lambda: bool(registry.problems()))
    assert "listed twice" in registry.problems()[0]
    assert "demo.a" in registry
    clock.seconds += 10
    provider.listed = [spec("c")]
    provider.announce()
    await until(lambda: not registry.problems())
    assert "demo.c" in registry
    await registry.close()


async def test_a_provider_that_announces_on_every_listing_is_paced_and_can_go(registry: Registry) -> None:
    listings = 0

    class Chatty(Announcing):
        async def list(self) -> Any:
            nonlocal listings
            listings += 1
            self.announce()
            return []

    await registry.mount(Chatty())
    await until(lambda: listings >= 2)
    await asyncio.sleep(0.02)
    assert listings <= 3
    await registry.unmount("demo")
    seen = listings
    await asyncio.sleep(0.02)
    assert listings == seen


@pytest.mark.parametrize("answer", [None, fail])
async def test_a_subscription_that_cannot_be_ended_is_refused(registry: Registry, answer: Any) -> None:
    class Odd(Listed):
        def subscribe(self, changed: Callable[[], None]) -> Any:
            return answer() if answer is fail else answer

    with pytest.raises(MountError, match=r"subscribe\(\)"):
        await registry.mount(Odd())


# --- the end of an execution ---------------------------------------------------------------------


async def test_every_provider_hears_of_the_end_of_an_execution_whatever_another_does(
    registry: Registry,
) -> None:
    heard: list[tuple[str, str]] = []

    class Hearing(Listed):
        def invocation_ended(self, invocation_id: str) -> None:
            heard.append((self.name, invocation_id))
            if self.name == "broken":
                fail()

    for name in ("one", "broken", "two"):
        await registry.mount(Hearing(name=name))
    await registry.mount(Listed(name="deaf"))
    await registry.invocation_ended("call_1")
    assert sorted(heard) == [("broken", "call_1"), ("one", "call_1"), ("two", "call_1")]
    (problem,) = registry.problems()
    assert problem == "provider 'broken': invocation_ended() failed: RuntimeError('broken\\x1b[31m')"
