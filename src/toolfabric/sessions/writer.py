"""Write one session file in Pi's form, version 3.

Invariants:

1. One writer a file, held by a lock on the file itself, which is never replaced.
2. Each record is one line, written at once; a torn tail is cut off when the file is opened.
3. A record's parent is the record before it. A record that could not be written leaves no trace: the next
   one has the same parent.

Files are for their owner alone (0600 in folders of 0700). A killed process loses nothing that was returned
from a method; a power loss may lose the last records unless ``sync`` was asked for.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from toolfabric.durable.atomic import make_folders, remove_file
from toolfabric.durable.lines import LineWriter
from toolfabric.durable.lock import FileLock
from toolfabric.errors import RecordError, StorageError
from toolfabric.protocols import Clock, FileOps, Ids
from toolfabric.sessions.paths import session_file_name, wire_time
from toolfabric.sessions.reader import read_entries, read_header
from toolfabric.trace.bounds import encode
from toolfabric.values import JsonObject

__all__ = ["FORM_VERSION", "SessionWriter"]

FORM_VERSION: Final = 3
_API: Final = "fabric"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SessionWriter:
    """The one writer of a session file. Use ``create``, ``open`` or ``try_open``; then ``close``.

    Every method that writes returns the new record's id, and raises ``StorageError`` when the line could
    not be written (the file is then as it was) or ``RecordError`` when a value is not JSON.
    """

    def __init__(self, lock: FileLock, lines: LineWriter, session_id: str, *, clock: Clock, ids: Ids) -> None:
        """Take over a held lock and an open file; the constructors below are for callers."""
        self._lock = lock
        self._lines = lines
        self._session_id = session_id
        self._clock = clock
        self._ids = ids
        self._known: set[str] = set()
        self._leaf: str | None = None

    @classmethod
    def create(cls, folder: Path, *, cwd: Path, files: FileOps, clock: Clock, ids: Ids) -> Self:
        """Begin a new session: make the folder if need be, and a file with a header in it.

        Raises:
            StorageError: It could not be made; what stands in the message says why.
        """
        moment = clock.now()
        session_id = ids.session()
        make_folders(folder, files=files)
        path = folder / session_file_name(moment, session_id)
        if path.exists():
            raise StorageError(f"could not begin the session {str(path)!r}: there is one of that id already")
        header: JsonObject = {
            "type": "session",
            "version": FORM_VERSION,
            "id": session_id,
            "timestamp": wire_time(moment),
            "cwd": str(cwd),
        }
        taken = _take(path, files=files, sync=False)
        if taken is None:
            raise StorageError(
                f"could not begin the session {str(path)!r}: another process has just begun it"
            )
        lock, lines = taken
        try:
            lines.append(encode(header))
        except BaseException:
            _discard(path, lock, lines, files=files)
            raise
        return cls(lock, lines, session_id, clock=clock, ids=ids)

    @classmethod
    def open(cls, path: Path, *, files: FileOps, clock: Clock, ids: Ids, sync: bool = False) -> Self:
        """Continue a session: repair its tail and go on from its last record.

        Args:
            path: The session file.
            files: The file system.
            clock: Gives each record its time.
            ids: Gives each record its id.
            sync: Whether each record must survive a power loss once its method returns.

        Raises:
            StorageError: Another process writes it, or it cannot be read or written.
            RecordError: It is not a session of a version that this can write.
        """
        writer = cls.try_open(path, files=files, clock=clock, ids=ids, sync=sync)
        if writer is None:
            raise StorageError(f"could not open the session {str(path)!r}: another process is writing it")
        return writer

    @classmethod
    def try_open(
        cls, path: Path, *, files: FileOps, clock: Clock, ids: Ids, sync: bool = False
    ) -> Self | None:
        """As ``open``, but ``None`` when another process is writing the session.

        Raises:
            StorageError: It cannot be read or written.
            RecordError: It is not a session of a version that this can write.
        """
        header = read_header(path)
        if header is None or header.version != FORM_VERSION:
            found = "no session header" if header is None else f"version {header.version}"
            raise RecordError(
                f"{str(path)!r} has {found}; only sessions of version {FORM_VERSION} are continued"
            )
        taken = _take(path, files=files, sync=sync)
        if taken is None:
            return None
        writer = cls(*taken, header.session_id, clock=clock, ids=ids)
        try:
            writer._catch_up()
        except BaseException:
            writer.close()
            raise
        return writer

    @property
    def path(self) -> Path:
        """The session file."""
        return self._lines.path

    @property
    def session_id(self) -> str:
        """The id in the header."""
        return self._session_id

    @property
    def leaf(self) -> str | None:
        """The id of the last record, or ``None`` before the first."""
        return self._leaf

    def model_change(self, provider: str, model_id: str) -> str:
        """Record which model answers from here on."""
        return self._entry("model_change", {"provider": provider, "modelId": model_id}, self._clock.now())

    def user(self, text: str) -> str:
        """Record what the user said."""
        return self._message({"role": "user", "content": [_text_block(text)]})

    def assistant_tool_call(
        self, *, call_id: str, name: str, arguments: JsonObject, provider: str = "", model: str = ""
    ) -> str:
        """Record that the model called a tool, with its arguments as they came.

        Without a provider and a model the record stands for itself: no model is credited with it.
        """
        block: JsonObject = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        return self._assistant(block, "toolUse", provider=provider, model=model)

    def assistant_text(self, text: str, *, provider: str = "", model: str = "") -> str:
        """Record what the model said."""
        return self._assistant(_text_block(text), "stop", provider=provider, model=model)

    def tool_result(self, *, call_id: str, name: str, text: str, details: JsonObject, is_error: bool) -> str:
        """Record what a tool call came to. ``text`` went to the model; ``details`` never does."""
        return self._message(
            {
                "role": "toolResult",
                "toolCallId": call_id,
                "toolName": name,
                "content": [_text_block(text)],
                "details": details,
                "isError": is_error,
            }
        )

    def close(self) -> None:
        """Close the file and let go of the lock. Safe to call twice.

        Raises:
            StorageError: The system reported a late error.
        """
        try:
            self._lines.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _assistant(self, block: JsonObject, stop_reason: str, *, provider: str, model: str) -> str:
        return self._message(
            {
                "role": "assistant",
                "content": [block],
                "api": _API,
                "provider": provider,
                "model": model,
                "usage": _no_usage(),
                "stopReason": stop_reason,
            }
        )

    def _message(self, message: JsonObject) -> str:
        moment = self._clock.now()
        since = moment.astimezone(UTC) - _EPOCH
        message["timestamp"] = since // timedelta(milliseconds=1)
        return self._entry("message", {"message": message}, moment)

    def _entry(self, kind: str, fields: JsonObject, moment: datetime) -> str:
        entry_id = self._ids.entry()
        while entry_id in self._known:
            entry_id = self._ids.entry()
        self._append(
            {
                "type": kind,
                "id": entry_id,
                "parentId": self._leaf,
                "timestamp": wire_time(moment),
                **fields,
            }
        )
        self._known.add(entry_id)
        self._leaf = entry_id
        return entry_id

    def _append(self, record: JsonObject) -> None:
        try:
            line = encode(record)
        except (TypeError, ValueError, RecursionError) as error:
            raise RecordError(
                f"a session record cannot hold this: {type(error).__name__}: {error}"
            ) from error
        self._lines.append(line)

    def _catch_up(self) -> None:
        for entry in read_entries(self.path):
            entry_id = entry.get("id")
            if isinstance(entry_id, str) and entry.get("type") != "session":
                self._known.add(entry_id)
                self._leaf = entry_id


def _take(path: Path, *, files: FileOps, sync: bool) -> tuple[FileLock, LineWriter] | None:
    """The lock on a file and the file open for appending, or ``None`` if somebody has the lock."""
    lock = FileLock(path, files=files)
    if not lock.try_acquire():
        return None
    try:
        return lock, LineWriter(path, files=files, sync=sync)
    except BaseException:
        lock.release()
        raise


def _discard(path: Path, lock: FileLock, lines: LineWriter, *, files: FileOps) -> None:
    """Take back a file that never got its header; the error that led here is the one to tell."""
    with suppress(StorageError):
        lines.close()
    with suppress(StorageError):
        remove_file(path, files=files, durable=False)
    with suppress(StorageError):
        lock.release()


def _text_block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _no_usage() -> JsonObject:
    """The accounting that Pi expects of every assistant message; Fabric pays for nothing."""
    tokens: JsonObject = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    return {**tokens, "totalTokens": 0, "cost": {**tokens, "total": 0}}
