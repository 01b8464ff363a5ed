"""The mesh of one machine: a SQLite database that any number of processes share.

A handle has two threads, each with a connection of its own: one commits changes in groups, one reads. A
folder of named pipes beside the database wakes readers in every process after a commit. What is done to the
tables stands in ``sqlite_topics`` and ``sqlite_keys``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from toolfabric.durable.atomic import make_folders, replace_file
from toolfabric.durable.bell import Bell
from toolfabric.durable.grouped import DatabaseThread
from toolfabric.durable.sqlite import Database
from toolfabric.mesh.migrations import MESH_SCHEMA
from toolfabric.mesh.records import (
    Draft,
    Entry,
    Event,
    Limits,
    Listing,
    Page,
    Swap,
    Topic,
    check_key,
    check_limit,
    check_prefix,
    check_topic,
    encode_draft,
    encode_value,
    wire_time,
)
from toolfabric.mesh.reserved import is_host_topic
from toolfabric.mesh.sqlite_keys import find_entry, list_entries, swap_value
from toolfabric.mesh.sqlite_topics import append_event, event_of, list_topics, read_page
from toolfabric.protocols import Clock, FileOps, Ids
from toolfabric.values import Json

__all__ = ["DATABASE_NAME", "SqliteMesh"]

DATABASE_NAME: Final = "mesh.db"
_BELLS: Final = "bells"
_IGNORE: Final = ".gitignore"


class SqliteMesh:
    """One handle on the mesh in a folder; implements ``MeshStore``.

    Used from one event loop; opened with ``open`` and, at best, ``async with``.
    """

    def __init__(
        self,
        *,
        writer: DatabaseThread,
        reader: DatabaseThread,
        bell: Bell,
        limits: Limits,
        clock: Clock,
        ids: Ids,
    ) -> None:
        """Take what ``open`` made."""
        self._writer = writer
        self._reader = reader
        self._bell = bell
        self._limits = limits
        self._clock = clock
        self._ids = ids

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        files: FileOps,
        clock: Clock,
        ids: Ids,
        limits: Limits | None = None,
        busy_seconds: float = 10.0,
        vfs: str | None = None,
    ) -> Self:
        """Open the mesh in a folder, making both where they are missing.

        Args:
            folder: Where the database is. It is kept out of Git by an ignore file of its own.
            files: The file system, for everything but the database itself.
            clock: Dates events and entries, and bounds waits.
            ids: Names events.
            limits: The bounds to keep.
            busy_seconds: How long a change waits for other processes before it fails.
            vfs: A registered SQLite file system other than the default.

        Raises:
            StorageError: The folder or the database cannot be used; nothing in it was overwritten.
        """

        def connect() -> Database:
            return Database(
                folder / DATABASE_NAME, MESH_SCHEMA, files=files, busy_seconds=busy_seconds, vfs=vfs
            )

        def connect_both() -> tuple[Database, Database]:
            _make_folder(folder, files)
            first = connect()
            try:
                return first, connect()
            except BaseException:
                first.close()
                raise

        writing, reading = await asyncio.to_thread(connect_both)
        bell = Bell(folder / _BELLS, files=files)
        return cls(
            writer=DatabaseThread(writing, writes=True, committed=bell.ring),
            reader=DatabaseThread(reading),
            bell=bell,
            limits=limits or Limits(),
            clock=clock,
            ids=ids,
        )

    @property
    def limits(self) -> Limits:
        """The bounds that it keeps."""
        return self._limits

    async def append(self, draft: Draft, /) -> Event:
        """Add an event to the end of its topic."""
        body = encode_draft(draft, self._limits)
        stamp = (self._ids.session(), wire_time(self._clock.now()))
        kept = self._limits.host_retention if is_host_topic(draft.topic) else self._limits.retention
        sequence = await self._writer.run(
            lambda database: append_event(database, draft.topic, body, stamp=stamp, kept=kept)
        )
        return event_of(draft.topic, sequence, stamp, body)

    async def read(
        self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        """Read events after a cursor, and wait for one if there is none yet."""
        check_topic(topic)
        most = check_limit(limit, self._limits)
        room = self._limits.max_page_bytes
        end = self._clock.monotonic() + wait_seconds
        while True:
            mark = self._bell.listen() if wait_seconds > 0 else 0
            page = await self._reader.run(
                lambda database: read_page(database, topic, cursor, most=most, room=room)
            )
            left = end - self._clock.monotonic()
            if page.events or left <= 0:
                return page
            await self._bell.changed(mark, left)

    async def topics(self, prefix: str = "", /) -> tuple[Topic, ...]:
        """All topics whose name begins so."""
        if prefix:
            check_topic(prefix.removesuffix(".") or prefix)
        return await self._reader.run(lambda database: list_topics(database, prefix))

    async def get(self, key: str, /) -> Entry | None:
        """The value of a key, or ``None``."""
        check_key(key)
        return await self._reader.run(lambda database: find_entry(database, key))

    async def list(self, prefix: str = "", /, *, cursor: str = "", limit: int | None = None) -> Listing:
        """Entries whose key begins so, after the cursor."""
        check_prefix(prefix)
        if cursor:
            check_key(cursor)
        most = check_limit(limit, self._limits)
        room = self._limits.max_page_bytes
        return await self._reader.run(
            lambda database: list_entries(database, prefix, cursor, most=most, room=room)
        )

    async def put(self, key: str, value: Json, /, *, if_version: int | None = None) -> Swap:
        """Set a key, always or only if it is at a version."""
        check_key(key)
        encoded = encode_value(value, self._limits)
        return await self._swap(key, encoded, if_version)

    async def delete(self, key: str, /, *, if_version: int | None = None) -> Swap:
        """Remove a key, always or only if it is at a version."""
        check_key(key)
        return await self._swap(key, None, if_version)

    async def problems(self) -> tuple[str, ...]:
        """Check the whole database file."""
        return await self._reader.run(lambda database: database.problems())

    async def close(self) -> None:
        """Finish what was handed in and release everything."""
        self._bell.close()
        await asyncio.to_thread(self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _swap(self, key: str, value: bytes | None, if_version: int | None) -> Swap:
        moment = wire_time(self._clock.now())
        return await self._writer.run(
            lambda database: swap_value(database, key, value, if_version=if_version, moment=moment)
        )

    def _close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._reader.close()


def _make_folder(folder: Path, files: FileOps) -> None:
    make_folders(folder, files=files)
    ignore = folder / _IGNORE
    if not ignore.is_file():
        replace_file(ignore, b"*\n", files=files)
