from __future__ import annotations

import fcntl
import os
from pathlib import Path

import anyio
import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lock import FileLock
from toolfabric.errors import StorageError
from toolfabric.testing.files import WatchedFiles


def test_two_holders_of_one_path_exclude_each_other(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    first.acquire()
    assert first.held
    assert not second.try_acquire()
    assert not second.held
    first.release()
    assert second.try_acquire()
    second.release()


def test_a_taken_lock_is_an_error_when_waiting_is_not_wanted(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock"), pytest.raises(StorageError, match="locked by somebody else"):
        FileLock(tmp_path / "lock").acquire(blocking=False)


def test_the_lock_is_exclusive_to_every_other_user_of_the_file(tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / "lock"),
        (tmp_path / "lock").open("rb") as other,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    with (tmp_path / "lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert not FileLock(tmp_path / "lock").try_acquire()


def test_taking_twice_is_a_mistake_and_giving_up_twice_is_not(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    with lock, pytest.raises(RuntimeError, match="already held"):
        lock.acquire()
    lock.release()
    assert not lock.held
    assert lock.path == tmp_path / "lock"


def test_no_descriptor_is_left_behind_by_a_refusal(tmp_path: Path) -> None:
    files = WatchedFiles(RealFiles())
    with FileLock(tmp_path / "lock"):
        assert not FileLock(tmp_path / "lock", files=files).try_acquire()
    assert files.open_files == 0
    with FileLock(tmp_path / "lock", files=files):
        assert files.open_files == 1
    assert files.open_files == 0


def test_the_lock_file_is_private_and_its_content_is_left_alone(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock"):
        assert (tmp_path / "lock").stat().st_mode & 0o077 == 0
    (tmp_path / "data").write_bytes(b"kept")
    with FileLock(tmp_path / "data"):
        pass
    assert (tmp_path / "data").read_bytes() == b"kept"


def test_a_lock_whose_file_was_removed_while_waiting_is_taken_on_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    class RemovedAfterOpen(WatchedFiles):
        def open(
            self, path: str | os.PathLike[str], flags: int, mode: int = 0o600, *, dir_fd: int | None = None
        ) -> int:
            fd = super().open(path, flags, mode, dir_fd=dir_fd)
            if self.by_method["open"] == 1:
                Path(path).unlink()
            return fd

    files = RemovedAfterOpen(RealFiles())
    with FileLock(path, files=files):
        assert files.by_method["open"] == 2
        assert files.open_files == 1
        assert not FileLock(path).try_acquire()


def test_an_unusable_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"could not lock '.*gone/lock': No such file"):
        FileLock(tmp_path / "gone" / "lock").acquire()
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(StorageError, match="symbolic links"):
        FileLock(tmp_path / "link").try_acquire()


@pytest.mark.anyio
async def test_waiting_ends_when_the_lock_is_given_up_and_leaves_the_loop_free(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    first.acquire()
    async with anyio.create_task_group() as group:
        group.start_soon(second.acquire_within, 30.0)
        await anyio.lowlevel.checkpoint()
        assert not second.held
        first.release()
    assert second.held
    second.release()


@pytest.mark.anyio
async def test_waiting_is_bounded(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock"), pytest.raises(StorageError, match=r"still locked .* after 0\.01 s"):
        await FileLock(tmp_path / "lock").acquire_within(0.01)


@pytest.mark.anyio
async def test_a_free_lock_is_taken_even_with_no_time_to_wait(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    await lock.acquire_within(0)
    assert lock.held
    lock.release()
