"""What is a record is read without loss, whatever else stands in the file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolfabric.errors import StorageError
from toolfabric.sessions.reader import list_sessions, parse_line, read_entries, read_header
from toolfabric.sessions.records import SessionHeader, SessionSummary
from toolfabric.sessions.writer import SessionWriter

DATA = Path(__file__).parents[4] / "shared" / "data" / "pi-sessions"
REAL = sorted(DATA.glob("*.jsonl"))
HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}\n'


@pytest.mark.skipif(not REAL, reason="the real session files are not on this machine")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_a_real_file_is_read_without_loss(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    entries = list(read_entries(path))
    assert entries == [json.loads(line) for line in lines]
    header = read_header(path)
    assert header is not None
    assert (header.version, header.session_id, header.cwd) == (3, entries[0]["id"], entries[0]["cwd"])


@pytest.mark.skipif(not REAL, reason="the real session files are not on this machine")
def test_real_files_are_listed_newest_first_with_their_first_question() -> None:
    found = list_sessions(DATA)
    assert {one.path for one in found} == set(REAL)
    assert [one.timestamp for one in found] == sorted((one.timestamp for one in found), reverse=True)
    assert all(one.title for one in found)


@pytest.mark.requirement("ENT-038")
def test_white_space_of_json_is_allowed_around_a_record_and_a_mark_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + HEADER + b' \t{"type":"x"} \r\n\xef\xbb\xbf{"type":"y"}\n\n  \n')
    assert [entry["type"] for entry in read_entries(path)] == ["session", "x"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"text",
        b"[1]",
        b'"text"',
        b"null",
        b'{"a":1',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":"\xff"}',
        b'{"a":"\x01"}',
        b'{"a":1} {"b":2}',
        b"{'a':1}",
        b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":' + b"9" * 5_000 + b"}",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_what_is_no_record_is_passed_over(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEADER + line + b'\n{"type":"kept"}\n')
    assert parse_line(line) is None
    assert [entry["type"] for entry in read_entries(path)] == ["session", "kept"]


def test_text_is_taken_as_it_stands(tmp_path: Path) -> None:
    line = '{"a":"\\ud83d","b":"é\u2028","c":12345678901234567890123,"d":1e-7}'.encode()
    assert parse_line(line) == {"a": "\ud83d", "b": "é\u2028", "c": 12345678901234567890123, "d": 1e-7}


def test_a_torn_last_line_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEADER + b'{"type":"whole"}\n{"type":"to')
    assert [entry["type"] for entry in read_entries(path)] == ["session", "whole"]


def test_a_file_that_is_not_there_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"nothing\.jsonl"):
        list(read_entries(tmp_path / "nothing.jsonl"))


@pytest.mark.parametrize(
    "first",
    [b"", b"text\n", b'{"type":"message"}\n', b'{"type":"session","version":"3"}\n', HEADER[:-1]],
)
def test_a_file_that_does_not_begin_with_a_header_has_none(first: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(first)
    assert read_header(path) is None


def test_a_header_names_the_session_it_was_forked_from(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEADER[:-2] + b',"parentSession":"/s/b.jsonl","more":1}\n')
    assert read_header(path) == SessionHeader(
        version=3, session_id="s", timestamp="2026-01-01T00:00:00.000Z", cwd="/w", parent_session="/s/b.jsonl"
    )


def test_sessions_are_listed_newest_first(create: Callable[[], SessionWriter], folder: Path) -> None:
    paths: list[Path] = []
    for text in ("first question", "x" * 500):
        with create() as writer:
            writer.user(text)
            paths.append(writer.path)
    found = list_sessions(folder)
    assert [one.path for one in found] == paths[::-1]
    assert found[1] == SessionSummary(
        path=paths[0],
        session_id="01a22e0c-febc-7192-8457-000000000001",
        timestamp="2026-11-30T20:02:13.310Z",
        cwd="/work",
        size=paths[0].stat().st_size,
        title="first question",
    )
    assert found[0].title == "x" * 200


def test_what_is_no_session_is_not_listed(create: Callable[[], SessionWriter], folder: Path) -> None:
    create().close()
    (folder / "a.jsonl").write_text("text\n")
    (folder / "b.spool.jsonl").write_bytes(HEADER)
    (folder / "c.txt").write_bytes(HEADER)
    (folder / "d.jsonl").mkdir()
    os.mkfifo(folder / "e.jsonl")
    assert len(list_sessions(folder)) == 1


def test_a_folder_that_is_not_there_has_no_sessions(tmp_path: Path) -> None:
    assert list_sessions(tmp_path / "none") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_session_that_cannot_be_read_does_not_hide_the_others(
    create: Callable[[], SessionWriter], folder: Path
) -> None:
    for _ in range(2):
        create().close()
    next(folder.iterdir()).chmod(0)
    assert len(list_sessions(folder)) == 1


def test_a_folder_that_cannot_be_listed_is_a_storage_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(StorageError, match="loop"):
        list_sessions(loop)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ('"plain text"', "plain text"),
        ('[{"type":"image","data":""},{"type":"text","text":"a block"}]', "a block"),
        ("[7]", ""),
        ("7", ""),
    ],
)
def test_the_title_is_the_users_first_words_in_either_form(content: str, title: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        HEADER + f'{{"type":"message","message":{{"role":"user","content":{content}}}}}\n'.encode()
    )
    assert [one.title for one in list_sessions(tmp_path)] == [title]
