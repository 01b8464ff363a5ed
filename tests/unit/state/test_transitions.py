from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from toolfabric.errors import RecordError, StateError, StorageError
from toolfabric.mesh.records import Limits, Swap
from toolfabric.mesh.store import MeshStore
from toolfabric.state.control import State
from toolfabric.state.ledger import Ledger
from toolfabric.state.records import Blocked, EvidenceCommand, Move, Moved, StateBinding
from toolfabric.state.transitions import discard_pending, move_head
from toolfabric.testing.files import Crashed
from toolfabric.testing.mesh import MemoryData, MemoryMesh, StoppingMesh
from toolfabric.values import Json

pytestmark = pytest.mark.anyio

CHANGES = 5
"""Proposal, pending head, marker, closed head, event."""


class World(Protocol):
    data: MemoryData
    store: MeshStore
    clock: Any
    workspace: Path

    def state(self, store: MeshStore | None = None, *, actor: str = "host-1") -> State: ...
    def ledger(self, store: MeshStore | None = None) -> Ledger: ...
    async def kinds(self) -> list[str]: ...


def move(to: str, at: int, **more: Any) -> Move:
    return Move(to=to, summary=f"to {to}", if_version=at, **more)


async def test_the_head_moves_from_state_to_state(world: World) -> None:
    state = world.state()
    first = await state.transition(move("draft", 0))
    second = await state.transition(move("review", 1, data={"pull": 7}))
    assert isinstance(first, Moved)
    assert isinstance(second, Moved)
    assert (first.source, first.binding) == (None, StateBinding(transition_id="t1", version=1, to="draft"))
    assert second.source == first.binding
    assert second.binding == StateBinding(transition_id="t2", version=2, to="review")
    assert second.announced
    assert await state.binding() == second.binding
    assert second.binding.to_json() == {"transitionId": "t2", "version": 2, "to": "review"}
    assert await world.kinds() == ["transitioned", "transitioned"]


async def test_the_records_have_the_forms_that_are_documented(world: World) -> None:
    state = world.state()
    await state.transition(move("draft", 0))
    command = EvidenceCommand(name="tests", command="make", args=("test",), timeout_ms=30_000)
    await state.transition(move("review", 1, commands=(command,), data=[1]))
    found: dict[str, Any] = {entry.key: entry.value for entry in (await world.store.list("state/")).entries}
    assert sorted(found) == [
        "state/decision/t1",
        "state/decision/t2",
        "state/head",
        "state/proposal/t1",
        "state/proposal/t2",
    ]
    head, proposal, decision = found["state/head"], found["state/proposal/t2"], found["state/decision/t2"]
    assert head == {
        "format": 1,
        "current": {"transitionId": "t2", "version": 2, "to": "review"},
        "proof": decision["proof"],
        "updatedAt": head["updatedAt"],
    }
    assert proposal == {
        "format": 1,
        "transitionId": "t2",
        "version": 2,
        "from": {"transitionId": "t1", "version": 1, "to": "draft"},
        "to": "review",
        "summary": "to review",
        "commands": [{"name": "tests", "command": "make", "args": ["test"], "timeoutMs": 30_000}],
        "complexity": [],
        "previousProof": found["state/decision/t1"]["proof"],
        "proposedBy": "host-1",
        "proposedAt": proposal["proposedAt"],
        "data": [1],
    }
    assert {**decision, "proof": "", "decidedAt": ""} == {
        "format": 1,
        "transitionId": "t2",
        "outcome": "committed",
        "proof": "",
        "decidedBy": "host-1",
        "decidedAt": "",
    }
    assert found["state/proposal/t1"]["from"] is None
    assert found["state/proposal/t1"]["previousProof"] == "0" * 64


@pytest.mark.parametrize("version", [0, 2, 99])
async def test_a_move_from_another_version_is_blocked_and_leaves_nothing(world: World, version: int) -> None:
    state = world.state()
    await state.transition(move("draft", 0))
    before = await world.store.list()
    assert await state.transition(move("x", version)) == Blocked(
        current=StateBinding(transition_id="t1", version=1, to="draft")
    )
    assert await world.store.list() == before


