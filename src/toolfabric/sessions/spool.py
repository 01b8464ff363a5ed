"""The spool: what makes a killed host leave a record.

While an execution runs, its calls' starts and ends are appended to ``<session>.spool.jsonl``. When its
result is in the session, the spool is not needed any more and goes away. The next start folds what is left
of a dead owner's spool into the session as an aborted result.

Invariants:

1. Whoever writes or folds a spool holds the lock on it; the kernel ends the lock with its holder. So a live
   owner's spool is never folded, and two hosts that start together fold each spool once.
2. Lines are whole or torn at the end; torn ones are passed over.
3. An execution is folded if and only if its call has no result in the session yet. The result is durable
   before the spool is removed, so a fold that is stopped anywhere can be repeated.

A spool is insurance against a killed process, not against a power loss: its lines are not synced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolfabric.durable.atomic import remove_file
from toolfabric.durable.lines import LineWriter, read_lines
from toolfabric.durable.lock import FileLock
from toolfabric.errors import RecordError, StorageError
from toolfabric.protocols import Clock, FileOps, Ids
from toolfabric.sessions.paths import SPOOL_SUFFIX, session_of_spool, spool_path
from toolfabric.sessions.reader import MAX_LINE_BYTES, parse_line, read_entries
from toolfabric.sessions.records import FoldedExecution
from toolfabric.sessions.writer import SessionWriter
from toolfabric.trace.audit import AuditLog, details_json
from toolfabric.trace.bounds import encode
from toolfabric.trace.records import Trace
from toolfabric.trace.seal import trace_from_events
from toolfabric.values import JsonObject, Outcome

__all__ = ["Spool", "fold_spools"]

_NAMED_REFS: Final = 20


class Spool:
    """The spool of one session's owner. A file is there only while an execution is open.

    Not for several threads at once. Several executions may be open at the same time.
    """

    def __init__(self, path: Path, *, files: FileOps) -> None:
        """Name the file; use ``open``."""
        self._path = path
        self._files = files
        self._lock = FileLock(path, files=files)
        self._lines: LineWriter | None = None
        self._open: set[str] = set()
        self._inherited = False

    @classmethod
    def open(cls, session: Path, *, files: FileOps) -> Spool:
        """Prepare the spool beside a session file. Nothing is written before ``begin``."""
        return cls(spool_path(session), files=files)

    @property
    def path(self) -> Path:
        """Where the lines go."""
        return self._path

    def begin(
        self, execution_id: str, *, call_id: str, name: str, arguments: JsonObject | None = None
    ) -> None:
        """Open the record of one execution.

        Args:
            execution_id: Names the execution in this spool.
            call_id: The tool call that it answers; new in its session.
            name: The tool that was called.
            arguments: What it was called with; only needed when the call itself is not yet in the session.

        Raises:
            StorageError: The spool cannot be written, or another process holds it.
        """
        begin: JsonObject = {"kind": "begin", "execution": execution_id, "callId": call_id, "name": name}
        if arguments is not None:
            begin["arguments"] = arguments
        lines = self._lines or self._take()
        try:
            lines.append(encode(begin))
        except BaseException:
            if not self._open:
                self._let_go()
            raise
        self._open.add(execution_id)

    def event(self, execution_id: str, event: JsonObject) -> None:
        """Keep one event of a recorder; what comes for an execution that is not open is passed over.

        Raises:
            StorageError: It could not be written; the lines before it are still there.
        """
        if self._lines is not None and execution_id in self._open:
            self._lines.append(encode({"kind": "event", "execution": execution_id, "event": event}))

    def end(self, execution_id: str) -> None:
        """Say that an execution's result is in the session. With the last one the file goes away.

        Raises:
            StorageError: The file could not be removed or written. The next start sees that the result is
                there, so nothing is recorded twice.
        """
        self._open.discard(execution_id)
        if not self._open and self._lines is not None:
            self._let_go()

    def close(self) -> None:
        """Let go of the spool. What is still open stays in the file, for the next start to fold.

        Raises:
            StorageError: The system reported a late error.
        """
        self._inherited = self._inherited or bool(self._open)
        self._open.clear()
        if self._lines is not None:
            self._let_go()

    def _take(self) -> LineWriter:
        self._lock.acquire(blocking=False)
        try:
            # A dead owner's lines must outlive this owner's: they have not been folded yet.
            self._inherited = self._path.stat().st_size > 0
            self._lines = LineWriter(self._path, files=self._files)
        except OSError as error:
            self._lock.release()
            raise StorageError(f"could not open the spool {str(self._path)!r}: {error.strerror}") from error
        except BaseException:
            self._lock.release()
            raise
        return self._lines

    def _let_go(self) -> None:
        lines, self._lines = self._lines, None
        try:
            if lines is not None:
                lines.close()
            if not self._inherited:
                remove_file(self._path, files=self._files, durable=False)
        finally:
            self._lock.release()


def fold_spools(folder: Path, *, files: FileOps, clock: Clock, ids: Ids) -> list[FoldedExecution]:
    """Fold every spool in a folder whose owner is dead, and remove it.

    Safe to run twice, by several processes, and to be stopped anywhere. A spool whose session somebody holds,
    or is of another version, is left for later; one whose session is gone is removed: its record has no home.

    Raises:
        StorageError: A spool could not be folded; it is still there, and all others were tried.
    """
    folded: list[FoldedExecution] = []
    failures: list[StorageError] = []
    for path in sorted(folder.glob(f"*{SPOOL_SUFFIX}")):
        try:
            folded += _fold_spool(path, files=files, clock=clock, ids=ids)
        except StorageError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return folded


@dataclass(slots=True, kw_only=True)
class _Left:
    """What a spool tells of one execution."""

    execution_id: str
    call_id: str
    name: str
    arguments: JsonObject | None = None
    events: list[JsonObject] = field(default_factory=list[JsonObject])


def _fold_spool(path: Path, *, files: FileOps, clock: Clock, ids: Ids) -> list[FoldedExecution]:
    lock = FileLock(path, files=files)
    if not lock.try_acquire():
        return []
    try:
        left = _read_spool(path)
        session = session_of_spool(path)
        folded: list[FoldedExecution] | None = []
        if left and session.is_file():
            folded = _fold_into(session, left, files=files, clock=clock, ids=ids)
        if folded is None:
            return []
        remove_file(path, files=files)
    finally:
        lock.release()
    return folded


def _read_spool(path: Path) -> list[_Left]:
    left: dict[str, _Left] = {}
    for line in read_lines(path, max_line_bytes=MAX_LINE_BYTES):
        match parse_line(line):
            case {"kind": "begin", "execution": str(key), "callId": str(call_id), "name": str(name), **rest}:
                given = rest.get("arguments")
                arguments = given if isinstance(given, dict) else None
                left[key] = _Left(execution_id=key, call_id=call_id, name=name, arguments=arguments)
            case {"kind": "event", "execution": str(key), "event": dict(event)} if key in left:
                left[key].events.append(event)
            case _:
                continue
    return list(left.values())


def _fold_into(
    session: Path, left: Iterable[_Left], *, files: FileOps, clock: Clock, ids: Ids
) -> list[FoldedExecution] | None:
    """Append what has no result yet; ``None`` when the session cannot be written now."""
    try:
        writer = SessionWriter.try_open(session, files=files, clock=clock, ids=ids, sync=True)
    except RecordError:
        return None  # of a newer version, perhaps: nothing may be appended, and nothing may be lost
    if writer is None:
        return None
    with writer:
        calls = _calls(session)
        folded: list[FoldedExecution] = []
        for one in left:
            answered = calls.get(one.call_id)
            if answered is True:
                continue
            if answered is None and one.arguments is not None:
                writer.assistant_tool_call(call_id=one.call_id, name=one.name, arguments=one.arguments)
            folded.append(_append_aborted(writer, one))
            calls[one.call_id] = True
    return folded


def _calls(session: Path) -> dict[str, bool]:
    """For each call id of a session, whether its last call has been answered."""
    answered: dict[str, bool] = {}
    for entry in read_entries(session):
        match entry.get("message"):
            case {"role": "assistant", "content": list(blocks)}:
                for block in blocks:
                    match block:
                        case {"type": "toolCall", "id": str(call_id)}:
                            answered[call_id] = False
                        case _:
                            continue
            case {"role": "toolResult", "toolCallId": str(call_id)}:
                answered[call_id] = True
            case _:
                continue
    return answered


def _append_aborted(writer: SessionWriter, one: _Left) -> FoldedExecution:
    trace = trace_from_events(one.events)
    text = _account(trace)
    details = details_json(success=False, trace=trace, audits=AuditLog(), phases=trace.phases, error=text)
    writer.tool_result(call_id=one.call_id, name=one.name, text=text, details=details, is_error=True)
    return FoldedExecution(
        session=writer.path,
        execution_id=one.execution_id,
        call_id=one.call_id,
        operations=len(trace.operations),
    )


def _account(trace: Trace) -> str:
    """What is known, for whoever reads the session: what had completed may have had effects."""
    done = [operation.ref for operation in trace.operations if operation.outcome is Outcome.SUCCEEDED]
    begun = len(trace.operations) + trace.counts.dropped_operations
    text = f"The host ended before this execution did. It had begun {begun} calls; {len(done)} had succeeded"
    if not done:
        return f"{text}."
    more = f" and {len(done) - _NAMED_REFS} more" if len(done) > _NAMED_REFS else ""
    return f"{text}: {', '.join(done[:_NAMED_REFS])}{more}."
