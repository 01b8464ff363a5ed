from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from pathlib import Path

import pytest

from toolfabric.durable.bell import Bell
from toolfabric.durable.fileops import RealFiles
from toolfabric.testing.files import FaultyFiles

pytestmark = pytest.mark.anyio

FILES = RealFiles()
LONG = 3600.0


def pipes(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


async def heard(bell: Bell, mark: int) -> None:
    """Wait through the rounds after which a listener would look for itself."""
    while bell.listen() == mark:
        await bell.changed(mark, LONG)


async def test_everybody_who_listens_is_woken(tmp_path: Path) -> None:
    one, two = Bell(tmp_path / "b", files=FILES), Bell(tmp_path / "b", files=FILES)
    marks = [one.listen(), one.listen(), two.listen()]
    async with asyncio.TaskGroup() as tasks:
        waits = [
            tasks.create_task(heard(bell, mark)) for bell, mark in zip((one, one, two), marks, strict=True)
        ]
        await asyncio.sleep(0)
        Bell(tmp_path / "b", files=FILES).ring()
    assert all(wait.done() for wait in waits)
    one.close()
    two.close()
    assert pipes(tmp_path / "b") == []


async def test_a_ring_between_the_mark_and_the_wait_is_not_missed(tmp_path: Path) -> None:
    bell = Bell(tmp_path, files=FILES)
    mark = bell.listen()
    bell.ring()
    await heard(bell, mark)
    assert bell.listen() == mark + 1
    await bell.changed(mark, LONG)  # at once: it has rung since
    bell.close()


async def test_a_wait_ends_without_a_ring(tmp_path: Path) -> None:
    bell = Bell(tmp_path, files=FILES)
    mark = bell.listen()
    await bell.changed(mark, 0.001)
    assert bell.listen() == mark
    bell.close()


async def test_a_ring_from_a_thread_wakes(tmp_path: Path) -> None:
    bell = Bell(tmp_path, files=FILES)
    mark = bell.listen()
    await asyncio.to_thread(bell.ring)
    await heard(bell, mark)
    bell.close()


async def test_a_full_pipe_does_not_hold_up_the_ringer(tmp_path: Path) -> None:
    bell = Bell(tmp_path, files=FILES)
    mark = bell.listen()
    [name] = pipes(tmp_path)
    fd = os.open(tmp_path / name, os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(fd, bytes(4096))
    os.close(fd)
    bell.ring()
    await heard(bell, mark)
    bell.close()


def test_ringing_where_nobody_ever_listened_does_nothing(tmp_path: Path) -> None:
    Bell(tmp_path / "missing", files=FILES).ring()
    assert pipes(tmp_path) == []


def test_the_pipe_of_a_dead_listener_is_removed_and_nothing_else(tmp_path: Path) -> None:
    FILES.mkfifo(tmp_path / "dead")
    FILES.mkfifo(tmp_path / ".not-ready")
    (tmp_path / "file").write_bytes(b"kept")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    Bell(tmp_path, files=FILES).ring()
    assert pipes(tmp_path) == [".not-ready", "file", "folder", "link"]
    assert (tmp_path / "file").read_bytes() == b"kept"


async def test_a_listener_whose_pipe_was_removed_closes_all_the_same(tmp_path: Path) -> None:
    bell = Bell(tmp_path, files=FILES)
    bell.listen()
    for name in pipes(tmp_path):
        (tmp_path / name).unlink()
    bell.close()
    bell.close()


@pytest.mark.parametrize("method", ["mkdir", "mkfifo", "open", "replace"])
async def test_without_pipes_waits_are_short_and_nothing_is_left(tmp_path: Path, method: str) -> None:
    files = FaultyFiles(FILES, on=method, error=OSError(errno.EPERM, "no"))  # pyright: ignore[reportArgumentType]
    bell = Bell(tmp_path / "b", files=files)
    mark = bell.listen()
    await bell.changed(mark, LONG)  # ends by itself, soon
    assert bell.listen() == mark
    assert files.open_files <= (1 if method == "open" else 0)
    bell.ring()
    bell.close()
    if (tmp_path / "b").exists():
        assert pipes(tmp_path / "b") == []


@pytest.mark.parametrize("method", ["open", "write", "close"])
async def test_a_ring_that_fails_is_silent(tmp_path: Path, method: str) -> None:
    bell = Bell(tmp_path, files=FILES)
    mark = bell.listen()
    files = FaultyFiles(FILES, on=method, fail_at=1, error=OSError(errno.EIO, "no"))  # pyright: ignore[reportArgumentType]
    other = Bell(tmp_path, files=files)
    other.ring()
    assert files.open_files == 0
    other.ring()
    await heard(bell, mark)
    bell.close()


async def test_closing_ends_all_waits_and_leaves_no_pipe_even_when_somebody_listens_again(
    tmp_path: Path,
) -> None:
    bell = Bell(tmp_path, files=FILES)
    mark = bell.listen()
    waiting = asyncio.ensure_future(bell.changed(mark, LONG))
    await asyncio.sleep(0)
    bell.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert waiting.done()
    assert bell.listen() == mark
    assert pipes(tmp_path) == []


def test_one_bell_serves_one_loop_after_another_but_not_two_at_once(tmp_path: Path) -> None:
    bell = Bell(tmp_path, files=FILES)

    async def listen() -> None:
        mark = bell.listen()
        bell.ring()
        await heard(bell, mark)

    asyncio.run(listen())
    asyncio.run(listen())
    assert len(pipes(tmp_path)) == 1

    async def inside() -> None:
        bell.listen()

        def other() -> None:
            asyncio.run(listen())

        with pytest.raises(RuntimeError, match="one event loop"):
            await asyncio.to_thread(other)

    asyncio.run(inside())
    bell.close()
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - the plain question
