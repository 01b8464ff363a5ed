from __future__ import annotations

import pytest

from toolfabric._base.clock import SystemClock
from toolfabric.mesh.program import MAX_WAIT_SECONDS, ProgramMesh
from toolfabric.mesh.records import Draft, Page
from toolfabric.testing.mesh import MemoryMesh

pytestmark = pytest.mark.anyio


@pytest.fixture
def store() -> MemoryMesh:
    return MemoryMesh(clock=SystemClock())


@pytest.fixture
def program(store: MemoryMesh) -> ProgramMesh:
    return ProgramMesh(store, sender="host-1")


@pytest.mark.parametrize(
    "key", ["schema/workspace", "state/head", "goal/current", "member/x", "STATE/head", "fabric"]
)
async def test_a_program_changes_no_key_of_the_host(
    program: ProgramMesh, store: MemoryMesh, key: str
) -> None:
    await store.put(key, "the host's")
    with pytest.raises(ValueError, match="only the host changes keys under"):
        await program.put(key, "mine")
    with pytest.raises(ValueError, match="only the host changes keys under"):
        await program.delete(key)
    entry = await program.get(key)
    assert entry is not None
    assert (entry.value, entry.version) == ("the host's", 1)
    assert [one.key for one in (await program.list()).entries] == [key]


@pytest.mark.parametrize("topic", ["fabric", "fabric.schema", "FABRIC.state"])
async def test_a_program_adds_nothing_to_a_topic_of_the_host(
    program: ProgramMesh, store: MemoryMesh, topic: str
) -> None:
    event = await store.append(Draft(topic=topic, kind="k", sender="host"))
    with pytest.raises(ValueError, match="only the host writes to 'fabric'"):
        await program.publish(topic, "k")
    assert (await program.read(topic)).events == (event,)


async def test_a_programs_events_carry_the_hosts_word_for_who_sent_them(program: ProgramMesh) -> None:
    event = await program.publish("t", "k", to="b", text="x", data={"from": "somebody"})
    assert (event.sender, event.to, event.text, event.data) == ("host-1", "b", "x", {"from": "somebody"})


async def test_a_programs_own_keys_are_its_own(program: ProgramMesh) -> None:
    assert (await program.put("plan", 1, if_version=0)).done
    assert not (await program.put("plan", 2, if_version=0)).done
    assert (await program.delete("plan", if_version=1)).done
    assert await program.get("plan") is None


async def test_a_programs_wait_is_bounded() -> None:
    waits: list[float] = []

    class Noting(MemoryMesh):
        async def read(
            self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
        ) -> Page:
            waits.append(wait_seconds)
            return await super().read(topic, cursor=cursor, limit=limit)

    program = ProgramMesh(Noting(clock=SystemClock()), sender="s")
    await program.read("t", wait_seconds=1e9)
    await program.read("t", wait_seconds=2)
    assert waits == [MAX_WAIT_SECONDS, 2]
