from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lock import FileLock
from toolfabric.protocols import FileOps
from toolfabric.testing.files import (
    Crashed,
    CrashFiles,
    FaultyFiles,
    FileMethod,
    FullDisk,
    WatchedFiles,
    unsynced,
)

REAL = RealFiles()
METHODS: tuple[FileMethod, ...] = (
    "open", "write", "fsync", "ftruncate", "fchmod", "close", "mkdir", "mkfifo", "replace", "unlink",
    "rmdir",
)  # fmt: skip


def everything(files: FileOps, folder: Path) -> None:
    """Use each method once, in the order of METHODS."""
    fd = files.open(folder / "a", os.O_WRONLY | os.O_CREAT)
    files.write(fd, b"12345")
    files.fsync(fd)
    files.ftruncate(fd, 3)
    files.fchmod(fd, 0o640)
    files.close(fd)
    files.mkdir(folder / "f")
    files.mkfifo(folder / "b")
    files.replace(folder / "a", folder / "b")
    files.unlink(folder / "b")
    files.rmdir(folder / "f")


@pytest.mark.parametrize("kind", [WatchedFiles, FaultyFiles, CrashFiles])
def test_each_call_is_passed_on_and_counted(tmp_path: Path, kind: type[WatchedFiles]) -> None:
    files = kind(REAL)
    everything(files, tmp_path)
    assert files.calls == 11
    assert dict(files.by_method) == dict.fromkeys(METHODS, 1)
    assert files.open_files == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", range(1, 12))
def test_the_call_of_a_number_fails_and_only_that_one(tmp_path: Path, number: int) -> None:
    files = FaultyFiles(REAL, fail_at=number)
    with pytest.raises(OSError, match="No space") as raised:
        everything(files, tmp_path)
    assert raised.value.errno == errno.ENOSPC
    assert files.calls == number
    assert files.failed == 1
    (tmp_path / "again").mkdir()
    everything(files, tmp_path / "again")


def test_every_call_of_a_method_fails(tmp_path: Path) -> None:
    files = FaultyFiles(REAL, on="mkdir", error=PermissionError(errno.EACCES, "no"))
    for name in ("a", "b"):
        with pytest.raises(PermissionError):
            files.mkdir(tmp_path / name)
    assert files.failed == 2
    assert list(tmp_path.iterdir()) == []


def test_one_call_of_a_method_fails(tmp_path: Path) -> None:
    files = FaultyFiles(REAL, on="mkdir", fail_at=2)
    files.close(files.open(tmp_path, os.O_RDONLY))
    files.mkdir(tmp_path / "a")
    with pytest.raises(OSError, match="No space"):
        files.mkdir(tmp_path / "b")
    files.mkdir(tmp_path / "c")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "c"]


def test_a_close_that_fails_has_closed(tmp_path: Path) -> None:
    files = FaultyFiles(REAL, on="close")
    fd = files.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="No space"):
        files.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_disk_fills_up_with_a_short_write_before_the_error(tmp_path: Path) -> None:
    files = FullDisk(REAL, room=3)
    fd = files.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    assert files.write(fd, b"12345") == 3
    assert files.write(fd, b"") == 0
    with pytest.raises(OSError, match="No space"):
        files.write(fd, b"45")
    files.close(fd)
    assert (tmp_path / "a").read_bytes() == b"123"


@pytest.mark.parametrize("number", range(1, 12))
def test_a_stopped_process_does_nothing_more_and_holds_nothing(tmp_path: Path, number: int) -> None:
    files = CrashFiles(REAL, stop_at=number)
    with pytest.raises(Crashed):
        everything(files, tmp_path)
    found = sorted(tmp_path.rglob("*"))
    assert files.stopped
    assert files.open_files == 0
    for method in (lambda: files.mkdir(tmp_path / "more"), lambda: files.unlink(tmp_path / "a")):
        with pytest.raises(Crashed):
            method()
    assert sorted(tmp_path.rglob("*")) == found
    assert len([one for one in files.log if one.method != "close"]) < number


