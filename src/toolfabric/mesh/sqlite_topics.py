"""Topics in SQLite: append, trim, read a page. Each function is one job inside a transaction or a read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from toolfabric.durable.sqlite import Database, Row
from toolfabric.errors import StorageError
from toolfabric.mesh.migrations import SEQUENCES
from toolfabric.mesh.records import Event, Page, Retention, Topic, check_cursor

__all__ = ["append_event", "event_of", "fitting", "list_topics", "read_page"]

_AFTER_ALL_NAMES: Final = "\x7f"
_TRIM_STEP: Final = 16
_SIZES: Final = "SELECT size FROM events WHERE place >= ? AND place < ? ORDER BY place LIMIT ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """A topic's row."""

    number: int
    latest: int = 0
    events: int = 0
    bytes: int = 0

    @property
    def dropped(self) -> int:
        """The newest sequence that retention dropped; events are dropped oldest first."""
        return self.latest - self.events


def _log(database: Database, topic: str) -> _Log | None:
    row = database.row("SELECT number, latest, events, bytes FROM topics WHERE name = ?", topic)
    if row is None:
        return None
    number, latest, events, size = cast("tuple[int, int, int, int]", row)
    return _Log(number=number, latest=latest, events=events, bytes=size)


def append_event(
    database: Database, topic: str, body: bytes, *, stamp: tuple[str, str], kept: Retention
) -> int:
    """Add an event, named and dated by the stamp, and trim its topic; give its sequence."""
    log = _log(database, topic)
    if log is None:
        database.change("INSERT INTO topics (name, latest, events, bytes) VALUES (?, 0, 0, 0)", topic)
        log = _log(database, topic)
        if log is None:
            msg = f"topic {topic!r} was made and is not there; the mesh is damaged"
            raise StorageError(msg)
    sequence = log.latest + 1
    database.change(
        "INSERT INTO events (place, size, id, time, body) VALUES (?, ?, ?, ?, ?)",
        log.number * SEQUENCES + sequence,
        len(body),
        *stamp,
        body,
    )
    grown = _Log(number=log.number, latest=sequence, events=log.events + 1, bytes=log.bytes + len(body))
    _save(database, _trimmed(database, grown, kept))
    return sequence


def _trimmed(database: Database, log: _Log, kept: Retention) -> _Log:
    """Drop the oldest events until the topic is within its bounds; never the newest."""
    first = log.number * SEQUENCES + log.dropped + 1
    drop, size = 0, log.bytes
    while log.events - drop > 1 and (log.events - drop > kept.max_events or size > kept.max_bytes):
        # A few at a time: a full topic drops one for each that comes.
        for (one,) in database.rows(_SIZES, first + drop, first + log.events - 1, _TRIM_STEP):
            if log.events - drop <= kept.max_events and size <= kept.max_bytes:
                break
            drop, size = drop + 1, size - cast("int", one)
    if drop:
        database.change("DELETE FROM events WHERE place >= ? AND place < ?", first, first + drop)
    return _Log(number=log.number, latest=log.latest, events=log.events - drop, bytes=size)


def _save(database: Database, log: _Log) -> None:
    database.change(
        "UPDATE topics SET latest = ?, events = ?, bytes = ? WHERE number = ?",
        log.latest,
        log.events,
        log.bytes,
        log.number,
    )


def read_page(database: Database, topic: str, cursor: int, *, most: int, room: int) -> Page:
    """Read at most so many events and bytes after a cursor.

    Raises:
        ValueError: The topic never gave out that cursor.
    """
    with database.snapshot():
        log = _log(database, topic) or _Log(number=0)
        check_cursor(cursor, log.latest, topic)
        start = max(cursor, log.dropped)
        last = _last_within(database, log, start, most, room)
        rows = database.rows(
            "SELECT place, id, time, body FROM events WHERE place > ? AND place <= ? ORDER BY place",
            log.number * SEQUENCES + start,
            log.number * SEQUENCES + last,
        )
    events = tuple(
        event_of(topic, place - log.number * SEQUENCES, (name, time), body)
        for place, name, time, body in cast("list[tuple[int, str, str, bytes]]", rows)
    )
    return Page(topic=topic, events=events, cursor=last, latest=log.latest, missed=start - cursor)


def _last_within(database: Database, log: _Log, start: int, most: int, room: int) -> int:
    """The last sequence that fits on a page; at least one event does."""
    last = min(start + most, log.latest)
    base = log.number * SEQUENCES
    sizes = database.rows(_SIZES, base + start + 1, base + last + 1, most)
    return start + fitting([cast("int", size) for (size,) in sizes], room)


def fitting(sizes: list[int], room: int) -> int:
    """How many sizes fit into the room, from the first on; at least one if there is one."""
    for count, size in enumerate(sizes):
        room -= size
        if room < 0 and count:
            return count
    return len(sizes)


def event_of(topic: str, sequence: int, stamp: tuple[str, str], body: bytes) -> Event:
    """Put an event together from its place, its stamp and its body."""
    own: dict[str, Any] = msgspec.json.decode(body)
    return Event(
        sequence=sequence,
        id=stamp[0],
        time=stamp[1],
        topic=topic,
        kind=own["kind"],
        sender=own["from"],
        to=own.get("to", UNSET),
        text=own.get("text", UNSET),
        data=own.get("data", UNSET),
    )


def _topic(row: Row) -> Topic:
    name, events, latest, size = cast("tuple[str, int, int, int]", row)
    return Topic(topic=name, events=events, oldest=latest - events + 1, latest=latest, bytes=size)


def list_topics(database: Database, prefix: str) -> tuple[Topic, ...]:
    """All topics whose name begins so, in order."""
    sql = "SELECT name, events, latest, bytes FROM topics WHERE name >= ? AND name < ? ORDER BY name"
    return tuple(_topic(row) for row in database.rows(sql, prefix, prefix + _AFTER_ALL_NAMES))
