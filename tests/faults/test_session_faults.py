"""Whatever fails or stops while a session is written, what was acknowledged stays and nothing is doubled."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError
from toolfabric.protocols import FileOps
from toolfabric.sessions.reader import list_sessions, read_entries
from toolfabric.sessions.records import FoldedExecution
from toolfabric.sessions.spool import Spool, fold_spools
from toolfabric.sessions.writer import SessionWriter
from toolfabric.testing.files import Crashed, CrashFiles, FaultyFiles, FullDisk, WatchedFiles, unsynced
from toolfabric.trace.reader import read_trace
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import Outcome

REAL = RealFiles()
CLOCK = SystemClock()
IDS = SystemIds()
ERRORS = [OSError(code, os.strerror(code)) for code in (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)]


class Host:
    """Runs one execution as a host does, and notes what was acknowledged to it."""

    def __init__(self, folder: Path, files: FileOps) -> None:
        self.folder = folder
        self.files = files
        self.acknowledged: list[str] = []
        self.begun = False

    def run(self, *, to_the_end: bool = True) -> None:
        writer = SessionWriter.create(self.folder, cwd=Path("/w"), files=self.files, clock=CLOCK, ids=IDS)
        spool = Spool.open(writer.path, files=self.files)
        try:
            self.execute(writer, spool, to_the_end=to_the_end)
        finally:
            spool.close()
            writer.close()

    def execute(self, writer: SessionWriter, spool: Spool, *, to_the_end: bool) -> None:
        self.acknowledged.append(writer.user("do it"))
        call = writer.assistant_tool_call(call_id="call_1", name="fabric_exec", arguments={"code": "…"})
        self.acknowledged.append(call)
        spool.begin("call_1", call_id="call_1", name="fabric_exec")
        self.begun = True
        recorder = TraceRecorder(observe=lambda event: spool.event("call_1", event))
        for number in range(3):
            recorder.settle(recorder.issue("pi.read", {"path": f"{number}"}), Outcome.SUCCEEDED)
        if to_the_end:
            trace = recorder.seal(Outcome.SUCCEEDED).to_json()
            result = writer.tool_result(
                call_id="call_1", name="fabric_exec", text="done", details={"trace": trace}, is_error=False
            )
            self.acknowledged.append(result)
            spool.end("call_1")


def fold(folder: Path, files: FileOps = REAL) -> list[FoldedExecution]:
    return fold_spools(folder, files=files, clock=CLOCK, ids=IDS)


def session_in(folder: Path) -> Path | None:
    found = list_sessions(folder)
    return found[0].path if found else None


def results(path: Path) -> list[dict[str, Any]]:
    found: list[Any] = [entry.get("message") for entry in read_entries(path)]
    return [message for message in found if message and message["role"] == "toolResult"]


def is_whole(path: Path) -> None:
    """Every line is a record, and the chain of parents is unbroken."""
    content = path.read_bytes()
    entries = list(read_entries(path))
    assert content.endswith(b"\n")
    assert len(entries) == content.count(b"\n")
    ids = [None, *(entry["id"] for entry in entries[1:])]
    assert [entry["parentId"] for entry in entries[1:]] == ids[: len(entries) - 1]


def calls_of(work: Callable[[FileOps], object]) -> int:
    probe = WatchedFiles(REAL)
    work(probe)
    assert probe.open_files == 0
    assert probe.calls > 3
    return probe.calls


def after_a_death(host: Host) -> None:
    """The next start folds what was left; then all is as it should be, and stays so."""
    fold(host.folder)
    path = session_in(host.folder)
    if path is None:
        assert host.acknowledged == []
        return
    with SessionWriter.open(path, files=REAL, clock=CLOCK, ids=IDS):
        is_whole(path)
    kept = [entry["id"] for entry in read_entries(path)]
    assert [one for one in host.acknowledged if one not in kept] == []
    told = results(path)
    assert len(told) == 1 if host.begun else len(told) <= 1
    for one in told:
        read_trace(one["details"]["trace"])
    assert fold(host.folder) == []
    assert results(path) == told
    assert [one.name for one in host.folder.iterdir() if "spool" in one.name] == []


# --- the disk says no ----------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 1, 100, 132, 133, *range(134, 2_300, 97)])
def test_a_full_disk_ends_in_a_clear_message_and_an_intact_file(room: int, tmp_path: Path) -> None:
    files = FullDisk(REAL, room=room)
    host = Host(tmp_path / "s", files)
    with pytest.raises(StorageError, match=r"No space left|bytes were taken") as told:
        host.run()
    assert str(tmp_path) in str(told.value)
    assert files.open_files == 0
    after_a_death(host)


def test_a_writer_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    files = FullDisk(REAL, room=100_000)
    with SessionWriter.create(tmp_path, cwd=tmp_path, files=files, clock=CLOCK, ids=IDS) as writer:
        first = writer.user("a")
        before = writer.path.read_bytes()
        for room in (0, 40):
            files.room = room
            with pytest.raises(StorageError):
                writer.user("b")
            assert (writer.path.read_bytes(), writer.leaf) == (before, first)
        files.room = 100_000
        writer.user("c")
    is_whole(writer.path)
    assert len(list(read_entries(writer.path))) == 3


def test_a_session_that_cannot_be_begun_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        SessionWriter.create(tmp_path, cwd=tmp_path, files=FullDisk(REAL, room=50), clock=CLOCK, ids=IDS)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_costs_the_spool_its_later_lines_and_not_its_earlier_ones(tmp_path: Path) -> None:
    host = Host(tmp_path, REAL)
    writer = SessionWriter.create(tmp_path, cwd=tmp_path, files=REAL, clock=CLOCK, ids=IDS)
    files = FullDisk(REAL, room=400)
    spool = Spool.open(writer.path, files=files)
    with pytest.raises(StorageError, match="spool"):
        host.execute(writer, spool, to_the_end=True)
    spool.close()
    writer.close()
    (folded,) = fold(tmp_path)
    assert 1 <= folded.operations < 3
    after_a_death(host)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.strerror)
def test_a_call_that_fails_anywhere_is_told_and_nothing_acknowledged_is_lost(
    error: OSError, tmp_path: Path
) -> None:
    total = calls_of(lambda files: Host(tmp_path / "probe", files).run())
    for number in range(1, total + 1):
        files = FaultyFiles(REAL, fail_at=number, error=error)
        host = Host(tmp_path / f"{number}", files)
        with pytest.raises(StorageError, match=error.strerror):
            host.run()
        assert files.open_files == 0
        after_a_death(host)


def test_a_folder_that_vanished_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with SessionWriter.create(folder, cwd=tmp_path, files=REAL, clock=CLOCK, ids=IDS) as writer:
        spool = Spool.open(writer.path, files=REAL)
        writer.path.unlink()
        folder.rmdir()
        with pytest.raises(StorageError, match="No such file"):
            spool.begin("x", call_id="x", name="n")
    assert fold(folder) == []


# --- the process stops ---------------------------------------------------------------------------


@pytest.mark.parametrize("to_the_end", [True, False])
@pytest.mark.parametrize("torn", [True, False])
def test_a_host_stopped_anywhere_leaves_one_result_for_each_call_it_had_begun(
    tmp_path: Path, *, torn: bool, to_the_end: bool
) -> None:
    total = calls_of(lambda files: Host(tmp_path / "probe", files).run(to_the_end=to_the_end))
    for number in range(1, total + 1):
        host = Host(tmp_path / f"{number}", CrashFiles(REAL, stop_at=number, torn=torn))
        with pytest.raises(Crashed):
            host.run(to_the_end=to_the_end)
        after_a_death(host)


def left_by_a_dead_host(folder: Path) -> Host:
    host = Host(folder, REAL)
    host.run(to_the_end=False)
    return host


@pytest.mark.parametrize("torn", [True, False])
def test_a_fold_stopped_anywhere_is_finished_by_the_next_one(tmp_path: Path, *, torn: bool) -> None:
    left_by_a_dead_host(tmp_path / "probe")
    total = calls_of(lambda files: fold(tmp_path / "probe", files))
    for number in range(1, total + 1):
        host = left_by_a_dead_host(tmp_path / f"{number}")
        with pytest.raises(Crashed):
            fold(host.folder, CrashFiles(REAL, stop_at=number, torn=torn))
        after_a_death(host)


def test_a_fold_in_which_a_call_fails_is_told_and_finished_by_the_next_one(tmp_path: Path) -> None:
    left_by_a_dead_host(tmp_path / "probe")
    total = calls_of(lambda files: fold(tmp_path / "probe", files))
    for number in range(1, total + 1):
        host = left_by_a_dead_host(tmp_path / f"{number}")
        files = FaultyFiles(REAL, fail_at=number)
        with pytest.raises(StorageError):
            fold(host.folder, files)
        assert files.open_files == 0
        after_a_death(host)


def test_the_result_survives_a_power_loss_before_the_spool_is_removed(tmp_path: Path) -> None:
    left_by_a_dead_host(tmp_path)
    files = CrashFiles(REAL)
    fold(tmp_path, files)
    removed = next(at for at, change in enumerate(files.log) if change.method == "unlink")
    before = files.log[:removed]
    assert any(change.method == "write" for change in before)
    assert [change for change in unsynced(before) if change.method == "write"] == []
