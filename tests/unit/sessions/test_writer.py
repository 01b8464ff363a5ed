"""A session file has Pi's form, byte for byte, one writer, and no torn records."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import RecordError, StorageError
from toolfabric.protocols import Clock, Ids
from toolfabric.sessions.reader import read_entries
from toolfabric.sessions.writer import SessionWriter

GOLDEN = Path(__file__).with_name("session.jsonl")


def write_all(writer: SessionWriter) -> list[str]:
    return [
        writer.model_change("fake", "fake-1"),
        writer.user("hi \u2028 é"),
        writer.assistant_tool_call(
            call_id="call_1",
            name="fabric_exec",
            arguments={"code": "return 1"},
            provider="fake",
            model="fake-1",
        ),
        writer.tool_result(
            call_id="call_1", name="fabric_exec", text="1", details={"success": True}, is_error=False
        ),
        writer.assistant_text("One."),
    ]


@pytest.mark.requirement("ENT-036")
def test_every_record_has_pis_form_to_the_byte(create: Callable[[], SessionWriter]) -> None:
    with create() as writer:
        written = write_all(writer)
    assert writer.path.name == "2026-11-30T20-02-13-310Z_01a22e0c-febc-7192-8457-000000000001.jsonl"
    assert writer.path.read_bytes() == GOLDEN.read_bytes()
    assert written == [f"{number:08x}" for number in range(1, 6)]
    assert writer.leaf == written[-1]


def test_a_record_is_in_the_file_when_its_method_returns(create: Callable[[], SessionWriter]) -> None:
    with create() as writer:
        seen = [len(list(read_entries(writer.path)))]
        for text in "abc":
            writer.user(text)
            seen.append(len(list(read_entries(writer.path))))
    assert seen == [1, 2, 3, 4]


def test_files_are_for_their_owner_alone(create: Callable[[], SessionWriter], tmp_path: Path) -> None:
    with create() as writer:
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (writer.path, *writer.path.parents[:3])]
    assert modes == [0o600, 0o700, 0o700, 0o700]


def test_a_session_goes_on_from_its_last_record(
    create: Callable[[], SessionWriter], reopen: Callable[[Path], SessionWriter]
) -> None:
    with create() as first:
        last = first.user("a")
    with reopen(first.path) as second:
        assert (second.session_id, second.leaf) == (first.session_id, last)
        second.user("b")
    parents = [entry.get("parentId") for entry in read_entries(first.path)]
    assert parents == [None, None, last]


@pytest.mark.parametrize("tail", [b'{"type":"mess', b"\xff\xfe", b'{"type":"x","id":"y"}'])
def test_a_torn_tail_is_cut_off_when_a_session_is_continued(
    tail: bytes, create: Callable[[], SessionWriter], reopen: Callable[[Path], SessionWriter]
) -> None:
    with create() as first:
        last = first.user("a")
    whole = first.path.read_bytes()
    first.path.write_bytes(whole + tail)
    with reopen(first.path) as second:
        assert second.leaf == last
        assert second.path.read_bytes() == whole
        second.user("b")
    assert [entry["type"] for entry in read_entries(first.path)] == ["session", "message", "message"]


def test_a_session_has_one_writer(
    create: Callable[[], SessionWriter], clock: Clock, ids: Ids, reopen: Callable[[Path], SessionWriter]
) -> None:
    first = create()
    with pytest.raises(StorageError, match="another process is writing it"):
        reopen(first.path)
    assert SessionWriter.try_open(first.path, files=RealFiles(), clock=clock, ids=ids) is None
    first.close()
    first.close()
    reopen(first.path).close()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no session header"),
        (b'{"type":"message","id":"a"}\n', "no session header"),
        (b'{"type":"session","version":4,"id":"a","timestamp":"t","cwd":"/"}\n', "version 4"),
    ],
)
def test_only_a_session_of_this_version_is_continued(
    content: bytes, told: str, tmp_path: Path, reopen: Callable[[Path], SessionWriter]
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=told):
        reopen(path)
    assert path.read_bytes() == content


def test_ids_are_never_used_twice_in_one_file(folder: Path, clock: Clock, ids: Ids) -> None:
    class Stuck:
        def __init__(self, given: str) -> None:
            self.given = iter(given)

        def session(self) -> str:
            return ids.session()

        def entry(self) -> str:
            return next(self.given)

    with SessionWriter.create(
        folder, cwd=Path("/"), files=RealFiles(), clock=clock, ids=Stuck("aaab")
    ) as first:
        assert [first.user("1"), first.user("2")] == ["a", "b"]
    with SessionWriter.open(first.path, files=RealFiles(), clock=clock, ids=Stuck("abc")) as second:
        assert second.user("3") == "c"


def test_a_session_that_is_there_already_is_not_begun_again(folder: Path, clock: Clock) -> None:
    class Frozen:
        def now(self) -> Any:
            return moment

        def monotonic(self) -> float:
            return 0.0

    class Same:
        def session(self) -> str:
            return "same"

        def entry(self) -> str:
            return "x"

    moment = clock.now()
    SessionWriter.create(folder, cwd=Path("/"), files=RealFiles(), clock=Frozen(), ids=Same()).close()
    with pytest.raises(StorageError, match="one of that id already"):
        SessionWriter.create(folder, cwd=Path("/"), files=RealFiles(), clock=Frozen(), ids=Same())


@pytest.mark.parametrize("value", [float("nan"), object(), {"x": {1, 2}}])
def test_what_is_not_json_is_refused_and_nothing_is_written(
    value: Any, create: Callable[[], SessionWriter]
) -> None:
    with create() as writer:
        before = writer.path.read_bytes()
        with pytest.raises(RecordError, match="cannot hold this"):
            writer.tool_result(call_id="c", name="n", text="", details={"x": value}, is_error=False)
        assert (writer.path.read_bytes(), writer.leaf) == (before, None)


def test_any_text_is_written_as_one_line_and_read_back_the_same(create: Callable[[], SessionWriter]) -> None:
    text = 'a\n\r\x00\x85\u2028\ud83d-\udcff-\U0001f600"\\'
    with create() as writer:
        writer.user(text)
    entry = json.loads(writer.path.read_bytes().split(b"\n")[1])
    same = entry["message"]["content"][0]["text"] == text
    assert same  # compared first: a report with lone surrogates in it would not reach the terminal
    assert len(list(read_entries(writer.path))) == 2
