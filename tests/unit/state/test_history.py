from __future__ import annotations

import contextlib
from typing import Any, Protocol

import pytest

from toolfabric._base.canonical import canonical_digest
from toolfabric.errors import StateError, StorageError
from toolfabric.mesh.records import Swap
from toolfabric.mesh.store import MeshStore
from toolfabric.state.control import State
from toolfabric.state.history import archive_old, read_history
from toolfabric.state.ledger import Ledger
from toolfabric.state.records import Move, Moved
from toolfabric.testing.files import Crashed
from toolfabric.testing.mesh import StoppingMesh

pytestmark = pytest.mark.anyio


class World(Protocol):
    store: MeshStore

    def state(self, store: MeshStore | None = None, *, actor: str = "host-1") -> State: ...
    def ledger(self, store: MeshStore | None = None) -> Ledger: ...


async def moves(world: World, count: int, *, first: int = 0) -> None:
    for version in range(first, first + count):
        moved = await world.state().transition(Move(to=f"s{version + 1}", summary="", if_version=version))
        assert isinstance(moved, Moved)


async def archive(world: World, store: MeshStore | None = None, *, keep: int = 3, slack: int = 0) -> int:
    ledger = world.ledger(store)
    found = await archive_old(ledger, await ledger.sound(), keep=keep, slack=slack)
    return 0 if found is None else found.through


async def versions(world: World, *, cursor: str | None = None) -> list[int]:
    found = await read_history(world.ledger(), limit=100, cursor=cursor)
    return [step.proposal.version for step in found.steps]


async def keys(world: World) -> list[str]:
    return [entry.key for entry in (await world.store.list("state/")).entries]


async def archived(world: World) -> list[int]:
    events = (await world.store.read("fabric.state.archive")).events
    return [event.data["proposal"]["version"] for event in events]


async def test_history_is_read_from_the_newest_to_the_oldest_in_pages(world: World) -> None:
    assert (await world.state().history()).steps == ()
    await moves(world, 7)
    state = world.state()
    page = await state.history(limit=3)
    assert [step.proposal.to for step in page.steps] == ["s7", "s6", "s5"]
    assert page.steps[0].decision.proof == page.steps[0].proof
    assert page.steps[1].proof == page.steps[0].proposal.previous_proof
    assert page.cursor == "t4"
    page = await state.history(limit=3, cursor=page.cursor)
    assert [step.proposal.to for step in page.steps] == ["s4", "s3", "s2"]
    page = await state.history(limit=3, cursor=page.cursor)
    assert ([step.proposal.to for step in page.steps], page.cursor, page.archive) == (["s1"], None, None)


async def test_what_was_not_committed_is_not_history(world: World) -> None:
    await moves(world, 2)
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=3)).transition(
            Move(to="x", summary="", if_version=2)
        )
    assert await versions(world) == [2, 1]
    for cursor in ("t3", "t9", "no/such//key", ""):
        with pytest.raises(ValueError, match=r"the cursor names no committed transition"):
            await versions(world, cursor=cursor)
    await world.state().discard_pending("t3", reason="gone")
    with pytest.raises(ValueError, match=r"the cursor names no committed transition"):
        await versions(world, cursor="t3")


async def test_old_transitions_go_behind_the_boundary_and_stand_in_the_archive(world: World) -> None:
    await moves(world, 8)
    before = await read_history(world.ledger(), limit=100)
    assert await archive(world, keep=3, slack=5) == 0
    assert await archive(world, keep=3, slack=4) == 5
    after = await read_history(world.ledger(), limit=100)
    assert after.steps == before.steps[:3]
    assert after.cursor is None
    assert after.archive is not None
    assert (after.archive.through, after.archive.transition_id) == (5, "t5")
    assert after.archive.proof == before.steps[3].proof
    assert await archived(world) == [1, 2, 3, 4, 5]
    event = (await world.store.read("fabric.state.archive")).events[4]
    step = before.steps[3]
    assert event.data == {
        "proposal": step.proposal.to_json(),
        "decision": step.decision.to_json(),
        "proof": step.proof,
    }
    assert await keys(world) == [
        "state/archive",
        *(f"state/decision/t{n}" for n in (6, 7, 8)),
        "state/head",
        *(f"state/proposal/t{n}" for n in (6, 7, 8)),
    ]
    assert (await world.state().get()).view.damage is None
    await moves(world, 3, first=8)
    assert await archive(world) == 8
    assert await versions(world) == [11, 10, 9]
    assert await archived(world) == list(range(1, 9))


async def test_the_boundary_moves_by_itself_after_many_transitions(world: World) -> None:
    await moves(world, 251)
    found = await world.state().history(limit=500)
    assert found.archive is not None
    assert (found.archive.through, len(found.steps)) == (51, 200)


