"""The one door to SQLite: open a database as agreed, read it, and change it in transactions.

SQLite is the one that ``apsw`` carries, because the interpreter's own may have the WAL-reset bug (before
3.51.3), by which two connections that write and checkpoint at once can damage a database.

What is agreed:

1. WAL with ``synchronous=FULL``: what a transaction acknowledged survives the loss of power.
2. Nothing is written to a file before it is known to be ours and not newer than this program.
3. A change waits for other processes, but never for ever; then it fails and says so.
4. Every error of SQLite becomes a ``StorageError`` that names the file, the reason and the way out. When a
   commit itself failed, whether it will be there after a crash is not known: read it back.

A connection is used by one thread at a time. It knows nothing of what is kept; see ``grouped`` for a
thread that commits many changes at once.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias, cast
from urllib.parse import quote

import apsw

from toolfabric.durable.atomic import make_folders
from toolfabric.durable.lock import FileLock
from toolfabric.errors import StorageError
from toolfabric.protocols import FileOps

__all__ = ["Database", "Row", "Schema", "Value"]

Value: TypeAlias = "int | float | str | bytes | None"
Row: TypeAlias = tuple[Value, ...]
_Execute: TypeAlias = Callable[[str, Sequence[Value]], Iterable[Row]]

_FIXED_VERSION: Final = (3, 51, 3)
_FLAGS: Final = (
    apsw.SQLITE_OPEN_READWRITE
    | apsw.SQLITE_OPEN_CREATE
    | apsw.SQLITE_OPEN_URI
    | apsw.SQLITE_OPEN_NOFOLLOW
    | apsw.SQLITE_OPEN_EXRESCODE
)
_SHORTEST_WAIT: Final = 0.0002
_LONGEST_WAIT: Final = 0.003
_WAL_KEPT_BYTES: Final = 64 * 1024 * 1024
_PROBLEMS_SHOWN: Final = 20
_SMALLEST_PAGE: Final = 512
_REASONS: Final[tuple[tuple[tuple[type[apsw.Error], ...], str], ...]] = (
    (
        (apsw.BusyError, apsw.LockedError, apsw.ProtocolError),
        "another process kept it for {seconds:g} s; end that process or try again",
    ),
    ((apsw.FullError,), "the disk is full; free some space. Nothing of this change was kept"),
    ((apsw.ReadOnlyError,), "it is read-only; give its file and its folder write permission"),
    ((apsw.NotADBError,), "it is not a database; move it away. It was left as it is"),
    (
        (apsw.CorruptError,),
        "it is damaged; end every host, move it and its -wal file away, and restore a copy",
    ),
    ((apsw.CantOpenError,), "it must be a regular file in a folder that can be written to"),
    ((apsw.IOError,), "the system failed to read or write it ({error}); check the disk"),
    ((apsw.ConnectionClosedError,), "it was closed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What a database must be: whose it is, and the steps that lead to its newest form.

    ``what`` names it in messages. ``application_id`` marks the file as ours. Step ``n`` (from 1) is a
    script of SQL that leads from version ``n - 1`` to ``n``; a step that was released never changes.
    """

    what: str
    application_id: int
    steps: tuple[str, ...]


