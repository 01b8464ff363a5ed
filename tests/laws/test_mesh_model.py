"""Several handles on one mesh answer as a dictionary and some lists would, whatever is asked of them."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.mesh.records import Draft, Limits, Retention, encode_draft
from toolfabric.mesh.sqlite_store import SqliteMesh
from toolfabric.mesh.store import MeshStore
from toolfabric.testing.mesh import MemoryData, MemoryMesh

LIMITS = Limits(
    max_read_events=3,
    max_page_bytes=400,
    max_event_bytes=300,
    max_value_bytes=300,
    retention=Retention(max_events=4, max_bytes=130),
    host_retention=Retention(max_events=6, max_bytes=200),
)
HANDLES = 3

handles = st.integers(0, HANDLES - 1)
topics = st.sampled_from(["a", "a.b", "fabric.x"])
keys = st.sampled_from(["k", "k/1", "k/2", "schema/x"])
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=90),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
versions = st.none() | st.integers(0, 6)


@dataclass
class Cell:
    """One key of the model."""

    version: int = 0
    value: Any = None
    there: bool = False


@dataclass
class Model:
    """All that a mesh is, without anything that makes it last."""

    cells: dict[str, Cell] = field(default_factory=dict[str, Cell])
    logs: dict[str, list[tuple[Any, int]]] = field(default_factory=dict[str, list[tuple[Any, int]]])

    def first_kept(self, topic: str) -> int:
        """The oldest sequence that retention leaves: bounds are kept after every event."""
        kept = LIMITS.host_retention if topic.startswith("fabric") else LIMITS.retention
        log, first = self.logs.get(topic, []), 1
        for latest in range(1, len(log) + 1):
            while first < latest and (
                latest - first + 1 > kept.max_events
                or sum(size for _data, size in log[first - 1 : latest]) > kept.max_bytes
            ):
                first += 1
        return first


class MeshMachine(RuleBasedStateMachine):
    """Drives real handles and the model side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp(prefix="fabric-mesh-"))
        self.model = Model()
        self.stores: list[MeshStore] = []
        self.events = 0

    @initialize()
    def open_all(self) -> None:
        self.stores = [self.run(self.opened()) for _ in range(HANDLES)]

    async def opened(self) -> MeshStore:
        return await SqliteMesh.open(
            self.folder, files=RealFiles(), clock=SystemClock(), ids=SystemIds(), limits=LIMITS
        )

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        for store in self.stores:
            self.run(store.close())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder)

    @rule(which=handles, topic=topics, data=values)
    def append(self, which: int, topic: str, data: Any) -> None:
        try:
            event = self.run(self.stores[which].append(Draft(topic=topic, kind="k", sender="s", data=data)))
        except ValueError:
            return  # too large: nothing was done, as the invariants see
        log = self.model.logs.setdefault(topic, [])
        log.append((data, size_of(data)))
        assert (event.sequence, event.data) == (len(log), data)

    @rule(which=handles, topic=topics, back=st.integers(0, 8), limit=st.none() | st.integers(1, 5))
    def read(self, which: int, topic: str, back: int, limit: int | None) -> None:
        log = self.model.logs.get(topic, [])
        cursor = max(0, len(log) - back)
        page = self.run(self.stores[which].read(topic, cursor=cursor, limit=limit))
        start = max(cursor, self.model.first_kept(topic) - 1)
        room, expected = LIMITS.max_page_bytes, list[Any]()
        for data, size in log[start:][: min(limit or 99, LIMITS.max_read_events)]:
            room -= size
            if room < 0 and expected:
                break
            expected.append(data)
        assert [event.data for event in page.events] == expected
        assert [event.sequence for event in page.events] == list(range(start + 1, start + 1 + len(expected)))
        assert (page.cursor, page.latest, page.missed) == (start + len(expected), len(log), start - cursor)

    @rule(which=handles, key=keys, value=values, version=versions)
    def put(self, which: int, key: str, value: Any, version: int | None) -> None:
        try:
            swap = self.run(self.stores[which].put(key, value, if_version=version))
        except ValueError:
            return
        cell = self.model.cells.setdefault(key, Cell())
        current = cell.version if cell.there else 0
        if version not in {None, current}:
            assert (swap.done, swap.version) == (False, current)
            return
        cell.version, cell.value, cell.there = cell.version + 1, value, True
        assert (swap.done, swap.version) == (True, cell.version)

    @rule(which=handles, key=keys, version=versions)
    def delete(self, which: int, key: str, version: int | None) -> None:
        swap = self.run(self.stores[which].delete(key, if_version=version))
        cell = self.model.cells.setdefault(key, Cell())
        current = cell.version if cell.there else 0
        if version not in {None, current}:
            assert (swap.done, swap.version) == (False, current)
        elif not cell.there:
            assert (swap.done, swap.version) == (True, 0)
        else:
            cell.version, cell.there = cell.version + 1, False
            assert (swap.done, swap.version) == (True, cell.version)

    @rule(which=handles)
    def reopen(self, which: int) -> None:
        self.run(self.stores[which].close())
        self.stores[which] = self.run(self.opened())

    @rule(key=keys, version=st.integers(0, 6))
    def swap_at_once(self, key: str, version: int) -> None:
        async def all_at_once() -> list[Any]:
            async with asyncio.TaskGroup() as tasks:
                waits = [
                    tasks.create_task(store.put(key, number, if_version=version))
                    for number, store in enumerate(self.stores)
                ]
            return [wait.result() for wait in waits]

        swaps = self.run(all_at_once())
        cell = self.model.cells.setdefault(key, Cell())
        current = cell.version if cell.there else 0
        winners = [number for number, swap in enumerate(swaps) if swap.done]
        assert len(winners) == (1 if version == current else 0)
        for number in winners:
            cell.version, cell.value, cell.there = cell.version + 1, number, True

    @invariant()
    def every_handle_sees_every_key(self) -> None:
        there = {key: cell for key, cell in self.model.cells.items() if cell.there}
        for store in self.stores:
            found: dict[str, tuple[int, str]] = {}
            cursor: Any = ""
            while isinstance(cursor, str):
                page = self.run(store.list(cursor=cursor))
                found |= {entry.key: (entry.version, repr(entry.value)) for entry in page.entries}
                cursor = page.cursor
            assert found == {key: (cell.version, repr(cell.value)) for key, cell in sorted(there.items())}

    @invariant()
    def every_handle_sees_every_topic(self) -> None:
        for store in self.stores:
            found = [(one.topic, one.oldest, one.latest, one.events) for one in self.run(store.topics())]
            expected: list[tuple[str, int, int, int]] = []
            for topic, log in sorted(self.model.logs.items()):
                first = self.model.first_kept(topic)
                expected.append((topic, first, len(log), len(log) - first + 1))
            assert found == expected


class MemoryMachine(MeshMachine):
    """The same for the mesh in memory, so that it may stand for the real one in other tests."""

    def __init__(self) -> None:
        super().__init__()
        self.data = MemoryData()

    async def opened(self) -> MeshStore:
        return MemoryMesh(self.data, clock=SystemClock(), limits=LIMITS)


def size_of(data: Any) -> int:
    """The bytes that count for an event of the machine."""
    return len(encode_draft(Draft(topic="a", kind="k", sender="s", data=data), LIMITS))


class LongMeshMachine(MeshMachine):
    """As ``MeshMachine``, for longer."""


MeshMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
MemoryMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
LongMeshMachine.TestCase.settings = settings(max_examples=400, stateful_step_count=60)
TestSqliteMesh = MeshMachine.TestCase
TestMemoryMesh = MemoryMachine.TestCase
TestLongSqliteMesh = pytest.mark.slow(pytest.mark.timeout(900)(LongMeshMachine.TestCase))
