from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.sqlite import Database
from toolfabric.errors import StorageError
from toolfabric.mesh.migrations import MESH_SCHEMA
from toolfabric.mesh.records import Draft, Limits, Retention
from toolfabric.mesh.sqlite_store import SqliteMesh
from toolfabric.testing.files import FaultyFiles

pytestmark = pytest.mark.anyio

FILES = RealFiles()


async def opened(folder: Path, *, limits: Limits | None = None, busy_seconds: float = 10.0) -> SqliteMesh:
    return await SqliteMesh.open(
        folder, files=FILES, clock=SystemClock(), ids=SystemIds(), limits=limits, busy_seconds=busy_seconds
    )


def draft(number: int = 0) -> Draft:
    return Draft(topic="t", kind="k", sender="s", data=number)


async def test_a_mesh_makes_its_folder_private_and_keeps_it_out_of_git(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "fabric" / "mesh"
    async with await opened(folder) as mesh:
        await mesh.put("k", 1)
        await mesh.read("t", wait_seconds=0.001)
        modes = {one.name: one.stat().st_mode & 0o077 for one in folder.iterdir()}
    assert set(modes.values()) == {0}
    assert {"mesh.db", "mesh.db.lock", "bells", ".gitignore"} <= set(modes)
    assert (folder / ".gitignore").read_text() == "*\n"
    (folder / ".gitignore").write_text("# mine\n")
    async with await opened(folder):
        pass
    assert (folder / ".gitignore").read_text() == "# mine\n"
    assert list((folder / "bells").iterdir()) == []


async def test_everything_is_there_when_the_mesh_is_opened_again(tmp_path: Path) -> None:
    async with await opened(tmp_path) as mesh:
        events = [await mesh.append(draft(number)) for number in range(3)]
        await mesh.put("a", {"x": 1})
        await mesh.put("b", 1)
        await mesh.delete("b")
    async with await opened(tmp_path) as mesh:
        assert (await mesh.read("t")).events == tuple(events)
        assert [(one.key, one.version, one.value) for one in (await mesh.list()).entries] == [
            ("a", 1, {"x": 1})
        ]
        assert (await mesh.put("b", 2, if_version=0)).version == 3
        assert await mesh.problems() == ()


async def test_events_have_ids_and_times_of_their_own(tmp_path: Path) -> None:
    async with await opened(tmp_path) as mesh:
        one, two = await mesh.append(draft()), await mesh.append(draft())
    assert one.id < two.id
    assert one.time <= two.time
    assert one.time.endswith("Z")


async def test_a_change_waits_for_another_process_only_so_long(tmp_path: Path) -> None:
    async with await opened(tmp_path, busy_seconds=0.05) as mesh:
        with Database(tmp_path / "mesh.db", MESH_SCHEMA, files=FILES) as other, other.transaction():
            with pytest.raises(StorageError, match=r"another process kept it for 0\.05 s"):
                await mesh.put("k", 1)
            assert await mesh.get("k") is None
        assert (await mesh.put("k", 1)).done


async def test_reading_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    async with await opened(tmp_path, busy_seconds=0) as mesh:
        await mesh.put("k", 1)
        with Database(tmp_path / "mesh.db", MESH_SCHEMA, files=FILES) as other, other.transaction():
            other.change("UPDATE entries SET value = x'32'")
            entry = await mesh.get("k")
    assert entry is not None
    assert entry.value == 1


async def test_a_reader_looks_for_itself_when_the_ring_was_missed(tmp_path: Path) -> None:
    deaf = FaultyFiles(FILES, on="write", error=OSError(5, "no"))
    async with await opened(tmp_path) as mesh:
        other = await SqliteMesh.open(tmp_path, files=deaf, clock=SystemClock(), ids=SystemIds())
        async with other:
            reading = asyncio.ensure_future(mesh.read("t", wait_seconds=50))
            while not list((tmp_path / "bells").glob("[!.]*")):  # noqa: ASYNC110 - the folder tells
                await asyncio.sleep(0)
            event = await other.append(draft())
            assert (await reading).events == (event,)
        assert deaf.failed >= 1


async def test_a_cancelled_read_leaves_nothing_behind(tmp_path: Path) -> None:
    async with await opened(tmp_path) as mesh:
        reading = asyncio.ensure_future(mesh.read("t", wait_seconds=50))
        await mesh.get("k")
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await mesh.append(draft())
        assert len((await mesh.read("t")).events) == 1


async def test_closing_ends_a_waiting_read(tmp_path: Path) -> None:
    mesh = await opened(tmp_path)
    reading = asyncio.ensure_future(mesh.read("t", wait_seconds=50))
    while not list((tmp_path / "bells").glob("[!.]*")):  # noqa: ASYNC110 - the folder tells
        await asyncio.sleep(0)
    await mesh.close()
    with pytest.raises(StorageError, match="was closed"):
        await reading
    assert list((tmp_path / "bells").iterdir()) == []


async def test_tighter_retention_trims_a_topic_at_its_next_event(tmp_path: Path) -> None:
    async with await opened(tmp_path) as mesh:
        for number in range(100):
            await mesh.append(draft(number))
    limits = Limits(retention=Retention(max_events=3))
    async with await opened(tmp_path, limits=limits) as mesh:
        await mesh.append(draft(100))
        [topic] = await mesh.topics()
        assert (topic.events, topic.oldest, topic.latest) == (3, 99, 101)
        assert [event.data for event in (await mesh.read("t")).events] == [98, 99, 100]
    with Database(tmp_path / "mesh.db", MESH_SCHEMA, files=FILES) as database:
        assert database.rows("SELECT count(*), sum(size) FROM events") == [(3, topic.bytes)]


async def test_topics_are_listed_by_the_beginning_of_their_name(tmp_path: Path) -> None:
    async with await opened(tmp_path) as mesh:
        for name in ("a.b", "a", "ab", "a.b.c", "b"):
            await mesh.append(Draft(topic=name, kind="k", sender="s"))
        listed = {
            prefix: [one.topic for one in await mesh.topics(prefix)] for prefix in ("", "a", "a.", "a.b", "c")
        }
        assert listed == {
            "": ["a", "a.b", "a.b.c", "ab", "b"],
            "a": ["a", "a.b", "a.b.c", "ab"],
            "a.": ["a.b", "a.b.c"],
            "a.b": ["a.b", "a.b.c"],
            "c": [],
        }
        for prefix in (".", "..", "a b", "\x1b"):
            with pytest.raises(ValueError, match="not a topic"):
                await mesh.topics(prefix)


async def test_a_mesh_that_cannot_be_opened_holds_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "mesh.db").write_bytes(b"notes" * 1_000)
    with pytest.raises(StorageError, match="not a database"):
        await opened(tmp_path)
    assert (tmp_path / "mesh.db").read_bytes() == b"notes" * 1_000
    (tmp_path / "mesh.db").unlink()
    async with await opened(tmp_path) as mesh:
        assert await mesh.get("k") is None
