"""Every file call of the durable layer fails once, and the process stops once at each."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolfabric.durable.atomic import make_folders, remove_file, replace_file
from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lines import LineWriter, read_lines
from toolfabric.durable.lock import FileLock
from toolfabric.errors import StorageError
from toolfabric.protocols import FileOps
from toolfabric.testing.files import Crashed, CrashFiles, FaultyFiles, WatchedFiles

REAL = RealFiles()
ERRORS = [OSError(code, os.strerror(code)) for code in (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)]


def calls_of(work: Callable[[FileOps], object]) -> int:
    probe = WatchedFiles(REAL)
    work(probe)
    assert probe.open_files == 0
    assert probe.calls > 3
    return probe.calls


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.strerror)
@pytest.mark.parametrize("old", [None, b"the old content"])
def test_a_replacement_that_fails_anywhere_leaves_old_or_new_and_nothing_else(
    tmp_path: Path, old: bytes | None, error: OSError
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    total = calls_of(lambda files: replace_file(scratch / "a", b"new", files=files))
    for number in range(1, total + 1):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        if old is not None:
            (folder / "a").write_bytes(old)
        files = FaultyFiles(REAL, fail_at=number, error=error)
        with pytest.raises(StorageError):
            replace_file(folder / "a", b"new", files=files)
        assert files.failed == 1
        assert files.open_files == 0
        found = {one.name: one.read_bytes() for one in folder.iterdir()}
        assert found in ({} if old is None else {"a": old}, {"a": b"new"})


@pytest.mark.parametrize("old", [None, b"the old content"])
@pytest.mark.parametrize("torn", [False, True])
def test_a_replacement_that_is_stopped_anywhere_leaves_old_or_new(
    tmp_path: Path, old: bytes | None, *, torn: bool
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    total = calls_of(lambda files: replace_file(scratch / "a", b"new", files=files))
    seen: set[bytes | None] = set()
    for number in range(1, total + 1):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        if old is not None:
            (folder / "a").write_bytes(old)
        files = CrashFiles(REAL, stop_at=number, torn=torn)
        with pytest.raises(Crashed):
            replace_file(folder / "a", b"new", files=files)
        assert files.open_files == 0
        content = (folder / "a").read_bytes() if (folder / "a").exists() else None
        assert content in (old, b"new")
        seen.add(content)
        left = [one.name for one in folder.iterdir() if one.name != "a"]
        assert all(name.startswith(".fabric-") and name.endswith(".tmp") for name in left)
    assert seen == {old, b"new"}


def append_three(path: Path, files: FileOps, *, sync: bool, shared: bool) -> list[bytes]:
    """Give the lines that were acknowledged before the first failure."""
    acknowledged: list[bytes] = []
    try:
        with LineWriter(path, files=files, sync=sync, shared=shared) as writer:
            for line in (b"first", b"second", b"third"):
                writer.append(line)
                acknowledged.append(line)
    except (StorageError, Crashed):
        pass
    return acknowledged


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("stop", [False, True])
def test_acknowledged_lines_are_there_whichever_call_fails_and_later_lines_stay_whole(
    tmp_path: Path, *, sync: bool, shared: bool, stop: bool
) -> None:
    before = b"zero\nto"
    (tmp_path / "scratch").write_bytes(before)
    total = calls_of(lambda files: append_three(tmp_path / "scratch", files, sync=sync, shared=shared))
    for number in range(1, total + 1):
        path = tmp_path / f"{number}"
        path.write_bytes(before)
        files = CrashFiles(REAL, stop_at=number, torn=True) if stop else FaultyFiles(REAL, fail_at=number)
        acknowledged = append_three(path, files, sync=sync, shared=shared)
        assert files.open_files == 0
        read = list(read_lines(path, max_line_bytes=100))
        assert read[0] == b"zero"
        assert [one for one in read[1:] if one != b"to"][: len(acknowledged)] == acknowledged
        with LineWriter(path, files=REAL, sync=sync, shared=shared) as writer:
            writer.append(b"last")
        after = list(read_lines(path, max_line_bytes=100))
        assert after[: len(read)] == read
        assert after[-1] == b"last"


def test_a_lock_that_cannot_be_taken_leaves_no_descriptor(tmp_path: Path) -> None:
    def cycle(files: FileOps) -> None:
        with FileLock(tmp_path / "lock", files=files):
            pass

    for method in ("open", "close"):
        files = FaultyFiles(REAL, on=method)
        with pytest.raises(StorageError):
            cycle(files)
        assert files.open_files == 0
    cycle(REAL)


def test_folders_and_removals_report_whichever_call_fails(tmp_path: Path) -> None:
    for number in range(1, calls_of(lambda files: make_folders(tmp_path / "x" / "y", files=files)) + 1):
        files = FaultyFiles(REAL, fail_at=number)
        with pytest.raises(StorageError):
            make_folders(tmp_path / f"{number}" / "y", files=files)
        assert files.open_files == 0
        make_folders(tmp_path / f"{number}" / "y", files=REAL)
    (tmp_path / "a").write_bytes(b"")
    for number in range(1, calls_of(lambda files: remove_file(tmp_path / "a", files=files)) + 1):
        (tmp_path / "a").write_bytes(b"kept")
        files = FaultyFiles(REAL, fail_at=number)
        with pytest.raises(StorageError):
            remove_file(tmp_path / "a", files=files)
        assert files.open_files == 0
        assert not (tmp_path / "a").exists() or (tmp_path / "a").read_bytes() == b"kept"
