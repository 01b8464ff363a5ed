"""One mesh in memory, a clock that ticks, and evidence that ends as a test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolfabric.mesh.store import MeshStore
from toolfabric.state.control import State
from toolfabric.state.ledger import Ledger
from toolfabric.state.records import EvidenceCommand, EvidenceResult, EvidenceStatus
from toolfabric.testing.mesh import MemoryData, MemoryMesh


class TickingClock:
    """One second later at every look."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()


class CountingIds:
    """Names that a test can foresee."""

    def __init__(self) -> None:
        self.count = 0

    def session(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def entry(self) -> str:
        return f"{self.count:08x}"


class Evidence:
    """Runs nothing: commands end as ``endings`` says, else confirmed. ``during`` is done in between."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.endings: dict[str, EvidenceStatus] = {}
        self.during: Callable[[], Awaitable[object]] | None = None

    async def __call__(self, command: EvidenceCommand, /, *, workspace: Path) -> EvidenceResult:
        self.ran.append(command.name)
        if self.during is not None:
            await self.during()
        status = self.endings.get(command.name, EvidenceStatus.CONFIRMED)
        return EvidenceResult(
            name=command.name, status=status, detail="as told", exit_code=0, output="seen", output_bytes=4
        )


class World:
    """Everything around a state that a test may reach."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.data = MemoryData()
        self.clock = TickingClock()
        self.ids = CountingIds()
        self.evidence = Evidence()
        self.store: MeshStore = MemoryMesh(self.data, clock=self.clock)

    def state(self, store: MeshStore | None = None, *, actor: str = "host-1") -> State:
        """A state on the same mesh, patient for one moment only."""
        return State(
            store or self.store,
            clock=self.clock,
            ids=self.ids,
            actor=actor,
            workspace=self.workspace,
            run=self.evidence,
            patience_seconds=0.02,
        )

    def ledger(self, store: MeshStore | None = None) -> Ledger:
        """The records below it."""
        return Ledger(store or self.store, clock=self.clock, actor="host-1")

    async def kinds(self) -> list[str]:
        """What was announced."""
        return [event.kind for event in (await self.store.read("fabric.state")).events]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
