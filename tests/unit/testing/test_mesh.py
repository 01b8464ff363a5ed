from __future__ import annotations

import pytest

from toolfabric._base.clock import SystemClock
from toolfabric.errors import StorageError
from toolfabric.mesh.records import Draft, Page
from toolfabric.testing.files import Crashed
from toolfabric.testing.mesh import MemoryData, MemoryMesh, StoppingMesh

pytestmark = pytest.mark.anyio

CLOCK = SystemClock()
DRAFT = Draft(topic="t", kind="k", sender="s")


async def three_changes(store: StoppingMesh) -> None:
    await store.put("k", 1)
    await store.append(DRAFT)
    await store.delete("k")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("after", [False, True])
async def test_a_stopped_mesh_made_the_changes_before_and_nothing_more(number: int, *, after: bool) -> None:
    data = MemoryData()
    store = StoppingMesh(MemoryMesh(data, clock=CLOCK), stop_at=number, after=after)
    with pytest.raises(Crashed):
        await three_changes(store)
    assert store.stopped
    made = number if after else number - 1
    left = MemoryMesh(data, clock=CLOCK)
    assert (await left.get("k") is not None) == (made in {1, 2})
    assert len((await left.read("t")).events) == (1 if made >= 2 else 0)
    for call in (
        store.get("k"),
        store.put("k", 2),
        store.read("t"),
        store.list(),
        store.topics(),
        store.problems(),
    ):
        with pytest.raises(Crashed):
            await call


async def test_a_failing_mesh_fails_once_and_goes_on() -> None:
    store = StoppingMesh(MemoryMesh(clock=CLOCK), stop_at=2, error=StorageError("full"))
    with pytest.raises(StorageError, match="full"):
        await three_changes(store)
    await three_changes(store)
    assert store.changes == 5
    assert (await store.read("t")).latest == 1
    assert (await store.topics("t"), await store.problems()) == (await store.topics(), ())
    assert (await store.list()).entries == ()
    await store.close()
    with pytest.raises(StorageError):
        await store.get("k")


async def test_a_mesh_in_memory_is_shared_by_its_handles_and_no_others() -> None:
    data = MemoryData()
    await MemoryMesh(data, clock=CLOCK).put("k", 1)
    assert await MemoryMesh(data, clock=CLOCK).get("k") is not None
    assert await MemoryMesh(clock=CLOCK).get("k") is None


async def test_a_wait_in_memory_ends() -> None:
    store = MemoryMesh(clock=CLOCK)
    assert await store.read("t", wait_seconds=0.001) == Page(
        topic="t", events=(), cursor=0, latest=0, missed=0
    )


async def test_limits_are_those_given() -> None:
    store = MemoryMesh(clock=CLOCK)
    assert StoppingMesh(store).limits is store.limits
