from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.sqlite import Database
from toolfabric.mesh.migrations import MESH_SCHEMA
from toolfabric.mesh.records import Retention
from toolfabric.mesh.sqlite_topics import append_event, fitting, list_topics, read_page

BODY = b'{"kind":"k","from":"s"}'
STAMP = ("id", "2026-01-01T00:00:00.000Z")


@pytest.fixture
def database(tmp_path: Path) -> Generator[Database]:
    with Database(tmp_path / "mesh.db", MESH_SCHEMA, files=RealFiles()) as opened:
        yield opened


def append(database: Database, topic: str, body: bytes = BODY, kept: Retention | None = None) -> int:
    with database.transaction():
        return append_event(database, topic, body, stamp=STAMP, kept=kept or Retention())


@pytest.mark.parametrize(
    ("sizes", "room", "count"),
    [([], 10, 0), ([5, 5], 10, 2), ([5, 5, 1], 10, 2), ([11], 10, 1), ([11, 1], 10, 1), ([1, 11, 1], 10, 1)],
)
def test_as_many_fit_as_there_is_room_for_but_at_least_one(sizes: list[int], room: int, count: int) -> None:
    assert fitting(sizes, room) == count


def test_topics_do_not_mix(database: Database) -> None:
    for topic in ("b", "a", "b", "c", "a", "b"):
        append(database, topic)
    found = {topic: read_page(database, topic, 0, most=9, room=999) for topic in ("a", "b", "c", "d")}
    assert {topic: [event.sequence for event in page.events] for topic, page in found.items()} == {
        "a": [1, 2],
        "b": [1, 2, 3],
        "c": [1],
        "d": [],
    }
    assert [(one.topic, one.events, one.bytes) for one in list_topics(database, "")] == [
        ("a", 2, 2 * len(BODY)),
        ("b", 3, 3 * len(BODY)),
        ("c", 1, len(BODY)),
    ]


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 33])
def test_any_number_of_events_is_trimmed_at_once(database: Database, count: int) -> None:
    for _ in range(count):
        append(database, "t")
    append(database, "other")
    append(database, "t", b" " * 100 + BODY, Retention(max_events=1_000, max_bytes=120))
    kept = database.rows("SELECT count(*) FROM events")
    assert kept == [(2,)]
    [_other, topic] = list_topics(database, "")
    assert (topic.events, topic.oldest, topic.latest) == (1, count + 1, count + 1)


def test_a_full_topic_drops_one_for_each_that_comes(database: Database) -> None:
    for number in range(1, 40):
        assert append(database, "t", kept=Retention(max_events=5)) == number
        [topic] = list_topics(database, "")
        assert (topic.events, topic.latest) == (min(number, 5), number)
        assert topic.bytes == topic.events * len(BODY)
