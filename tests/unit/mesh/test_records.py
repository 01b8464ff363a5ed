from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from msgspec import UNSET

from toolfabric.errors import RecordError
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
from toolfabric.values import Json

EVENT = Event(
    sequence=3,
    id="e",
    time="2026-01-02T03:04:05.678Z",
    topic="t",
    kind="k",
    sender="host",
    to="b",
    text="x",
    data=None,
)


def test_records_have_the_wire_names() -> None:
    assert EVENT.to_json() == {
        "sequence": 3,
        "id": "e",
        "time": "2026-01-02T03:04:05.678Z",
        "topic": "t",
        "kind": "k",
        "from": "host",
        "to": "b",
        "text": "x",
        "data": None,
    }
    bare = Event(sequence=1, id="e", time="", topic="t", kind="k", sender="host")
    assert set(bare.to_json()) == {"sequence", "id", "time", "topic", "kind", "from"}
    entry = Entry(key="k", version=2, value=[1], updated_at="now")
    assert Listing(entries=(entry,), cursor="k").to_json() == {
        "entries": [{"key": "k", "version": 2, "value": [1], "updatedAt": "now"}],
        "cursor": "k",
    }
    assert Page(topic="t", events=(), cursor=0, latest=0, missed=0).to_json() == {
        "topic": "t",
        "events": [],
        "cursor": 0,
        "latest": 0,
        "missed": 0,
    }
    assert Swap(key="k", done=False, version=0).to_json() == {"key": "k", "done": False, "version": 0}
    assert set(Topic(topic="t", events=1, oldest=1, latest=1, bytes=9).to_json()) == {
        "topic",
        "events",
        "oldest",
        "latest",
        "bytes",
    }


def test_an_event_reads_back_equal_and_refuses_what_it_does_not_know() -> None:
    assert Event.from_json(EVENT.to_json()) == EVENT
    with pytest.raises(RecordError):
        Event.from_json({**EVENT.to_json(), "sender": "x"})


def test_times_are_utc_with_milliseconds() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=timezone(timedelta(hours=2)))
    assert wire_time(moment) == "2026-01-02T01:04:05.678Z"
    assert wire_time(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02T00:00:00.000Z"


@pytest.mark.parametrize("topic", ["a", "build.results", "A-1_b.2", "a" * 256])
def test_words_joined_by_dots_are_topics(topic: str) -> None:
    check_topic(topic)


@pytest.mark.parametrize("key", ["a", "plan/step-1", "a.b:c@d+e~f_g", "a/" * 127 + "a"])
def test_names_joined_by_slashes_are_keys(key: str) -> None:
    check_key(key)


@pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b", "a/b/"])
def test_the_beginning_of_a_key_is_a_prefix(prefix: str) -> None:
    check_prefix(prefix)


@pytest.mark.parametrize("prefix", ["/", "a//", "a b", "ä", "a" * 257, "a\n"])
def test_what_no_key_begins_with_is_no_prefix(prefix: str) -> None:
    with pytest.raises(ValueError, match="not the beginning of a key"):
        check_prefix(prefix)


def test_the_errors_for_names_do_not_repeat_them() -> None:
    for check, text in ((check_topic, "\x1b[31m"), (check_key, "\x1b[31m"), (check_prefix, "\x1b[31m")):
        with pytest.raises(ValueError) as raised:  # noqa: PT011 - the text is what is looked at
            check(text)
        assert "\x1b" not in str(raised.value)


def test_a_limit_is_at_least_one_and_at_most_the_bound() -> None:
    limits = Limits(max_read_events=7)
    assert [check_limit(limit, limits) for limit in (None, 1, 7, 8)] == [7, 1, 7, 7]
    with pytest.raises(ValueError, match="asks for nothing"):
        check_limit(0, limits)


def test_the_bounds_are_those_of_the_design() -> None:
    limits = Limits()
    assert (limits.max_event_bytes, limits.max_value_bytes, limits.max_read_events) == (262_144, 262_144, 500)


def test_a_value_may_be_as_large_as_the_bound_and_not_a_byte_larger() -> None:
    limits = Limits(max_value_bytes=10)
    assert encode_value("12345678", limits) == b'"12345678"'
    assert encode_value("éé", limits) == '"éé"'.encode()
    for value in ("123456789", "\x00\x00", "ééééé"):
        with pytest.raises(ValueError, match=r"a value has at most 10 bytes .* keep the bulk in a file"):
            encode_value(value, limits)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"a": [object()]}, {1: 2}, (1,)])
def test_what_is_not_json_is_refused_with_the_place(value: Json) -> None:
    with pytest.raises(ValueError, match=r"^at \$"):
        encode_value(value, Limits())


def test_an_event_is_bounded_as_a_whole() -> None:
    draft = Draft(topic="t", kind="k", sender="s", to="u", text="x", data={"a": 1})
    body = encode_draft(draft, Limits())
    assert body == b'{"kind":"k","from":"s","to":"u","text":"x","data":{"a":1}}'
    assert encode_draft(draft, Limits(max_event_bytes=len(body))) == body
    with pytest.raises(ValueError, match="an event has at most"):
        encode_draft(draft, Limits(max_event_bytes=len(body) - 1))
    assert (
        encode_draft(Draft(topic="t", kind="k", sender="s", data=UNSET), Limits())
        == b'{"kind":"k","from":"s"}'
    )


@pytest.mark.parametrize("field", ["kind", "sender", "to"])
@pytest.mark.parametrize("word", ["", "two words", "\x1b[0m", "ä", "x" * 257])
def test_kinds_and_names_are_single_words(field: str, word: str) -> None:
    given = {"topic": "t", "kind": "k", "sender": "s", field: word}
    with pytest.raises(ValueError, match="must be one word"):
        encode_draft(Draft(**given), Limits())