async def test_proposals_that_lead_nowhere_are_swept_and_others_are_left(world: World) -> None:
    await moves(world, 2)
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=2)).transition(
            Move(to="orphan", summary="", if_version=2)
        )
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=3)).transition(
            Move(to="stuck", summary="", if_version=2)
        )
    await world.state().discard_pending("t4", reason="gone")
    await moves(world, 4, first=2)
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=2)).transition(
            Move(to="young", summary="", if_version=6)
        )
    await world.store.put("state/proposal/odd", "nonsense")
    assert await archive(world) == 3
    assert [key.removeprefix("state/") for key in await keys(world)] == [
        "archive",
        "decision/t4",  # says "discarded", for good
        "decision/t6",
        "decision/t7",
        "decision/t8",
        "head",
        "proposal/odd",
        "proposal/t6",
        "proposal/t7",
        "proposal/t8",
        "proposal/t9",
    ]


@pytest.mark.parametrize("after", [False, True])
async def test_archiving_that_stops_anywhere_loses_nothing_and_is_finished_later(
    world: World, *, after: bool
) -> None:
    await moves(world, 6)
    total = 3 + 1 + 6  # events, the boundary, records
    for number in range(1, total + 1):
        dying = StoppingMesh(world.store, stop_at=number, after=after)
        with contextlib.suppress(Crashed):
            await archive(world, dying)
        found = await versions(world)
        assert found in ([6, 5, 4, 3, 2, 1], [6, 5, 4])
        assert (await world.state().get()).view.damage is None
        seen = set(await archived(world)) | set(found)
        assert seen == {1, 2, 3, 4, 5, 6}
    await moves(world, 1, first=6)
    assert await archive(world) == 4
    assert await versions(world) == [7, 6, 5]
    assert sorted(set(await archived(world))) == [1, 2, 3, 4]
    assert [key for key in await keys(world) if "/t" in key] == [
        *(f"state/decision/t{n}" for n in (5, 6, 7)),
        *(f"state/proposal/t{n}" for n in (5, 6, 7)),
    ]


async def test_a_reader_whom_the_boundary_overtakes_ends_there(world: World) -> None:
    await moves(world, 6)

    class Overtaken(StoppingMesh):
        reads = 0

        async def get(self, key: str, /):  # noqa: ANN202 - as the store's
            self.reads += key.startswith("state/proposal/")
            if self.reads == 4:
                self.reads += 1
                await archive(world)
            return await super().get(key)

    found = await read_history(world.ledger(Overtaken(world.store)), limit=100)
    assert [step.proposal.version for step in found.steps] == [6, 5, 4]
    assert found.archive is not None
    assert found.archive.through == 3


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("state/proposal/t2", None, "t2: its record is gone"),
        ("state/decision/t2", None, "t2: its record is gone"),
        ("state/proposal/t2", {"summary": "changed"}, "t2: it does not have the proof"),
        ("state/proposal/t2", {"format": 2}, "t2: not a valid Proposal record"),
        ("state/decision/t2", {"outcome": "discarded"}, "t2: it does not have the proof"),
        ("state/archive", {"proof": "0" * 64}, "t3: it does not follow on the archive boundary"),
        ("state/archive", {"format": 9}, "the archive boundary of the state cannot be read"),
    ],
)
async def test_a_chain_that_does_not_fit_is_damage(world: World, key: str, value: Any, what: str) -> None:
    await moves(world, 4)
    if key == "state/archive":
        assert await archive(world, keep=2) == 2
    entry = await world.store.get(key)
    assert entry is not None
    if value is None:
        await world.store.delete(key)
    else:
        await world.store.put(key, {**entry.value, **value})
    before = await world.store.list()
    with pytest.raises(StateError, match=what):
        await versions(world)
    with pytest.raises(StateError):
        await archive(world, keep=1)
    assert await world.store.list() == before


async def test_a_first_transition_with_something_before_it_is_damage(world: World) -> None:
    await moves(world, 1)
    head, proposal = await world.store.get("state/head"), await world.store.get("state/proposal/t1")
    decision = await world.store.get("state/decision/t1")
    assert head is not None
    assert proposal is not None
    assert decision is not None
    forged = {**proposal.value, "previousProof": "1" * 64}
    proof = canonical_digest(forged)
    await world.store.put("state/proposal/t1", forged)
    await world.store.put("state/decision/t1", {**decision.value, "proof": proof})
    await world.store.put("state/head", {**head.value, "proof": proof})
    with pytest.raises(StateError, match="it is the first, and holds a proof of something before it"):
        await versions(world)


async def test_a_mesh_that_fails_while_tidying_does_not_undo_the_transition(world: World) -> None:
    await moves(world, 250)

    class NoArchive(StoppingMesh):
        async def put(self, key: str, value: Any, /, *, if_version: int | None = None) -> Swap:
            if key == "state/archive":
                raise StorageError("full")
            return await super().put(key, value, if_version=if_version)

    moved = await world.state(NoArchive(world.store)).transition(Move(to="x", summary="", if_version=250))
    assert isinstance(moved, Moved)
    assert await archive(world, keep=200, slack=50) == 51