def test_no_handler_of_ordinary_errors_sees_the_stop() -> None:
    assert not issubclass(Crashed, Exception)


def test_a_stopped_process_gives_up_its_locks(tmp_path: Path) -> None:
    files = CrashFiles(REAL, stop_at=2)
    FileLock(tmp_path / "lock", files=files).acquire()
    other = FileLock(tmp_path / "lock")
    assert not other.try_acquire()
    with pytest.raises(Crashed):
        files.mkdir(tmp_path / "a")
    assert other.try_acquire()
    other.release()


def test_a_write_that_is_stopped_can_leave_half_of_its_bytes(tmp_path: Path) -> None:
    files = CrashFiles(REAL, stop_at=2, torn=True)
    with pytest.raises(Crashed):
        everything(files, tmp_path)
    assert (tmp_path / "a").read_bytes() == b"12"


def test_the_log_tells_what_was_changed_where(tmp_path: Path) -> None:
    files = CrashFiles(REAL)
    everything(files, tmp_path)
    log = files.log
    assert [one.method for one in log] == [
        "open", "write", "fsync", "ftruncate", "fchmod", "mkdir", "mkfifo", "replace", "unlink",
        "rmdir",
    ]  # fmt: skip
    opened, written, synced, cut, moded, made, piped, renamed, removed, unmade = log
    assert opened.target == written.target == synced.target == cut.target == moded.target
    assert (opened.name, opened.target.generation) == ("a", 1)
    assert (written.data, written.offset, cut.offset, moded.mode) == (b"12345", 0, 3, 0o640)
    assert renamed.source == (opened.folder, "a")
    assert (renamed.name, removed.name, made.name, unmade.name) == ("b", "b", "f", "f")
    assert (piped.name, piped.folder) == ("b", opened.folder)
    assert piped.target != renamed.target
    assert removed.target == opened.target
    assert unmade.target == made.target
    found = tmp_path.stat()
    assert opened.folder is not None
    assert (opened.folder.device, opened.folder.inode) == (found.st_dev, found.st_ino)
    assert opened.folder.generation == 0


def test_appends_and_truncating_opens_are_logged_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    files = CrashFiles(REAL)
    fd = files.open(tmp_path / "a", os.O_WRONLY | os.O_APPEND)
    files.write(fd, b"45")
    files.close(fd)
    files.close(files.open(tmp_path / "a", os.O_WRONLY | os.O_TRUNC))
    assert [(one.method, one.offset) for one in files.log] == [("write", 3), ("ftruncate", 0)]


def test_two_lives_of_one_name_are_two_objects(tmp_path: Path) -> None:
    files = CrashFiles(REAL)
    for _ in range(2):
        files.close(files.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT))
        files.unlink(tmp_path / "a")
    first, _, second, _ = files.log
    assert first.target != second.target


def test_content_is_safe_after_its_own_sync_and_a_name_after_its_folders(tmp_path: Path) -> None:
    files = CrashFiles(REAL)
    folder = files.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    fd = files.open("a", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    files.write(fd, b"1")
    assert [one.method for one in unsynced(files.log)] == ["open", "write"]
    files.fsync(fd)
    assert [one.method for one in unsynced(files.log)] == ["open"]
    files.replace("a", "b", src_dir_fd=folder, dst_dir_fd=folder)
    files.write(fd, b"2")
    files.fsync(folder)
    assert [one.data for one in unsynced(files.log)] == [b"2"]


def test_a_rename_between_folders_is_safe_once_either_folder_is(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    (tmp_path / "from" / "a").write_bytes(b"")
    files = CrashFiles(REAL)
    files.replace(tmp_path / "from" / "a", tmp_path / "to" / "a")
    assert len(unsynced(files.log)) == 1
    fd = files.open(tmp_path / "from", os.O_RDONLY | os.O_DIRECTORY)
    files.fsync(fd)
    files.close(fd)
    assert unsynced(files.log) == ()
