"""What the mesh holds and answers, with exact JSON forms, and the bounds of all of it.

- A *topic* is a sequence of events. Sequences count from 1 in each topic, without gaps and without doubles,
  in the order in which events became durable. Retention drops the oldest; numbers are never used again.
- A *key* has a value and a version. Every change of a key, a deletion too, takes the next version; a
  deleted key remembers its last one. So no version of a key ever stands for two values.
- A *cursor* of a topic is the sequence of the last event that was seen, 0 for none. It stays good whatever
  retention drops: the reader goes on with what is left, and is told how many it missed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from toolfabric._base.camel import Record
from toolfabric._base.json_form import json_size
from toolfabric.values import Json

__all__ = [
    "ABSENT",
    "MAX_NAME_CHARS",
    "Draft",
    "Entry",
    "Event",
    "Limits",
    "Listing",
    "Page",
    "Retention",
    "Swap",
    "Topic",
    "check_cursor",
    "check_key",
    "check_limit",
    "check_prefix",
    "check_topic",
    "encode_draft",
    "encode_value",
    "wire_time",
]

ABSENT: Final = 0
"""The version to give as ``if_version`` for a key that must not be there."""

MAX_NAME_CHARS: Final = 256
_TOPIC: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_KEY: Final = re.compile(r"[A-Za-z0-9_.:@+~-]+(?:/[A-Za-z0-9_.:@+~-]+)*")
_PREFIX: Final = re.compile(r"(?:[A-Za-z0-9_.:@+~-]+/)*[A-Za-z0-9_.:@+~-]*")
_WORD: Final = re.compile(r"[A-Za-z0-9_.:@+~/-]+")


class Event(Record, frozen=True, kw_only=True):
    """One event of a topic. ``time`` is the writer's clock; only ``sequence`` orders."""

    sequence: int
    id: str
    time: str
    topic: str
    kind: str
    sender: str = msgspec.field(name="from")
    to: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    data: Any = UNSET


class Page(Record, frozen=True, kw_only=True):
    """Events after a cursor, oldest first.

    ``cursor`` is what to read after next. ``latest`` is the topic's newest sequence. ``missed`` counts
    the events after the given cursor that retention had dropped.
    """

    topic: str
    events: tuple[Event, ...]
    cursor: int
    latest: int
    missed: int


class Topic(Record, frozen=True, kw_only=True):
    """One topic: how many events are kept, which, and their size in bytes."""

    topic: str
    events: int
    oldest: int
    latest: int
    bytes: int


class Entry(Record, frozen=True, kw_only=True):
    """The value of a key at one version."""

    key: str
    version: int
    value: Any
    updated_at: str


class Listing(Record, frozen=True, kw_only=True):
    """Entries in the order of their keys; ``cursor`` is there when more may follow it."""

    entries: tuple[Entry, ...]
    cursor: str | UnsetType = UNSET


class Swap(Record, frozen=True, kw_only=True):
    """The answer to a change of a key.

    ``done`` says whether it happened; ``version`` is then the new version, else the version that stood
    in the way, 0 for a key that is not there.
    """

    key: str
    done: bool
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event before it has a place in its topic."""

    topic: str
    kind: str
    sender: str
    to: str | None = None
    text: str | None = None
    data: Json | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much of a topic is kept: at most so many events and bytes, but always the newest event."""

    max_events: int = 10_000
    max_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a mesh. ``host_retention`` is that of the topics that only the host writes to."""

    max_event_bytes: int = 256 * 1024
    max_value_bytes: int = 256 * 1024
    max_read_events: int = 500
    max_page_bytes: int = 4 * 1024 * 1024
    retention: Retention = Retention()
    host_retention: Retention = Retention(max_events=100_000, max_bytes=256 * 1024 * 1024)


def wire_time(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check_topic(topic: str) -> None:
    """Refuse what cannot be a topic.

    Raises:
        ValueError: It is not words of letters, digits, ``_`` and ``-`` joined by dots, or too long.
    """
    if len(topic) > MAX_NAME_CHARS or _TOPIC.fullmatch(topic) is None:
        msg = (
            "not a topic: use words of letters, digits, '_' and '-' joined by dots, at most "
            f"{MAX_NAME_CHARS} characters, such as 'build.results'"
        )
        raise ValueError(msg)


def check_key(key: str) -> None:
    """Refuse what cannot be a key.

    Raises:
        ValueError: It is not names joined by single slashes, or too long.
    """
    if len(key) > MAX_NAME_CHARS or _KEY.fullmatch(key) is None:
        msg = (
            "not a key: use names of letters, digits and '_.:@+~-' joined by '/', at most "
            f"{MAX_NAME_CHARS} characters, such as 'plan/step-1'"
        )
        raise ValueError(msg)


def check_prefix(prefix: str) -> None:
    """Refuse what no key can begin with; empty is any key.

    Raises:
        ValueError: No key can begin so.
    """
    if len(prefix) > MAX_NAME_CHARS or _PREFIX.fullmatch(prefix) is None:
        msg = "not the beginning of a key; give one such as 'plan/', or nothing for all keys"
        raise ValueError(msg)


def check_cursor(cursor: int, latest: int, topic: str) -> None:
    """Refuse a cursor that this topic never gave out.

    Raises:
        ValueError: It is negative, or ahead of the newest event.
    """
    if cursor < 0 or cursor > latest:
        msg = f"cursor {cursor} is not of topic {topic!r}, which ends at {latest}; start again from cursor 0"
        raise ValueError(msg)


def check_limit(limit: int | None, limits: Limits) -> int:
    """Refuse a limit below 1, and bring a larger one down to the bound.

    Raises:
        ValueError: It asks for nothing.
    """
    if limit is None:
        return limits.max_read_events
    if limit < 1:
        msg = f"a limit of {limit} asks for nothing; ask for at least 1"
        raise ValueError(msg)
    return min(limit, limits.max_read_events)


def encode_draft(draft: Draft, limits: Limits) -> bytes:
    """Refuse an event that cannot be kept; give its own fields as JSON.

    What the store adds (sequence, id, time) does not count against the bound.

    Raises:
        ValueError: A name is malformed, the data is not JSON, or the whole is too large.
    """
    check_topic(draft.topic)
    for name, word in (("kind", draft.kind), ("from", draft.sender), ("to", draft.to)):
        if word is not None and (len(word) > MAX_NAME_CHARS or _WORD.fullmatch(word) is None):
            msg = (
                f"{name!r} must be one word of letters, digits and '_.:@+~/-', at most "
                f"{MAX_NAME_CHARS} characters"
            )
            raise ValueError(msg)
    whole: dict[str, object] = {"kind": draft.kind, "from": draft.sender}
    if draft.to is not None:
        whole["to"] = draft.to
    if draft.text is not None:
        whole["text"] = draft.text
    if draft.data is not UNSET:
        whole["data"] = draft.data
    return _bounded(whole, limits.max_event_bytes, "an event")


def encode_value(value: Json, limits: Limits) -> bytes:
    """Refuse a value that cannot be kept; give it as JSON.

    Raises:
        ValueError: It is not JSON, or too large.
    """
    return _bounded(value, limits.max_value_bytes, "a value")


def _bounded(value: object, most: int, what: str) -> bytes:
    json_size(value)
    encoded = msgspec.json.encode(value)
    if len(encoded) > most:
        msg = (
            f"{what} has at most {most} bytes as JSON, and this has {len(encoded)}; keep the bulk in a file "
            "and name it"
        )
        raise ValueError(msg)
    return encoded
