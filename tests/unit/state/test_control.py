from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Protocol

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StateError
from toolfabric.mesh.sqlite_store import SqliteMesh
from toolfabric.mesh.store import MeshStore
from toolfabric.state.control import State
from toolfabric.state.records import EvidenceCommand, Move, Moved

pytestmark = pytest.mark.anyio


class World(Protocol):
    store: MeshStore
    workspace: Path
    evidence: Any

    def state(self, store: MeshStore | None = None, *, actor: str = "host-1") -> State: ...


async def test_what_verifying_would_run_can_be_seen_without_running_it(world: World) -> None:
    state = world.state()
    command = EvidenceCommand(name="tests", command="make", args=("test",), timeout_ms=1_000)
    assert await state.commands(0) == ()
    await state.transition(Move(to="x", summary="", if_version=0, commands=(command,)))
    assert await state.commands(1) == (command,)
    assert await state.commands(2) == ()
    assert world.evidence.ran == []


async def test_decision_points_are_those_of_the_workspace(world: World) -> None:
    (world.workspace / "a.py").write_text("a or b\n")
    [found] = await world.state().complexity(["a.py"])
    assert found.decisions == 1
    with pytest.raises(StateError, match=r"missing\.py"):
        await world.state().complexity(["a.py", "missing.py"])


async def test_two_hosts_share_one_state_on_a_real_mesh_with_real_evidence(tmp_path: Path) -> None:
    async def opened() -> SqliteMesh:
        return await SqliteMesh.open(
            tmp_path / "mesh", files=RealFiles(), clock=SystemClock(), ids=SystemIds()
        )

    async with await opened() as mesh_a, await opened() as mesh_b:
        one, two = (
            State(mesh, clock=SystemClock(), ids=SystemIds(), actor=name, workspace=tmp_path)
            for mesh, name in ((mesh_a, "a"), (mesh_b, "b"))
        )
        look = EvidenceCommand(
            name="marker", command=sys.executable, args=("-c", "open('marker')"), timeout_ms=50_000
        )
        moved = await one.transition(Move(to="done", summary="", if_version=0, commands=(look,)))
        assert isinstance(moved, Moved)
        assert [result.exit_code for result in (await two.verify(1)).results] == [1]
        assert (await one.get()).certificate is None
        (tmp_path / "marker").touch()
        assert (await two.verify(1)).reasons == ()
        certificate = (await one.get()).certificate
        assert certificate is not None
        assert certificate.issued_by == "b"
        assert [step.proposal.proposed_by for step in (await two.history()).steps] == ["a"]
