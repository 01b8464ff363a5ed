from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from toolfabric.errors import StorageError
from toolfabric.mesh.members import Identity, MemberScope, Membership, list_members
from toolfabric.mesh.records import Entry, Limits
from toolfabric.protocols import Clock
from toolfabric.testing.mesh import MemoryData, MemoryMesh, StoppingMesh

pytestmark = pytest.mark.anyio


class HandClock(Clock, Protocol):
    def move(self, **by: float) -> None: ...


def host(name: str, *, machine: str = "m1", session: str | None = None) -> Identity:
    return Identity(
        id=name, kind="cli", machine=machine, pid=7, cwd=Path("/work"), session=session, name=f"the {name}"
    )


@pytest.fixture
def data() -> MemoryData:
    return MemoryData()


def member(data: MemoryData, clock: HandClock, identity: Identity) -> Membership:
    return Membership(MemoryMesh(data, clock=clock), identity, clock=clock)


async def names(
    asking: Membership, scope: MemberScope = MemberScope.MESH, *, stale: bool = False
) -> list[str]:
    found = await asking.members(scope, include_stale=stale)
    return [one.member.id + ("!" if one.stale else "") + ("*" if one.me else "") for one in found]


async def test_a_member_is_there_from_joining_to_leaving(data: MemoryData, clock: HandClock) -> None:
    one, two = member(data, clock, host("one")), member(data, clock, host("two"))
    await one.join()
    clock.move(seconds=1)
    record = await two.join()
    assert record.to_json() == {
        "id": "two",
        "kind": "cli",
        "machine": "m1",
        "pid": 7,
        "cwd": "/work",
        "joinedAt": "2026-01-02T03:04:06.000Z",
        "renewedAt": "2026-01-02T03:04:06.000Z",
        "expiresAt": "2026-01-02T03:04:36.000Z",
        "name": "the two",
    }
    assert await names(one) == ["one*", "two"]
    assert await names(two) == ["one", "two*"]
    await one.leave()
    assert await names(two) == ["two*"]


async def test_a_host_that_renews_nothing_is_told_apart(data: MemoryData, clock: HandClock) -> None:
    one, two = member(data, clock, host("one")), member(data, clock, host("two"))
    await one.join()
    await two.join()
    clock.move(seconds=29)
    await two.renew()
    assert await names(two) == ["one", "two*"]
    clock.move(seconds=1)
    assert await names(two) == ["two*"]
    assert await names(two, stale=True) == ["one!", "two*"]
    await one.renew()
    assert await names(two) == ["one", "two*"]


async def test_a_lease_keeps_when_its_host_joined(data: MemoryData, clock: HandClock) -> None:
    one = member(data, clock, host("one"))
    await one.join()
    clock.move(seconds=10)
    record = await one.renew()
    assert (record.joined_at, record.renewed_at) == ("2026-01-02T03:04:05.000Z", "2026-01-02T03:04:15.000Z")


async def test_members_are_asked_for_by_scope(data: MemoryData, clock: HandClock) -> None:
    hosts = [
        host("a", session="s1"),
        host("b", session="s1", machine="m2"),
        host("c", session="s2"),
        host("d"),
        host("e", machine="m2"),
    ]
    joined = [member(data, clock, one) for one in hosts]
    for one in joined:
        await one.join()
    assert await names(joined[0]) == ["a*", "b", "c", "d", "e"]
    assert await names(joined[0], MemberScope.MACHINE) == ["a*", "c", "d"]
    assert await names(joined[0], MemberScope.SESSION) == ["a*", "b"]
    assert await names(joined[3], MemberScope.SESSION) == ["d*"]


async def test_a_member_that_was_stale_for_a_day_is_swept_by_the_next(
    data: MemoryData, clock: HandClock
) -> None:
    await member(data, clock, host("old")).join()
    clock.move(days=1)
    await member(data, clock, host("newer")).join()
    store = MemoryMesh(data, clock=clock)
    assert [one.id for one, _stale in await list_members(store, now=clock.now())] == ["old", "newer"]
    clock.move(seconds=31)
    await member(data, clock, host("newest")).join()
    found = await list_members(store, now=clock.now())
    assert [(one.id, stale) for one, stale in found] == [("newer", True), ("newest", False)]


@pytest.mark.parametrize("before", [True, False])
async def test_sweeping_spares_a_host_that_came_back_meanwhile(
    data: MemoryData, clock: HandClock, *, before: bool
) -> None:
    old = member(data, clock, host("old"))
    await old.join()
    clock.move(days=2)

    class Late(MemoryMesh):
        async def get(self, key: str, /) -> Entry | None:
            if before:
                await old.renew()
            found = await super().get(key)
            if not before:
                await old.renew()
            return found

    newer = Membership(Late(data, clock=clock), host("newer"), clock=clock)
    await newer.join()
    assert await names(newer) == ["old", "newer*"]


async def test_records_that_are_no_members_are_left_out(data: MemoryData, clock: HandClock) -> None:
    one = member(data, clock, host("one"))
    record = await one.join()
    store = MemoryMesh(data, clock=clock)
    await store.put("member/x", "nonsense")
    await store.put("member/y", {**record.to_json(), "id": "y", "expiresAt": "soon"})
    await store.put("member/z", {**record.to_json(), "id": "z", "expiresAt": "2026-01-02T03:04:36"})
    assert await names(one, stale=True) == ["one*"]


async def test_more_members_than_a_page_are_all_found(data: MemoryData, clock: HandClock) -> None:
    store = MemoryMesh(data, clock=clock, limits=Limits(max_read_events=2))
    for number in range(5):
        await Membership(store, host(f"h{number}"), clock=clock).join()
    assert len(await list_members(store, now=clock.now())) == 5


async def test_renewing_goes_on_after_a_failure(data: MemoryData, clock: HandClock) -> None:
    failing = StoppingMesh(MemoryMesh(data, clock=clock), stop_at=2, error=StorageError("full"))
    one = Membership(failing, host("one"), clock=clock, lease_seconds=0.003)
    await one.join()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(one.run())
        await until(lambda: one.last_error is not None)
        clock.move(seconds=60)
        await until(lambda: one.last_error is None)
        running.cancel()
    found = await list_members(failing, now=clock.now() - timedelta(microseconds=1))
    assert [(record.id, stale) for record, stale in found] == [("one", False)]


async def until(
    reached: Callable[[], bool], pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    while not reached():
        await pause(0)
