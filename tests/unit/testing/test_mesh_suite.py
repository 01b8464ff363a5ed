"""The suite finds broken backends; that the real ones pass is in ``contracts``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolfabric._base.clock import SystemClock
from toolfabric.mesh.records import Draft, Event, Limits, Listing, Page, Swap
from toolfabric.mesh.store import MeshStore
from toolfabric.testing.mesh import MemoryData, MemoryMesh
from toolfabric.testing.mesh_suite import mesh_checks
from toolfabric.values import Json

pytestmark = pytest.mark.anyio


class TakesAnyVersion(MemoryMesh):
    async def put(self, key: str, value: Json, /, *, if_version: int | None = None) -> Swap:
        return await super().put(key, value)


class ForgetsTheLimit(MemoryMesh):
    async def read(
        self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        return await super().read(topic, cursor=cursor, wait_seconds=wait_seconds)


class HidesWhatWasMissed(MemoryMesh):
    async def read(
        self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        page = await super().read(topic, cursor=cursor, limit=limit, wait_seconds=wait_seconds)
        return Page(topic=topic, events=page.events, cursor=page.cursor, latest=page.latest, missed=0)


class NeverWaits(MemoryMesh):
    async def read(
        self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        return await super().read(topic, cursor=cursor, limit=limit)


class ListsAll(MemoryMesh):
    async def list(self, prefix: str = "", /, *, cursor: str = "", limit: int | None = None) -> Listing:
        return await super().list("", cursor=cursor, limit=limit)


class LosesData(MemoryMesh):
    async def append(self, draft: Draft, /) -> Event:
        return await super().append(Draft(topic=draft.topic, kind=draft.kind, sender=draft.sender))


async def failing(kind: Callable[[MemoryData, Limits], MeshStore]) -> set[str]:
    failed: set[str] = set()
    for check in mesh_checks():
        data = MemoryData()

        async def open_handle(limits: Limits, data: MemoryData = data) -> MeshStore:
            return kind(data, limits)

        try:
            await check.run(open_handle)
        except (AssertionError, BaseExceptionGroup, TypeError):
            failed.add(str(check))
    return failed


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (MemoryMesh, set[str]()),
        (
            TakesAnyVersion,
            {"a key changes only at the version asked for", "a deleted key remembers its version"},
        ),
        (
            ForgetsTheLimit,
            {
                "a page is bounded and its cursor goes on",
                "retention drops the oldest and no cursor breaks",
                "a cursor of somewhere else is refused",
            },
        ),
        (
            HidesWhatWasMissed,
            {
                "retention drops the oldest and no cursor breaks",
                "retention by bytes keeps at least the newest",
            },
        ),
        (NeverWaits, {"a reader is woken by another handle"}),
        (ListsAll, {"keys are listed in order and by prefix"}),
    ],
)
async def test_a_broken_backend_fails_the_checks_of_what_it_breaks(
    kind: type[MemoryMesh], broken: set[str]
) -> None:
    assert await failing(lambda data, limits: kind(data, clock=SystemClock(), limits=limits)) == broken


async def test_a_backend_that_loses_data_fails() -> None:
    failed = await failing(lambda data, limits: LosesData(data, clock=SystemClock(), limits=limits))
    assert "events come back as they were written" in failed


def test_every_check_has_a_name_of_its_own() -> None:
    names = [str(check) for check in mesh_checks()]
    assert len(set(names)) == len(names) == 16
