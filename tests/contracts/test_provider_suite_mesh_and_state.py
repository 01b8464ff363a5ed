"""The contract suite over the ``mesh`` and ``state`` providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.mesh.members import Identity, Membership
from toolfabric.providers.mesh import MeshProvider
from toolfabric.providers.state import StateProvider
from toolfabric.state.control import State
from toolfabric.testing.mesh import MemoryData, MemoryMesh
from toolfabric.testing.provider_suite import ProviderCase, check_provider_contract

pytestmark = pytest.mark.anyio

CLOCK = SystemClock()

MESH_CASES = [
    ProviderCase("self", again=True),
    ProviderCase("publish", {"topic": "t", "kind": "k", "data": {"a": 1}}, again=True),
    ProviderCase("publish", {"topic": "fabric.x", "kind": "k"}, fails=True),
    ProviderCase("read", {"topic": "t", "limit": 3}, again=True),
    ProviderCase("read", {"topic": "t", "cursor": 10_000}, fails=True),
    ProviderCase("read", {"topic": "silent", "waitMs": 60_000}, hangs=True),
    ProviderCase("members", {"scope": "machine"}, again=True),
    ProviderCase("put", {"key": "k", "value": "x\x1b[2J"}, again=True),
    ProviderCase("put", {"key": "schema/x", "value": 1}, fails=True),
    ProviderCase("get", {"key": "k"}, again=True),
    ProviderCase("list", {"values": True}, again=True),
    ProviderCase("delete", {"key": "k"}, again=True),
]
STATE_CASES = [
    ProviderCase("get", again=True),
    ProviderCase("transition", {"to": "x", "summary": "", "ifVersion": 0}),
    ProviderCase("history", {"limit": 3}, again=True),
    ProviderCase("history", {"cursor": "nothing"}, fails=True),
    ProviderCase("complexity", {"paths": ["a.py"]}, again=True),
    ProviderCase("complexity", {"paths": ["b.py"]}, fails=True),
    ProviderCase("verify", {"version": 1}, again=True),
    ProviderCase("goal", {"text": "x"}, again=True),
    ProviderCase("checkGoal", again=True),
]


def picture(data: MemoryData) -> object:
    return (
        {key: (cell.version, cell.value) for key, cell in data.cells.items()},
        {topic: len(log.kept) for topic, log in data.logs.items()},
    )


async def test_mesh_keeps_the_contract_of_providers(tmp_path: Path) -> None:
    data = MemoryData()
    me = Identity(id="me", kind="test", machine="m", pid=1, cwd=tmp_path)

    def make() -> MeshProvider:
        store = MemoryMesh(data, clock=CLOCK)
        return MeshProvider(store, Membership(store, me, clock=CLOCK))

    findings = await check_provider_contract(make, MESH_CASES, cwd=tmp_path, watch=lambda: picture(data))
    assert [str(finding) for finding in findings] == []


async def test_state_keeps_the_contract_of_providers(tmp_path: Path) -> None:
    data = MemoryData()
    (tmp_path / "a.py").write_text("a or b\n")

    def make() -> StateProvider:
        store = MemoryMesh(data, clock=CLOCK)
        return StateProvider(State(store, clock=CLOCK, ids=SystemIds(), actor="me", workspace=tmp_path))

    findings = await check_provider_contract(make, STATE_CASES, cwd=tmp_path, watch=lambda: picture(data))
    assert [str(finding) for finding in findings] == []
