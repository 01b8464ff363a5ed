"""The record of an execution: opened before it, closed after it, folded when its host was killed."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError
from toolfabric.execution.journal import NoJournal, SessionJournal
from toolfabric.protocols import FileOps
from toolfabric.testing.files import FaultyFiles
from toolfabric.trace.audit import AuditLog, details_json
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import JsonObject, Outcome


def journal(folder: Path, files: FileOps | None = None, model: tuple[str, str] = ("", "")) -> SessionJournal:
    return SessionJournal(
        folder, cwd=folder, files=files or RealFiles(), clock=SystemClock(), ids=SystemIds(), model=model
    )


def details() -> JsonObject:
    trace = TraceRecorder().seal(Outcome.SUCCEEDED)
    return details_json(success=True, trace=trace, audits=AuditLog(), phases=(), error=None)


def test_nothing_is_written_before_the_first_execution(tmp_path: Path) -> None:
    made = journal(tmp_path / "sessions")
    made.close()
    assert not (tmp_path / "sessions").exists()


def test_call_and_result_are_written_in_pis_form_and_the_spool_goes_away(tmp_path: Path) -> None:
    made = journal(tmp_path, model=("maker", "model-1"))
    entry = made.begin("fabric_exec", {"code": "return 1"})
    assert len(list(tmp_path.glob("*.spool.jsonl"))) == 1
    assert made.end(entry, text="1", details=details(), is_error=False) is None
    made.close()
    (session,) = tmp_path.iterdir()
    header, call, result = [json.loads(line) for line in session.read_text(encoding="utf-8").splitlines()]
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, str(tmp_path))
    assert (call["message"]["role"], call["message"]["provider"], call["message"]["model"]) == (
        "assistant",
        "maker",
        "model-1",
    )
    assert call["message"]["content"][0]["arguments"] == {"code": "return 1"}
    assert (result["parentId"], result["message"]["toolCallId"]) == (call["id"], entry.call_id)
    assert result["message"]["details"] == details()


def test_a_record_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    full = FaultyFiles(RealFiles(), on="write", error=OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(StorageError, match="No space left on device"):
        journal(tmp_path / "sessions", full).begin("fabric_exec", {})


def test_a_record_that_cannot_be_closed_is_told_and_what_was_written_stays(tmp_path: Path) -> None:
    class Filling(RealFiles):
        full = False

        def write(self, fd: int, data: bytes | memoryview) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(fd, data)

    files = Filling()
    made = journal(tmp_path, files)
    entry = made.begin("fabric_exec", {"code": "return 1"})
    files.full = True
    entry.observe({"event": "phase", "name": "x"})
    told = made.end(entry, text="1", details=details(), is_error=False)
    assert told is not None
    assert "No space left on device" in told
    files.full = False
    made.close()
    session = next(path for path in tmp_path.iterdir() if ".spool." not in path.name)
    assert [json.loads(line)["type"] for line in session.read_text(encoding="utf-8").splitlines()] == [
        "session",
        "message",
    ]


def test_without_a_record_every_execution_still_has_an_id() -> None:
    made = NoJournal(ids=SystemIds())
    one, other = made.begin("fabric_exec", {}), made.begin("fabric_exec", {})
    assert one.call_id != other.call_id
    assert made.end(one, text="", details={}, is_error=False) is None
    made.close()
