"""The form of the mesh's database, as steps from the oldest to the newest.

A step that was released is never changed; a new form is a new step at the end.

An event's place is one number, ``topic number * 2**40 + sequence``, so that one tree holds all events, each
topic in order and next to each other. Sizes stand before bodies, so that counting does not read them.
"""

from __future__ import annotations

from typing import Final

from toolfabric.durable.sqlite import Schema

__all__ = ["MESH_SCHEMA", "SEQUENCES"]

SEQUENCES: Final = 2**40
"""How many sequences a topic has room for."""

_TOPICS_EVENTS_ENTRIES: Final = """
CREATE TABLE topics (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    latest INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    size INTEGER NOT NULL,
    id TEXT NOT NULL,
    time TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE entries (
    key TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    updated_at TEXT NOT NULL,
    size INTEGER NOT NULL,
    value BLOB
) STRICT;
"""

MESH_SCHEMA: Final = Schema(what="mesh", application_id=0x4642_4D31, steps=(_TOPICS_EVENTS_ENTRIES,))
