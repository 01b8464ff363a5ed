"""Any bytes at all are read as a session: never a crash, never more than one line held."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import RecordError
from toolfabric.sessions.reader import list_sessions, parse_line, read_entries, read_header
from toolfabric.sessions.spool import fold_spools
from toolfabric.sessions.writer import SessionWriter

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}\n'
PARTS = [
    HEADER,
    b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}\n',
    b'{"type":"message","id":1,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c"},7]}}\n',
    b'{"type":"message","id":"b","message":{"role":"toolResult","toolCallId":"c"}}\n',
    b'{"kind":"begin","execution":"c","callId":"c","name":"fabric_exec","arguments":{}}\n',
    b'{"kind":"event","execution":"c","event":{"event":"issue","operation":{"type":"call","sequence":1}}}\n',
    b'{"kind":"event","execution":"c","event":{"event":"phase","name":"x"}}\n',
    b"\xef\xbb\xbf",
    b"\n",
    b"\xff\x00",
    b'{"a":"\\ud800"}\n',
    b"[" * 5_000,
    b"9" * 5_000,
]
contents = st.lists(st.sampled_from(PARTS) | st.binary(max_size=12), max_size=12).map(b"".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sessions")


def read_everything(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    entries = list(read_entries(path))
    whole = content[: content.rfind(b"\n") + 1]
    assert len(entries) <= whole.count(b"\n")
    header = read_header(path)
    assert (header is None) or (entries[0]["type"] == "session")
    assert len(list_sessions(path.parent)) == int(header is not None)
    for entry in entries:
        assert parse_line(json.dumps(entry).encode()) is not None


@given(contents)
def test_any_bytes_are_read(folder: Path, content: bytes) -> None:
    read_everything(folder / "a.jsonl", content)


@given(contents)
def test_any_session_is_continued_or_refused_and_its_whole_lines_are_kept(
    folder: Path, content: bytes
) -> None:
    path = folder / "b.jsonl"
    path.write_bytes(content)
    try:
        with SessionWriter.open(path, files=RealFiles(), clock=SystemClock(), ids=SystemIds()) as writer:
            writer.user("more")
    except RecordError:
        assert path.read_bytes() == content
    else:
        assert path.read_bytes().startswith(content[: content.rfind(b"\n") + 1])
        assert list(read_entries(path))[-1]["parentId"] == writer_parent(content, path)
    path.unlink()


def writer_parent(content: bytes, path: Path) -> object:
    """The last id in what was there before."""
    path.write_bytes(content)
    ids = [entry.get("id") for entry in read_entries(path) if entry.get("type") != "session"]
    return next((one for one in reversed(ids) if isinstance(one, str)), None)


@given(contents, contents)
def test_any_spool_beside_any_session_is_folded_once(folder: Path, session: bytes, spool: bytes) -> None:
    inner = folder / "spools"
    inner.mkdir(exist_ok=True)
    path = inner / "s.jsonl"
    path.write_bytes(HEADER + session)
    (inner / "s.spool.jsonl").write_bytes(spool)
    once = fold_spools(inner, files=RealFiles(), clock=SystemClock(), ids=SystemIds())
    after = path.read_bytes()
    (inner / "s.spool.jsonl").write_bytes(spool)
    assert fold_spools(inner, files=RealFiles(), clock=SystemClock(), ids=SystemIds()) == []
    assert path.read_bytes() == after
    assert len(once) <= spool.count(b"begin")


def damage(folder: Path, seed: int, count: int) -> None:
    chance = random.Random(seed)  # noqa: S311 -- which damage, not whose secret
    source = b"".join(PARTS[:4]) * 3
    for _ in range(count):
        damaged = bytearray(source)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        read_everything(folder / "c.jsonl", bytes(damaged))


def test_damaged_files_are_read(tmp_path: Path) -> None:
    damage(tmp_path, seed=1, count=300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_more_damaged_files_are_read(seed: int, tmp_path: Path) -> None:
    damage(tmp_path, seed=seed, count=10_000)


def test_a_file_of_one_endless_line_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(HEADER)
        file.truncate(200 * 1024 * 1024)
        file.seek(0, 2)
        file.write(b'\n{"type":"after"}\n')
    tracemalloc.start()
    try:
        kinds = [entry["type"] for entry in read_entries(path)]
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kinds == ["session", "after"]
    assert peak < 140 * 1024 * 1024
