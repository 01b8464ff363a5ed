"""The mesh on a disk that is full, broken or read-only: a clear error, and nothing that was kept is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError
from toolfabric.mesh.records import Draft
from toolfabric.mesh.sqlite_store import SqliteMesh
from toolfabric.testing.files import FaultyFiles, WatchedFiles

pytestmark = pytest.mark.anyio


class FaultyDisk(apsw.VFS):
    """A file system under SQLite whose writes and syncs are counted and fail at one number, or from it on."""

    def __init__(
        self,
        name: str,
        *,
        fail_at: int | None = None,
        lasting: bool = False,
        error: type[apsw.Error] = apsw.FullError,
    ) -> None:
        self.calls = 0
        self.fail_at = fail_at
        self.lasting = lasting
        self.error = error
        self.read_only = False
        super().__init__(name, "")

    def enter(self) -> None:
        self.calls += 1
        if self.fail_at is not None and (
            self.calls == self.fail_at or (self.lasting and self.calls > self.fail_at)
        ):
            raise self.error

    def xOpen(self, name: Any, flags: list[int]) -> FaultyFile:  # noqa: N802 - apsw's name
        if self.read_only:
            flags[0] = (
                flags[0] & ~(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) | apsw.SQLITE_OPEN_READONLY
            )
            flags[1] = flags[0]
        return FaultyFile(name, flags, self)


class FaultyFile(apsw.VFSFile):
    """One file of it."""

    def __init__(self, name: Any, flags: list[int], disk: FaultyDisk) -> None:
        self.disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 - apsw's name
        self.disk.enter()
        write = cast("Callable[[object, int], None]", super().xWrite)  # its stubs need a newer Python
        write(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        self.disk.enter()
        super().xSync(flags)


@contextmanager
def disk(**how: Any) -> Generator[FaultyDisk]:
    made = FaultyDisk("faulty", **how)
    yield made
    made.unregister()


async def opened(folder: Path, vfs: str | None = None) -> SqliteMesh:
    return await SqliteMesh.open(
        folder, files=RealFiles(), clock=SystemClock(), ids=SystemIds(), busy_seconds=0.1, vfs=vfs
    )


class Work:
    """Changes a mesh step by step, and knows what was acknowledged and what may have happened."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.events: dict[int, int] = {}
        self.possible: list[tuple[int, int]] = [(0, 0)]
        """What the key may be at: version and value."""

    async def run(self, mesh: SqliteMesh) -> None:
        for number in range(1, 4):
            await self._append(mesh, number)
            await self._swap(mesh, number)

    async def _append(self, mesh: SqliteMesh, number: int) -> None:
        try:
            event = await mesh.append(Draft(topic="t", kind="k", sender="s", data=number))
        except StorageError as error:
            self.errors.append(str(error))
        else:
            self.events[event.sequence] = number

    async def _swap(self, mesh: SqliteMesh, number: int) -> None:
        version = self.possible[0][0]
        try:
            swap = await mesh.put("k", number)
        except StorageError as error:
            self.errors.append(str(error))
            self.possible.append((version + 1, number))
        else:
            assert swap.version in {one + 1 for one, _value in self.possible}
            self.possible = [(swap.version, number)]

    async def check(self, mesh: SqliteMesh) -> None:
        assert await mesh.problems() == ()
        found = {event.sequence: event.data for event in (await mesh.read("t")).events}
        assert self.events.items() <= found.items()
        assert list(found) == list(range(1, len(found) + 1))
        entry = await mesh.get("k")
        assert ((entry.version, entry.value) if entry else (0, 0)) in self.possible


async def calls_of_the_work(folder: Path) -> int:
    with disk() as probe:
        async with await opened(folder, "faulty") as mesh:
            await Work().run(mesh)
        return probe.calls


FULL = (apsw.FullError, "the disk is full; free some space")
BROKEN = (apsw.IOError, "the system failed to read or write it")
READ_ONLY = (apsw.ReadOnlyError, "it is read-only")


