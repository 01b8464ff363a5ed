"""Session files as the entropy commands find and read them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from toolfabric.cli.corpus import find_sessions, joined, read_json, read_sessions


def test_files_and_folders_are_found_once_in_order_without_spools(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "a.spool.jsonl", "note.txt", "deep/c.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    found = find_sessions([str(tmp_path), str(tmp_path / "a.jsonl")])
    assert [path.name for path in found] == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="nowhere"):
        find_sessions([str(tmp_path / "nowhere")])


def test_torn_and_foreign_lines_are_no_evidence(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type": "session"}\nnot json\n{"type": "mess')
    evidence = joined(list(read_sessions([path])))
    assert (evidence.traces, evidence.audit_calls) == ((), ())


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(click.UsageError):
        read_json(str(path))