class Database:
    """One connection to one file.

    Args:
        path: The file. It and its folder are made when missing, for the owner alone.
        schema: What it must be.
        files: The file system, for the folder and the lock beside the file.
        busy_seconds: How long to wait for other processes, at opening and at each change.
        vfs: The name of a registered SQLite file system; the default one when ``None``.
        pause: Waits; a test can count instead.

    Raises:
        StorageError: It is not a database, damaged, somebody else's, newer than this program, read-only,
            or cannot be opened. It was left as it is.
    """

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        files: FileOps,
        busy_seconds: float = 10.0,
        vfs: str | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._what = schema.what
        self._busy_seconds = busy_seconds
        self._pause = pause
        self._waited = 0.0
        _require_fixed_library()
        make_folders(path.parent, files=files)
        self._path = path.parent.resolve() / path.name
        lock = FileLock(self._path.with_name(f"{path.name}.lock"), files=files)
        self._acquire(lock)
        try:
            with self._told("open"):
                self._connection = self._connect(lock.path, vfs)
                # Its stubs name a type that only newer interpreters have.
                self._execute = cast("_Execute", self._connection.execute)
                self._prepare(schema)
        finally:
            lock.release()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Run one statement and give all its rows.

        Raises:
            StorageError: SQLite refused or failed.
        """
        with self._told("read"):
            return list(self._execute(sql, values))

    def row(self, sql: str, *values: Value) -> Row | None:
        """As ``rows``, for a statement that gives at most one."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def change(self, sql: str, *values: Value) -> int:
        """Run one statement that changes rows, inside a transaction; give their number.

        Raises:
            StorageError: SQLite refused or failed; the transaction may be gone.
        """
        with self._told("change"):
            self._execute(sql, values)
            return self._connection.changes()

    @contextlib.contextmanager
    def snapshot(self) -> Generator[None]:
        """Let all reads of the block see one moment."""
        with self._ended_by("ROLLBACK", begin="BEGIN"):
            yield

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """Make the changes of the block durable together, or none of them.

        Raises:
            StorageError: Somebody else wrote for longer than was to be waited, or SQLite failed.
        """
        with self._ended_by("COMMIT", begin="BEGIN IMMEDIATE"):
            self._require_in_place()
            yield

    @contextlib.contextmanager
    def savepoint(self) -> Generator[None]:
        """Inside a transaction, undo the changes of the block alone when it raises.

        Raises:
            StorageError: SQLite failed; the whole transaction may be gone (see ``in_transaction``).
        """
        with self._told("change"):
            self._execute("SAVEPOINT part", ())
        try:
            yield
        except BaseException:
            if self.in_transaction:
                with self._told("undo a change of"):
                    self._execute("ROLLBACK TO part", ())
                    self._execute("RELEASE part", ())
            raise
        with self._told("change"):
            self._execute("RELEASE part", ())

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open; after some errors SQLite ends it by itself."""
        return self._connection.in_transaction

    def problems(self) -> tuple[str, ...]:
        """Check the whole file; what is wrong with it, or nothing. Takes time with its size."""
        try:
            found = self.rows(f"PRAGMA integrity_check({_PROBLEMS_SHOWN})")
        except StorageError as error:
            return (str(error),)
        return tuple(str(text) for (text,) in found if text != "ok")

    def close(self) -> None:
        """Close the connection. Safe to call twice; nothing that was acknowledged depends on it.

        Raises:
            StorageError: SQLite failed at it.
        """
        with self._told("close"):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- opening -----------------------------------------------------------------------------------

    def _acquire(self, lock: FileLock) -> None:
        """Let one process at a time open: making, migrating and switching to WAL do not mix."""
        tries = 0
        while not lock.try_acquire():
            if not self._wait(tries):
                msg = (
                    f"could not open the {self._what} {str(self._path)!r}: another process has been "
                    f"opening it for {self._busy_seconds:g} s; end that process or try again"
                )
                raise StorageError(msg)
            tries += 1

    def _connect(self, mode_of: Path, vfs: str | None) -> apsw.Connection:
        # SQLite makes its files with the permission bits of the file that "modeof" names: the owner's alone.
        uri = f"file:{quote(str(self._path))}?modeof={quote(str(mode_of))}"
        return apsw.Connection(uri, flags=_FLAGS, vfs=vfs)

    def _prepare(self, schema: Schema) -> None:
        connection = self._connection
        try:
            # Closing must not move pages of a file that turns out not to be ours.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.set_busy_handler(self._wait)
            self._judge(schema)
            found = self._path.stat()
            self._identity = found.st_dev, found.st_ino
            self._set_pragmas()
            self._migrate(schema)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except BaseException:
            connection.close()
            raise

    def _judge(self, schema: Schema) -> None:
        """Say whether the file may be written to at all; only read it."""
        where = f"the {self._what} {str(self._path)!r}"
        if self._connection.readonly("main"):
            msg = f"{where} is read-only; give its file and folder write permission"
            raise StorageError(msg)
        # SQLite takes a file with less than a page in it for an empty one, and would write over it. It must
        # not be opened to look: closing it again would drop the locks of this process's other connections.
        if 0 < self._path.stat().st_size < _SMALLEST_PAGE:
            msg = f"{where} is not a database; move it away. It was left as it is"
            raise StorageError(msg)
        owner, version = self._pragma("application_id"), self._pragma("user_version")
        empty = owner == version == 0 and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1")
        if not empty and owner != schema.application_id:
            msg = f"{where} is a database of another program; move it away. It was left as it is"
            raise StorageError(msg)
        if version > len(schema.steps):
            msg = (
                f"{where} was written by a newer version of Fabric (form {version}; this one knows "
                f"{len(schema.steps)}); update Fabric. It was left as it is"
            )
            raise StorageError(msg)

    def _set_pragmas(self) -> None:
        for setting in (
            "synchronous=FULL",
            "cell_size_check=ON",
            "foreign_keys=ON",
            "temp_store=MEMORY",
            "mmap_size=0",
            f"journal_size_limit={_WAL_KEPT_BYTES}",
        ):
            self.rows(f"PRAGMA {setting}")
        mode = self.row("PRAGMA journal_mode=WAL")
        if mode != ("wal",) or self.row("PRAGMA synchronous") != (2,):
            msg = (
                f"the {self._what} {str(self._path)!r} cannot be kept safely here: this file system does not "
                f"take a write-ahead log (it answered {mode!r}); use a local one"
            )
            raise StorageError(msg)

    def _migrate(self, schema: Schema) -> None:
        for number, script in enumerate(schema.steps, start=1):
            if self._pragma("user_version") >= number:
                continue
            with self.transaction():
                for _row in self._execute(script, ()):
                    pass
                self.rows(f"PRAGMA application_id={schema.application_id:d}")
                self.rows(f"PRAGMA user_version={number:d}")

    def _pragma(self, name: str) -> int:
        found = self.row(f"PRAGMA {name}")
        return int(str(found[0])) if found else 0

    def _require_in_place(self) -> None:
        """Refuse to acknowledge changes to a file that was removed or exchanged: nobody would find them."""
        try:
            found = self._path.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            msg = (
                f"the {self._what} {str(self._path)!r} was removed or exchanged while it was open; "
                "start again to open what is there now"
            )
            raise StorageError(msg)

    # --- waiting and failing -----------------------------------------------------------------------

    def _wait(self, tries: int) -> bool:
        """Pause a moment, at random so that waiting is fair; ``False`` once the bound is reached."""
        if tries == 0:
            self._waited = 0.0
        if self._waited >= self._busy_seconds:
            return False
        longest = min(_SHORTEST_WAIT * (tries + 2), _LONGEST_WAIT)
        moment = random.uniform(_SHORTEST_WAIT, longest)  # noqa: S311 - fairness, not secrecy
        self._waited += moment
        self._pause(moment)
        return True

    @contextlib.contextmanager
    def _ended_by(self, end: str, *, begin: str) -> Generator[None]:
        with self._told("use"):
            self._execute(begin, ())
        try:
            yield
            with self._told("make a change durable in"):
                self._execute(end, ())
        except BaseException:
            if self._connection.in_transaction:
                with contextlib.suppress(apsw.Error):  # the first error is the one to tell
                    self._execute("ROLLBACK", ())
            raise

    @contextlib.contextmanager
    def _told(self, action: str) -> Generator[None]:
        try:
            yield
        except apsw.Error as error:
            msg = f"could not {action} the {self._what} {str(self._path)!r}: {self._reason(error)}"
            raise StorageError(msg) from error

    def _reason(self, error: apsw.Error) -> str:
        for kinds, reason in _REASONS:
            if isinstance(error, kinds):
                return reason.format(seconds=self._busy_seconds, error=error)
        return f"{type(error).__name__}: {error}"


def _require_fixed_library() -> None:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < _FIXED_VERSION:
        needed = ".".join(str(part) for part in _FIXED_VERSION)
        msg = f"SQLite {apsw.sqlite_lib_version()} can damage databases; install apsw with {needed} or newer"
        raise StorageError(msg)