@pytest.mark.parametrize(
    ("error", "reason", "lasting"),
    [
        (*FULL, True),
        (*BROKEN, False),
        (*READ_ONLY, True),
        pytest.param(*FULL, False, marks=pytest.mark.slow),
        pytest.param(*BROKEN, True, marks=pytest.mark.slow),
        pytest.param(*READ_ONLY, False, marks=pytest.mark.slow),
    ],
)
async def test_whatever_write_or_sync_fails_what_was_acknowledged_is_kept(
    tmp_path: Path,
    error: type[apsw.Error],
    reason: str,
    lasting: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    total = await calls_of_the_work(tmp_path / "probe")
    assert total > 30
    for number in range(1, total + 1):
        folder, work = tmp_path / f"{number}", Work()
        with disk(fail_at=number, lasting=lasting, error=error):
            try:
                mesh = await opened(folder, "faulty")
            except StorageError as told:
                work.errors.append(str(told))
            else:
                await work.run(mesh)
                try:
                    await mesh.close()
                except StorageError as told:
                    work.errors.append(str(told))
        assert all(reason in told and str(folder) in told for told in work.errors)
        async with await opened(folder) as mesh:
            await work.check(mesh)
            await work.run(mesh)
            await work.check(mesh)


async def test_a_full_disk_can_still_be_read_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with disk() as faulty:
        async with await opened(tmp_path, "faulty") as mesh:
            await mesh.put("k", 1)
            faulty.fail_at, faulty.lasting = 1, True
            for _time in range(3):
                with pytest.raises(
                    StorageError, match=r"the disk is full; .* Nothing of this change was kept"
                ):
                    await mesh.put("k", 2)
                entry = await mesh.get("k")
                assert entry is not None
                assert (entry.version, entry.value) == (1, 1)
            faulty.fail_at = None
            assert (await mesh.put("k", 3, if_version=1)).version == 2


async def test_a_database_that_may_only_be_read_is_refused(tmp_path: Path) -> None:
    async with await opened(tmp_path) as mesh:
        await mesh.put("k", 1)
    before = (tmp_path / "mesh.db").read_bytes()
    with disk() as faulty:
        faulty.read_only = True
        with pytest.raises(StorageError, match="is read-only; give its file and folder write permission"):
            await opened(tmp_path, "faulty")
    assert (tmp_path / "mesh.db").read_bytes() == before


async def test_whatever_file_call_of_opening_fails_it_is_told_and_opening_works_afterwards(
    tmp_path: Path,
) -> None:
    async def open_with(files: WatchedFiles, folder: Path) -> None:
        mesh = await SqliteMesh.open(folder, files=files, clock=SystemClock(), ids=SystemIds())
        await mesh.close()

    probe = WatchedFiles(RealFiles())
    await open_with(probe, tmp_path / "probe" / "mesh")
    assert probe.open_files == 0
    for number in range(1, probe.calls + 1):
        folder = tmp_path / f"{number}" / "mesh"
        files = FaultyFiles(RealFiles(), fail_at=number)
        with pytest.raises(StorageError, match="No space left"):
            await open_with(files, folder)
        assert files.open_files == 0
        await open_with(WatchedFiles(RealFiles()), folder)


LIMITED = """
import asyncio, json, resource, sys
from pathlib import Path
from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError
from toolfabric.mesh.sqlite_store import SqliteMesh

async def main():
    kept = 0
    mesh = await SqliteMesh.open(Path(sys.argv[1]), files=RealFiles(), clock=SystemClock(), ids=SystemIds())
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        while True:
            await mesh.put("k", "x" * 10_000 + str(kept + 1))
            kept += 1
    except StorageError as error:
        entry = await mesh.get("k")
        print(json.dumps([kept, entry.version, str(error)]))

asyncio.run(main())
"""


async def test_the_systems_own_limit_on_files_is_told_and_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    child = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: ASYNC221 - the test waits
    kept, version, told = json.loads(child.stdout)
    assert 5 < kept == version
    assert "the system failed to read or write it" in told
    async with await opened(tmp_path) as mesh:
        entry = await mesh.get("k")
        assert entry is not None
        assert (entry.version, entry.value) == (kept, "x" * 10_000 + str(kept))
        assert await mesh.problems() == ()
