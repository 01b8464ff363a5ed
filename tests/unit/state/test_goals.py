from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import pytest

from toolfabric.errors import RecordError, StorageError
from toolfabric.mesh.store import MeshStore
from toolfabric.state.control import State
from toolfabric.state.records import ComplexityLimit, EvidenceCommand, Move, ReasonCode
from toolfabric.testing.mesh import StoppingMesh

pytestmark = pytest.mark.anyio


class World(Protocol):
    store: MeshStore
    workspace: Path

    def state(self, store: MeshStore | None = None, *, actor: str = "host-1") -> State: ...
    async def kinds(self) -> list[str]: ...


async def codes(world: World) -> list[ReasonCode]:
    found = await world.state().check_goal()
    assert found.reached == (not found.reasons)
    return [reason.code for reason in found.reasons]


async def test_without_a_goal_nothing_is_reached(world: World) -> None:
    assert await codes(world) == [ReasonCode.NO_GOAL]


async def test_a_goal_is_set_by_compare_and_swap(world: World) -> None:
    state = world.state()
    limits = (ComplexityLimit(path="a.py", at_most=3),)
    swap = await state.set_goal("Ship it", to="released", certified=True, complexity=limits, if_version=0)
    assert (swap.done, swap.version) == (True, 1)
    swap = await state.set_goal("Other", if_version=0)
    assert (swap.done, swap.version) == (False, 1)
    entry = await world.store.get("goal/current")
    assert entry is not None
    assert entry.value == {
        "format": 1,
        "text": "Ship it",
        "to": "released",
        "certified": True,
        "complexity": [{"path": "a.py", "atMost": 3}],
        "setBy": "host-1",
        "setAt": entry.value["setAt"],
    }
    assert (await state.set_goal("Other")).version == 2
    assert await world.kinds() == ["goal", "goal"]


async def test_a_goal_without_conditions_is_reached(world: World) -> None:
    await world.state().set_goal("Just be")
    assert await codes(world) == []


async def test_every_condition_that_is_not_met_is_named(world: World) -> None:
    state = world.state()
    limits = (ComplexityLimit(path="a.py", at_most=0), ComplexityLimit(path="b.py", at_most=0))
    await state.set_goal("All", to="released", certified=True, complexity=limits)
    (world.workspace / "a.py").write_text("if a: pass\n")
    assert await codes(world) == [
        ReasonCode.OTHER_STATE,
        ReasonCode.TOO_COMPLEX,
        ReasonCode.COMPLEXITY_UNKNOWN,
        ReasonCode.NO_HEAD,
        ReasonCode.NO_CERTIFICATE,
    ]
    command = EvidenceCommand(name="tests", command="x", args=(), timeout_ms=1_000)
    await state.transition(Move(to="review", summary="", if_version=0, commands=(command,)))
    found = await state.check_goal()
    assert found.reasons[0].detail == "the goal is the state 'released', and the head is at 'review'"
    await state.transition(Move(to="released", summary="", if_version=1, commands=(command,)))
    (world.workspace / "a.py").write_text("a\n")
    (world.workspace / "b.py").write_text("b\n")
    assert await codes(world) == [ReasonCode.NO_CERTIFICATE]
    await state.verify(2)
    assert await codes(world) == []
    (world.workspace / "b.py").write_text("b or c\n")
    assert await codes(world) == [ReasonCode.TOO_COMPLEX]


@pytest.mark.parametrize("broken", [{"format": 2}, {"text": 5}, {"to": ""}])
async def test_a_goal_that_cannot_be_read_is_not_reached(world: World, broken: dict[str, Any]) -> None:
    await world.state().set_goal("x")
    entry = await world.store.get("goal/current")
    assert entry is not None
    await world.store.put("goal/current", {**entry.value, **broken})
    assert await codes(world) == [ReasonCode.DAMAGED]


async def test_a_damaged_head_reaches_no_state(world: World) -> None:
    state = world.state()
    await state.transition(Move(to="released", summary="", if_version=0))
    await state.set_goal("x", to="released")
    assert await codes(world) == []
    await world.store.delete("state/decision/t1")
    assert await codes(world) == [ReasonCode.OTHER_STATE]


async def test_a_malformed_goal_is_not_written(world: World) -> None:
    for text, to in (("x" * 4_001, "x"), ("x", "\x1b")):
        with pytest.raises(RecordError):
            await world.state().set_goal(text, to=to)
    assert await world.store.get("goal/current") is None


async def test_a_goal_stands_even_when_its_event_is_not_kept(world: World) -> None:
    failing = StoppingMesh(world.store, stop_at=2, error=StorageError("full"))
    assert (await world.state(failing).set_goal("x")).done
    assert await codes(world) == []
