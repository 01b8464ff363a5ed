"""Keeps the record of each execution: the spool while it runs, the session file when it ends.

Opening the record comes before the program runs, so that no effect goes unrecorded; failing to keep
it afterwards cannot undo what ran, and is told in the answer instead.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from toolfabric.errors import StorageError
from toolfabric.protocols import Clock, FileOps, Ids
from toolfabric.sessions.spool import Spool
from toolfabric.sessions.writer import SessionWriter
from toolfabric.values import JsonObject

__all__ = ["Entry", "Journal", "NoJournal", "SessionJournal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One open execution in the record."""

    call_id: str
    name: str
    observe: Callable[[JsonObject], None] = field(default=lambda _event: None)
    session: Path | None = None


class Journal(Protocol):
    """Where executions are recorded."""

    def begin(self, name: str, arguments: JsonObject, /) -> Entry:
        """Open the record of one execution.

        Raises:
            StorageError: It cannot be opened; the program must not run.
        """
        ...

    def end(self, entry: Entry, /, *, text: str, details: JsonObject, is_error: bool) -> str | None:
        """Close it, and return the reason if it could not be kept."""
        ...

    def close(self) -> None:
        """Release all files."""
        ...


class NoJournal:
    """Records nothing on disk; traces are still sealed and returned."""

    def __init__(self, *, ids: Ids) -> None:
        self._ids = ids

    def begin(self, name: str, arguments: JsonObject) -> Entry:  # noqa: ARG002 -- the protocol's
        """Give the execution an id."""
        return Entry(call_id=f"call_{self._ids.entry()}", name=name)

    def end(self, entry: Entry, *, text: str, details: JsonObject, is_error: bool) -> str | None:  # noqa: ARG002
        """Keep nothing."""
        return None

    def close(self) -> None:
        """Nothing is open."""


class SessionJournal:
    """Records into one session file, made when the first execution begins (Pi's form)."""

    def __init__(
        self,
        folder: Path,
        *,
        cwd: Path,
        files: FileOps,
        clock: Clock,
        ids: Ids,
        model: tuple[str, str] = ("", ""),
    ) -> None:
        self._folder = folder
        self._cwd = cwd
        self._files = files
        self._clock = clock
        self._ids = ids
        self._provider, self._model = model
        self._open: tuple[SessionWriter, Spool] | None = None

    def begin(self, name: str, arguments: JsonObject) -> Entry:
        """Write the call into the session and open its spool.

        Raises:
            StorageError: The session cannot be written.
        """
        writer, spool = self._session()
        call_id = f"call_{self._ids.entry()}"
        writer.assistant_tool_call(
            call_id=call_id, name=name, arguments=arguments, provider=self._provider, model=self._model
        )
        spool.begin(call_id, call_id=call_id, name=name)
        return Entry(call_id=call_id, name=name, observe=_Observer(spool, call_id), session=writer.path)

    def end(self, entry: Entry, *, text: str, details: JsonObject, is_error: bool) -> str | None:
        """Write the result with its trace and let go of the spool.

        A spool that cannot be written any more does not matter once the record is in the session.
        """
        writer, spool = self._session()
        try:
            writer.tool_result(
                call_id=entry.call_id, name=entry.name, text=text, details=details, is_error=is_error
            )
            spool.end(entry.call_id)
        except StorageError as error:
            return str(error)
        return None

    def close(self) -> None:
        """Close the session file and remove its spool."""
        if self._open is not None:
            writer, spool = self._open
            self._open = None
            with suppress(StorageError):
                spool.close()
            writer.close()

    def _session(self) -> tuple[SessionWriter, Spool]:
        if self._open is None:
            writer = SessionWriter.create(
                self._folder, cwd=self._cwd, files=self._files, clock=self._clock, ids=self._ids
            )
            self._open = (writer, Spool.open(writer.path, files=self._files))
        return self._open


class _Observer:
    """Puts trace events into the spool; a full disk ends the spool, never the program."""

    def __init__(self, spool: Spool, execution: str) -> None:
        self._spool = spool
        self._execution = execution
        self._broken = False

    def __call__(self, event: JsonObject) -> None:
        if self._broken:
            return
        try:
            self._spool.event(self._execution, event)
        except StorageError:
            self._broken = True
