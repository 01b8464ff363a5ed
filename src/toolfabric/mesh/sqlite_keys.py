"""Versioned keys in SQLite. Each function is one job inside a transaction or a read.

A row stays when its key is deleted: it remembers the version, and has no value.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec
from msgspec import UNSET

from toolfabric.durable.sqlite import Database, Row
from toolfabric.mesh.records import ABSENT, Entry, Listing, Swap
from toolfabric.mesh.sqlite_topics import fitting

__all__ = ["find_entry", "list_entries", "swap_value"]

_AFTER_ALL_NAMES: Final = "\x7f"


def find_entry(database: Database, key: str) -> Entry | None:
    """The value of a key, or ``None``."""
    sql = "SELECT key, version, updated_at, value FROM entries WHERE key = ? AND value IS NOT NULL"
    row = database.row(sql, key)
    return None if row is None else _entry(row)


def swap_value(
    database: Database, key: str, value: bytes | None, *, if_version: int | None, moment: str
) -> Swap:
    """Set a key, or remove it with ``None``, if it is at the version asked for."""
    row = database.row("SELECT version, value IS NOT NULL FROM entries WHERE key = ?", key)
    remembered, there = cast("tuple[int, int]", row) if row is not None else (0, 0)
    current = remembered if there else ABSENT
    if if_version is not None and if_version != current:
        return Swap(key=key, done=False, version=current)
    if value is None and not there:
        return Swap(key=key, done=True, version=ABSENT)
    database.change(
        "INSERT INTO entries (key, version, updated_at, size, value) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at, "
        "size = excluded.size, value = excluded.value",
        key,
        remembered + 1,
        moment,
        len(value) if value is not None else 0,
        value,
    )
    return Swap(key=key, done=True, version=remembered + 1)


def list_entries(database: Database, prefix: str, cursor: str, *, most: int, room: int) -> Listing:
    """At most so many entries and bytes whose key begins so and comes after the cursor."""
    bounds = (prefix, prefix + _AFTER_ALL_NAMES, cursor)
    within = "FROM entries WHERE key >= ? AND key < ? AND key > ? AND value IS NOT NULL ORDER BY key LIMIT ?"
    with database.snapshot():
        sizes = [cast("int", size) for (size,) in database.rows(f"SELECT size {within}", *bounds, most + 1)]
        count = fitting(sizes[:most], room)
        rows = database.rows(f"SELECT key, version, updated_at, value {within}", *bounds, count)
    entries = tuple(_entry(row) for row in rows)
    more = len(sizes) > count
    return Listing(entries=entries, cursor=entries[-1].key if more else UNSET)


def _entry(row: Row) -> Entry:
    key, version, moment, value = cast("tuple[str, int, str, bytes]", row)
    return Entry(key=key, version=version, value=msgspec.json.decode(value), updated_at=moment)
