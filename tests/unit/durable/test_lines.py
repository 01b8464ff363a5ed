from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lines import LineWriter, read_lines
from toolfabric.errors import StorageError
from toolfabric.testing.files import FaultyFiles, FullDisk, WatchedFiles

REAL = RealFiles()


def lines_of(path: Path) -> list[bytes]:
    return list(read_lines(path, max_line_bytes=1_000_000))


def test_lines_come_back_in_order_and_the_file_is_private(tmp_path: Path) -> None:
    with LineWriter(tmp_path / "a", files=REAL) as writer:
        writer.append(b"one")
        writer.append("zwei é".encode())
        assert writer.path == tmp_path / "a"
    with LineWriter(tmp_path / "a", files=REAL) as writer:
        writer.append(b"three")
    assert lines_of(tmp_path / "a") == [b"one", "zwei é".encode(), b"three"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_line_is_in_the_file_when_append_returns_and_is_one_write(tmp_path: Path) -> None:
    files = WatchedFiles(REAL)
    with LineWriter(tmp_path / "a", files=files) as writer:
        writer.append(b"one")
        assert (tmp_path / "a").read_bytes() == b"one\n"
        assert files.by_method["write"] == 1
        assert files.by_method["fsync"] == 0


def test_a_synced_writer_syncs_the_new_name_and_each_line(tmp_path: Path) -> None:
    files = WatchedFiles(REAL)
    with LineWriter(tmp_path / "a", files=files, sync=True) as writer:
        assert files.by_method["fsync"] == 1
        writer.append(b"one")
        writer.append(b"two")
        assert files.by_method["fsync"] == 3


@pytest.mark.parametrize("head", [b"", b"one\n", b"one\ntwo\n"])
@pytest.mark.parametrize("tail", [b"t", b"torn" * 50_000])
def test_a_torn_tail_is_cut_before_the_next_line(tmp_path: Path, head: bytes, tail: bytes) -> None:
    (tmp_path / "a").write_bytes(head + tail)
    with LineWriter(tmp_path / "a", files=REAL) as writer:
        assert (tmp_path / "a").read_bytes() == head
        writer.append(b"next")
    assert (tmp_path / "a").read_bytes() == head + b"next\n"


def test_a_synced_writer_syncs_its_repair(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\nto")
    files = WatchedFiles(REAL)
    LineWriter(tmp_path / "a", files=files, sync=True).close()
    assert files.by_method["fsync"] == 1


def test_a_shared_file_is_never_cut_and_a_torn_tail_gets_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\nto")
    files = WatchedFiles(REAL)
    with LineWriter(tmp_path / "a", files=files, shared=True) as writer:
        assert (tmp_path / "a").read_bytes() == b"one\nto"
        writer.append(b"three")
        writer.append(b"four")
    assert (tmp_path / "a").read_bytes() == b"one\nto\nthree\nfour\n"
    assert files.by_method["ftruncate"] == 0


def test_a_newline_in_a_line_is_refused(tmp_path: Path) -> None:
    with LineWriter(tmp_path / "a", files=REAL) as writer, pytest.raises(ValueError, match="newline"):
        writer.append(b"one\ntwo")
    assert (tmp_path / "a").read_bytes() == b""


def test_a_closed_writer_refuses_and_closing_twice_is_nothing(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a", files=REAL)
    writer.close()
    writer.close()
    with pytest.raises(StorageError, match="closed"):
        writer.append(b"one")


def test_a_full_disk_leaves_the_lines_before_and_the_writer_usable(tmp_path: Path) -> None:
    files = FullDisk(REAL, room=6)
    with LineWriter(tmp_path / "a", files=files) as writer:
        writer.append(b"one")
        with pytest.raises(StorageError, match=r"only 2 of 6 bytes"):
            writer.append(b"three")
        assert (tmp_path / "a").read_bytes() == b"one\n"
        with pytest.raises(StorageError, match="No space left"):
            writer.append(b"three")
        files.room = 100
        writer.append(b"four")
    assert lines_of(tmp_path / "a") == [b"one", b"four"]


def test_a_full_disk_under_a_shared_file_leaves_a_fragment_on_a_line_of_its_own(tmp_path: Path) -> None:
    files = FullDisk(REAL, room=6)
    with LineWriter(tmp_path / "a", files=files, shared=True) as writer:
        writer.append(b"one")
        with pytest.raises(StorageError, match=r"only 2 of 6 bytes"):
            writer.append(b"three")
        files.room = 100
        writer.append(b"four")
    assert lines_of(tmp_path / "a") == [b"one", b"th", b"four"]


def test_a_fragment_that_cannot_be_cut_off_does_not_spoil_the_next_line(tmp_path: Path) -> None:
    files = FaultyFiles(FullDisk(REAL, room=2), on="ftruncate")
    with LineWriter(tmp_path / "a", files=files) as writer:
        with pytest.raises(StorageError):
            writer.append(b"three")
        files._files = REAL
        writer.append(b"four")
    assert lines_of(tmp_path / "a") == [b"th", b"four"]


def test_after_a_failed_sync_nothing_more_is_written(tmp_path: Path) -> None:
    files = FaultyFiles(REAL, on="fsync", fail_at=3, error=OSError(errno.EIO, "I/O error"))
    writer = LineWriter(tmp_path / "a", files=files, sync=True)
    writer.append(b"one")
    with pytest.raises(StorageError, match="I/O error"):
        writer.append(b"two")
    with pytest.raises(StorageError, match="sync failed"):
        writer.append(b"three")
    assert files.open_files == 0
    assert lines_of(tmp_path / "a")[0] == b"one"


def test_what_is_not_a_plain_file_is_refused_without_hanging(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="not a regular file"):
        LineWriter(tmp_path / "pipe", files=REAL)
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(StorageError, match="symbolic links"):
        LineWriter(tmp_path / "link", files=REAL)
    with pytest.raises(StorageError, match="No such file"):
        LineWriter(tmp_path / "gone" / "a", files=REAL)


def test_a_torn_tail_and_empty_lines_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n\n\r\ntwo\nto")
    assert lines_of(tmp_path / "a") == [b"one", b"\r", b"two"]


def test_an_empty_file_has_no_lines_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert lines_of(tmp_path / "a") == []
    with pytest.raises(StorageError, match="could not read"):
        lines_of(tmp_path / "gone")


def test_lines_past_the_bound_are_passed_over_and_told(tmp_path: Path) -> None:
    skipped: list[int] = []
    (tmp_path / "a").write_bytes(b"12345\n123456\n" + b"x" * 200_000 + b"\nend\n" + b"x" * 200_000)
    read = list(read_lines(tmp_path / "a", max_line_bytes=5, skipped=skipped.append))
    assert read == [b"12345", b"end"]
    assert skipped == [2, 3]
    assert list(read_lines(tmp_path / "a", max_line_bytes=5)) == read


@given(content=st.lists(st.sampled_from([b"a", b"\n", b"bc", b"\n\n"]), max_size=30).map(b"".join))
def test_any_bytes_are_repaired_to_their_whole_lines(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(content)
    with LineWriter(path, files=REAL) as writer:
        writer.append(b"end")
    whole = content[: content.rfind(b"\n") + 1]
    assert path.read_bytes() == whole + b"end\n"
    assert lines_of(path) == [one for one in whole.split(b"\n") if one] + [b"end"]
