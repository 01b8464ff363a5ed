from __future__ import annotations

from typing import Protocol

import pytest

from toolfabric.errors import StateError
from toolfabric.mesh.records import Entry
from toolfabric.mesh.store import MeshStore
from toolfabric.state.control import State
from toolfabric.state.ledger import Ledger
from toolfabric.state.records import Move
from toolfabric.testing.files import Crashed
from toolfabric.testing.mesh import StoppingMesh

pytestmark = pytest.mark.anyio


class World(Protocol):
    store: MeshStore

    def state(self, store: MeshStore | None = None, *, actor: str = "host-1") -> State: ...
    def ledger(self, store: MeshStore | None = None) -> Ledger: ...


def move(at: int) -> Move:
    return Move(to=f"s{at + 1}", summary="", if_version=at)


async def test_an_empty_mesh_has_no_head(world: World) -> None:
    view = await world.ledger().look()
    assert (view.version, view.current, view.proof, view.damage) == (0, None, "0" * 64, None)


async def test_a_decided_head_that_was_not_closed_holds_what_was_decided(world: World) -> None:
    await world.state().transition(move(0))
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=4)).transition(move(1))
    view = await world.ledger().look()
    assert view.decision is not None
    assert (view.version, view.pending, view.damage) == (2, None, None)
    assert view.head is not None
    assert view.head.current is not None
    assert view.head.current.version == 1


async def test_what_looks_like_damage_while_another_host_moves_is_looked_at_again(world: World) -> None:
    await world.state().transition(move(0))
    other = world.state(actor="host-2")

    class Torn(StoppingMesh):
        """The proposal seems gone until the head has moved once more."""

        moved = False

        async def get(self, key: str, /) -> Entry | None:
            if key == "state/proposal/t1" and not self.moved:
                self.moved = True
                await other.transition(move(1))
                return None
            return await super().get(key)

    view = await world.ledger(Torn(world.store)).look()
    assert (view.version, view.damage) == (2, None)


async def test_damage_that_stays_is_told(world: World) -> None:
    await world.state().transition(move(0))
    await world.store.delete("state/proposal/t1")
    assert (await world.ledger().look()).damage is not None
    with pytest.raises(StateError, match="Nothing was changed; look at the keys under 'state/'"):
        await world.ledger().sound()
