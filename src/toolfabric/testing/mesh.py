"""A mesh in memory, and one that fails or stops at a chosen call.

``MemoryMesh`` is the simple model of what every ``MeshStore`` promises, in one event loop and without a disk.
Handles made from one ``MemoryData`` share it, as processes share a folder::

    data = MemoryData()
    one, two = MemoryMesh(data, clock=clock), MemoryMesh(data, clock=clock)

``StoppingMesh`` goes through any store::

    StoppingMesh(store, stop_at=3)               # "dies" instead of making the third change
    StoppingMesh(store, stop_at=3, after=True)   # "dies" once the third change is made, before it is told
    StoppingMesh(store, stop_at=3, error=StorageError("full"))   # the third change alone fails
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec import UNSET

from toolfabric.errors import StorageError
from toolfabric.mesh.records import (
    Draft,
    Entry,
    Event,
    Limits,
    Listing,
    Page,
    Swap,
    Topic,
    check_cursor,
    check_key,
    check_limit,
    check_prefix,
    check_topic,
    encode_draft,
    encode_value,
    wire_time,
)
from toolfabric.mesh.reserved import is_host_topic
from toolfabric.mesh.store import MeshStore
from toolfabric.protocols import Clock
from toolfabric.testing.files import Crashed
from toolfabric.values import Json

__all__ = ["MemoryData", "MemoryMesh", "StoppingMesh"]

_T = TypeVar("_T")


@dataclass(slots=True)
class _Log:
    dropped: int = 0
    kept: list[tuple[Event, int]] = field(default_factory=list[tuple[Event, int]])


@dataclass(slots=True)
class _Cell:
    version: int
    updated_at: str
    value: bytes | None


@dataclass(slots=True)
class MemoryData:
    """What the handles of one mesh share."""

    logs: dict[str, _Log] = field(default_factory=dict[str, _Log])
    cells: dict[str, _Cell] = field(default_factory=dict[str, _Cell])
    changed: set[asyncio.Event] = field(default_factory=set[asyncio.Event])


class MemoryMesh:
    """One handle on a mesh in memory; implements ``MeshStore``."""

    def __init__(self, data: MemoryData | None = None, *, clock: Clock, limits: Limits | None = None) -> None:
        """Join the handles of some data, or begin with none."""
        self._data = data or MemoryData()
        self._clock = clock
        self._limits = limits or Limits()
        self._closed = False

    @property
    def limits(self) -> Limits:
        """The bounds that it keeps."""
        return self._limits

    async def append(self, draft: Draft, /) -> Event:
        """Add an event to the end of its topic."""
        body = encode_draft(draft, self._limits)
        self._require_open()
        log = self._data.logs.setdefault(draft.topic, _Log())
        own = msgspec.json.decode(body)
        sequence = log.dropped + len(log.kept) + 1
        event = Event(
            sequence=sequence,
            id=f"{draft.topic}-{sequence}",
            time=wire_time(self._clock.now()),
            topic=draft.topic,
            kind=draft.kind,
            sender=draft.sender,
            to=own.get("to", UNSET),
            text=own.get("text", UNSET),
            data=own.get("data", UNSET),
        )
        log.kept.append((event, len(body)))
        kept = self._limits.host_retention if is_host_topic(draft.topic) else self._limits.retention
        while len(log.kept) > 1 and (
            len(log.kept) > kept.max_events or sum(size for _event, size in log.kept) > kept.max_bytes
        ):
            del log.kept[0]
            log.dropped += 1
        for one in self._data.changed:
            one.set()
        return event

    async def read(
        self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        """Read events after a cursor, and wait for one if there is none yet."""
        check_topic(topic)
        most = check_limit(limit, self._limits)
        changed = asyncio.Event()
        self._data.changed.add(changed)
        try:
            async with asyncio.timeout(wait_seconds):
                while not (page := self._page(topic, cursor, most)).events:
                    await changed.wait()
                    changed.clear()
                return page
        except TimeoutError:
            return self._page(topic, cursor, most)
        finally:
            self._data.changed.discard(changed)

    async def topics(self, prefix: str = "", /) -> tuple[Topic, ...]:
        """All topics whose name begins so."""
        if prefix:
            check_topic(prefix.removesuffix(".") or prefix)
        self._require_open()
        return tuple(
            Topic(
                topic=name,
                events=len(log.kept),
                oldest=log.dropped + 1,
                latest=log.dropped + len(log.kept),
                bytes=sum(size for _event, size in log.kept),
            )
            for name, log in sorted(self._data.logs.items())
            if name.startswith(prefix)
        )

    async def get(self, key: str, /) -> Entry | None:
        """The value of a key, or ``None``."""
        check_key(key)
        self._require_open()
        return self._entry(key)

    async def list(self, prefix: str = "", /, *, cursor: str = "", limit: int | None = None) -> Listing:
        """Entries whose key begins so, after the cursor."""
        check_prefix(prefix)
        if cursor:
            check_key(cursor)
        most = check_limit(limit, self._limits)
        self._require_open()
        found: list[Entry] = []
        room = self._limits.max_page_bytes
        for key in sorted(self._data.cells):
            cell = self._data.cells[key]
            if not key.startswith(prefix) or key <= cursor or cell.value is None:
                continue
            room -= len(cell.value)
            if len(found) == most or (room < 0 and found):
                return Listing(entries=tuple(found), cursor=found[-1].key)
            found.append(_entry_of(key, cell, cell.value))
        return Listing(entries=tuple(found))

    async def put(self, key: str, value: Json, /, *, if_version: int | None = None) -> Swap:
        """Set a key, always or only if it is at a version."""
        check_key(key)
        return self._swap(key, encode_value(value, self._limits), if_version)

    async def delete(self, key: str, /, *, if_version: int | None = None) -> Swap:
        """Remove a key, always or only if it is at a version."""
        check_key(key)
        return self._swap(key, None, if_version)

    async def problems(self) -> tuple[str, ...]:
        """Nothing can be wrong with it."""
        self._require_open()
        return ()

    async def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            msg = "the mesh was closed; open it again"
            raise StorageError(msg)

    def _page(self, topic: str, cursor: int, most: int) -> Page:
        self._require_open()
        log = self._data.logs.get(topic, _Log())
        latest = log.dropped + len(log.kept)
        check_cursor(cursor, latest, topic)
        start = max(cursor, log.dropped)
        room = self._limits.max_page_bytes
        events: list[Event] = []
        for event, size in log.kept[start - log.dropped :][:most]:
            room -= size
            if room < 0 and events:
                break
            events.append(event)
        return Page(
            topic=topic,
            events=tuple(events),
            cursor=start + len(events),
            latest=latest,
            missed=start - cursor,
        )

    def _entry(self, key: str) -> Entry | None:
        cell = self._data.cells.get(key)
        return None if cell is None or cell.value is None else _entry_of(key, cell, cell.value)

    def _swap(self, key: str, value: bytes | None, if_version: int | None) -> Swap:
        self._require_open()
        entry, cell = self._entry(key), self._data.cells.get(key)
        current = 0 if entry is None else entry.version
        if if_version is not None and if_version != current:
            return Swap(key=key, done=False, version=current)
        if value is None and entry is None:
            return Swap(key=key, done=True, version=0)
        version = 1 if cell is None else cell.version + 1
        moment = wire_time(self._clock.now())
        self._data.cells[key] = _Cell(version=version, updated_at=moment, value=value)
        return Swap(key=key, done=True, version=version)


class StoppingMesh:
    """Passes everything on to a store, and stops or fails at one change.

    ``changes`` counts appends, puts and deletes. Once stopped, every call, a read too, raises ``Crashed``:
    the process is dead.
    """

    def __init__(
        self,
        store: MeshStore,
        *,
        stop_at: int | None = None,
        after: bool = False,
        error: Exception | None = None,
    ) -> None:
        """Name the change (from 1), the side of it, and what is raised instead of stopping."""
        self._store = store
        self._stop_at = stop_at
        self._after = after
        self._error = error
        self.changes = 0
        self.stopped = False

    @property
    def limits(self) -> Limits:
        """As the store's."""
        return self._store.limits

    async def append(self, draft: Draft, /) -> Event:
        """As the store's, counted."""
        return await self._change(lambda: self._store.append(draft))

    async def put(self, key: str, value: Json, /, *, if_version: int | None = None) -> Swap:
        """As the store's, counted."""
        return await self._change(lambda: self._store.put(key, value, if_version=if_version))

    async def delete(self, key: str, /, *, if_version: int | None = None) -> Swap:
        """As the store's, counted."""
        return await self._change(lambda: self._store.delete(key, if_version=if_version))

    async def read(
        self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        """As the store's."""
        self._require_life()
        return await self._store.read(topic, cursor=cursor, limit=limit, wait_seconds=wait_seconds)

    async def topics(self, prefix: str = "", /) -> tuple[Topic, ...]:
        """As the store's."""
        self._require_life()
        return await self._store.topics(prefix)

    async def get(self, key: str, /) -> Entry | None:
        """As the store's."""
        self._require_life()
        return await self._store.get(key)

    async def list(self, prefix: str = "", /, *, cursor: str = "", limit: int | None = None) -> Listing:
        """As the store's."""
        self._require_life()
        return await self._store.list(prefix, cursor=cursor, limit=limit)

    async def problems(self) -> tuple[str, ...]:
        """As the store's."""
        self._require_life()
        return await self._store.problems()

    async def close(self) -> None:
        """As the store's."""
        await self._store.close()

    async def _change(self, make: Callable[[], Awaitable[_T]]) -> _T:
        self._require_life()
        self.changes += 1
        if self.changes != self._stop_at:
            return await make()
        if self._after:
            await make()
        if self._error is not None:
            raise self._error
        self.stopped = True
        raise Crashed

    def _require_life(self) -> None:
        if self.stopped:
            raise Crashed


def _entry_of(key: str, cell: _Cell, value: bytes) -> Entry:
    return Entry(key=key, version=cell.version, value=msgspec.json.decode(value), updated_at=cell.updated_at)