async def test_of_many_moves_at_once_one_wins(world: World) -> None:
    class Slow(MemoryMesh):
        async def put(self, key: str, value: Json, /, *, if_version: int | None = None) -> Swap:
            await asyncio.sleep(0)
            return await super().put(key, value, if_version=if_version)

    states = [
        State(
            Slow(world.data, clock=world.clock),
            clock=world.clock,
            ids=Named(f"h{number}"),
            actor=f"host-{number}",
            workspace=world.workspace,
            patience_seconds=5,
        )
        for number in range(5)
    ]
    for version in range(3):
        async with asyncio.TaskGroup() as tasks:
            moves = [
                tasks.create_task(state.transition(move(f"s{number}", version)))
                for number, state in enumerate(states)
            ]
        results = [one.result() for one in moves]
        won = [one for one in results if isinstance(one, Moved)]
        assert len(won) == 1
        assert all(one.current == won[0].binding for one in results if isinstance(one, Blocked))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, CHANGES + 1))
async def test_a_host_that_dies_anywhere_leaves_the_old_head_or_the_new(
    world: World, number: int, *, after: bool, first: bool
) -> None:
    old = None
    if not first:
        await world.state().transition(move("old", 0))
        old = await world.state().binding()
    version = 0 if old is None else 1
    dying = StoppingMesh(world.store, stop_at=number, after=after)
    with pytest.raises(Crashed):
        await world.state(dying).transition(move("new", version))
    made = number if after else number - 1
    committed, pending = made >= 3, made == 2
    for _look in range(2):
        status = await world.state(actor="host-2").get()
        assert status.view.damage is None
        if committed:
            assert status.view.current is not None
            assert (status.view.current.to, status.view.current.version) == ("new", version + 1)
        else:
            assert status.view.current == old
        assert (status.view.pending is not None) == pending
    moving = world.state(actor="host-2").transition(move("next", version + 1 if committed else version))
    if pending:
        with pytest.raises(StateError, match=r"is pending: transition t\d to 'new' .* by host-1"):
            await moving
    else:
        assert isinstance(await moving, Moved)


@pytest.mark.parametrize("number", range(1, CHANGES + 1))
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kind", [StorageError, asyncio.CancelledError])
async def test_a_host_that_is_failed_or_cancelled_anywhere_leaves_nothing_pending(
    world: World, number: int, kind: type[Exception], *, after: bool
) -> None:
    await world.state().transition(move("old", 0))
    old = await world.state().binding()
    failing = StoppingMesh(world.store, stop_at=number, after=after, error=kind())
    moved = None
    with contextlib.suppress(kind):
        moved = await world.state(failing).transition(move("new", 1))
    view = (await world.state().get()).view
    assert (view.damage, view.pending) == (None, None)
    assert view.current is not None
    assert view.current == old or view.current.to == "new"
    if kind is StorageError:
        # Whoever was told of the move finds it; whoever was told of the error does not.
        assert (moved is not None) == (view.current.to == "new")
    assert isinstance(await world.state().transition(move("next", view.version)), Moved)


async def test_a_pending_head_fails_closed_until_an_operator_discards_it(world: World) -> None:
    await world.state().transition(move("old", 0))
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=3)).transition(move("new", 1))
    state = world.state(actor="operator")
    pending = (await state.get()).view.pending
    assert pending is not None
    assert pending.transition_id == "t2"
    with pytest.raises(StateError) as raised:
        await state.transition(move("next", 1))
    told = str(raised.value)
    assert "transition t2 to 'new' (version 2) was begun at 2026-" in told
    assert "version 1 holds" in told
    assert "run 'fabric state discard t2'" in told
    for wrong in ("t1", "t9"):
        with pytest.raises(StateError, match="is pending; 'fabric state show' names"):
            await state.discard_pending(wrong, reason="no")
    assert await state.discard_pending("t2", reason="its host is gone") == await state.binding()
    with pytest.raises(StateError, match="no transition 't2' is pending"):
        await state.discard_pending("t2", reason="again")
    moved = await state.transition(move("next", 1))
    assert isinstance(moved, Moved)
    assert await world.kinds() == ["transitioned", "discarded", "transitioned"]


async def test_the_first_head_of_all_may_be_pending_too(world: World) -> None:
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=3)).transition(move("new", 0))
    state = world.state()
    assert await state.binding() is None
    with pytest.raises(StateError, match="there is no committed state yet"):
        await state.transition(move("next", 0))
    assert await state.discard_pending("t1", reason="gone") is None
    assert isinstance(await state.transition(move("next", 0)), Moved)


class Pausing(StoppingMesh):
    """Does something just before one change: what another host does meanwhile."""

    def __init__(self, store: MeshStore, *, at: int, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(store)
        self._at = at
        self._meanwhile = meanwhile

    async def put(self, key: str, value: Json, /, *, if_version: int | None = None) -> Swap:
        if self.changes + 1 == self._at:
            self._at = 0
            await self._meanwhile()
        return await super().put(key, value, if_version=if_version)


async def test_a_slow_host_whose_move_was_discarded_is_told(world: World) -> None:
    await world.state().transition(move("old", 0))
    operator = world.state(actor="operator")
    slow = Pausing(world.store, at=3, meanwhile=lambda: operator.discard_pending("t2", reason="too slow"))
    with pytest.raises(StateError, match="t2 was discarded by an operator before it was committed"):
        await world.state(slow).transition(move("new", 1))
    binding = await operator.binding()
    assert binding is not None
    assert binding.to == "old"
    assert isinstance(await operator.transition(move("next", 1)), Moved)


async def test_an_operator_who_is_too_late_finds_it_committed(world: World) -> None:
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=4)).transition(move("new", 0))
    binding = await discard_pending(world.ledger(), "t1", reason="I thought it was stuck")
    assert binding == StateBinding(transition_id="t1", version=1, to="new")
    assert await world.kinds() == []


async def test_a_head_that_moved_meanwhile_blocks_and_the_proposal_is_withdrawn(world: World) -> None:
    await world.state().transition(move("old", 0))
    other = world.state(actor="host-2")
    slow = Pausing(world.store, at=2, meanwhile=lambda: other.transition(move("theirs", 1)))
    blocked = await world.state(slow).transition(move("mine", 1))
    assert isinstance(blocked, Blocked)
    assert blocked.current is not None
    assert blocked.current.to == "theirs"
    proposals = [entry.key for entry in (await world.store.list("state/proposal/")).entries]
    assert proposals == ["state/proposal/t1", "state/proposal/t3"]


async def test_another_hosts_move_is_waited_for(world: World) -> None:
    await world.state().transition(move("old", 0))
    reached, go = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        reached.set()
        await go.wait()

    slow = Pausing(world.store, at=3, meanwhile=hold)
    async with asyncio.TaskGroup() as tasks:
        theirs = tasks.create_task(world.state(slow, actor="host-2").transition(move("theirs", 1)))
        await reached.wait()
        mine = tasks.create_task(
            move_head(world.ledger(), move("mine", 2), ids=Named("m"), patience_seconds=50)
        )
        await asyncio.sleep(0)
        go.set()
    assert isinstance(theirs.result(), Moved)
    assert isinstance(mine.result(), Moved)


async def test_a_discarded_move_of_another_host_does_not_block_mine(world: World) -> None:
    """The swap is lost to a move that is then taken back: the version is what was asked for, so try again."""
    await world.state().transition(move("old", 0))
    operator = world.state(actor="operator")

    async def theirs() -> None:
        with pytest.raises(Crashed):
            await world.state(StoppingMesh(world.store, stop_at=3)).transition(move("theirs", 1))
        await operator.discard_pending("t3", reason="gone")

    moved = await world.state(Pausing(world.store, at=2, meanwhile=theirs)).transition(move("mine", 1))
    assert isinstance(moved, Moved)
    assert moved.binding.version == 2


@pytest.mark.parametrize(
    "broken",
    [
        {"to": ""},
        {"to": "\x1b[31m"},
        {"to": "x" * 101},
        {"summary": "x" * 4_001},
        {"commands": (EvidenceCommand(name="n", command="", args=(), timeout_ms=1_000),)},
        {"commands": (EvidenceCommand(name="n", command="c", args=(), timeout_ms=999),)},
        {"commands": (EvidenceCommand(name="n", command="c", args=(), timeout_ms=1_000),) * 17},
    ],
)
async def test_a_move_that_could_not_be_read_back_is_not_written(
    world: World, broken: dict[str, Any]
) -> None:
    given: dict[str, Any] = {"to": "x", "summary": "", "if_version": 0, **broken}
    with pytest.raises(RecordError):
        await world.state().transition(Move(**given))
    assert (await world.store.list()).entries == ()


async def test_a_move_that_is_too_large_or_no_json_is_not_written(world: World) -> None:
    small = MemoryMesh(world.data, clock=world.clock, limits=Limits(max_event_bytes=3_000))
    with pytest.raises(ValueError, match="a transition has at most 952 bytes as JSON"):
        await world.state(small).transition(move("x", 0, data="x" * 900))
    assert isinstance(await world.state(small).transition(move("x", 0, data="x" * 300)), Moved)
    with pytest.raises(ValueError, match="no canonical JSON form"):
        await world.state().transition(move("x", 1, data=2**60))


class Named:
    """Ids with a name of their own in front."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def session(self) -> str:
        self._count += 1
        return f"{self._name}-{self._count}"

    def entry(self) -> str:
        return self._name
