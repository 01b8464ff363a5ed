from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from toolfabric.durable.atomic import make_folders, remove_file, replace_file, sync_folder, write_all
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError
from toolfabric.testing.files import FaultyFiles, FileMethod, FullDisk, WatchedFiles

REAL = RealFiles()


def test_a_file_is_created_with_exactly_the_mode_asked_for_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        replace_file(tmp_path / "a", b"new", files=REAL, mode=0o664)
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o664


def test_an_existing_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old and much longer")
    replace_file(tmp_path / "a", b"new", files=REAL)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_an_empty_file_can_be_put_in_place(tmp_path: Path) -> None:
    replace_file(tmp_path / "a", b"", files=REAL)
    assert (tmp_path / "a").read_bytes() == b""


def test_a_reader_that_had_the_old_file_open_keeps_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with (tmp_path / "a").open("rb") as reader:
        replace_file(tmp_path / "a", b"new", files=REAL)
        assert reader.read() == b"old"


def test_a_link_is_replaced_and_its_target_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "a").symlink_to("target")
    replace_file(tmp_path / "a", b"ours", files=REAL)
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"theirs"


def test_a_name_of_the_greatest_length_can_be_replaced(tmp_path: Path) -> None:
    replace_file(tmp_path / ("n" * 255), b"new", files=REAL)
    assert (tmp_path / ("n" * 255)).read_bytes() == b"new"


def test_durable_replacement_syncs_content_before_the_rename_and_the_name_after_it(tmp_path: Path) -> None:
    order: list[str] = []

    class Noting(WatchedFiles):
        def _enter(self, method: FileMethod) -> None:
            order.append(method)

    replace_file(tmp_path / "a", b"new", files=Noting(REAL))
    assert order == ["open", "open", "write", "fchmod", "fsync", "close", "replace", "fsync", "close"]
    order.clear()
    replace_file(tmp_path / "a", b"new", files=Noting(REAL), durable=False)
    assert "fsync" not in order


def test_the_error_names_the_path_and_the_reason_and_keeps_its_cause(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"could not replace '.*gone/a': No such file") as raised:
        replace_file(tmp_path / "gone" / "a", b"new", files=REAL)
    assert isinstance(raised.value.__cause__, OSError)


def test_control_characters_of_a_path_do_not_reach_the_message(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as raised:
        replace_file(tmp_path / "\x1b[31m" / "a", b"new", files=REAL)
    assert "\x1b" not in str(raised.value)


def test_an_error_without_words_is_named_by_its_class(tmp_path: Path) -> None:
    files = FaultyFiles(REAL, on="replace", error=PermissionError())
    with pytest.raises(StorageError, match="PermissionError"):
        replace_file(tmp_path / "a", b"new", files=files)


def test_short_writes_are_continued(tmp_path: Path) -> None:
    class Short(WatchedFiles):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            return super().write(fd, memoryview(data)[:2])

    files = Short(REAL)
    replace_file(tmp_path / "a", b"12345", files=files)
    assert (tmp_path / "a").read_bytes() == b"12345"
    assert files.by_method["write"] == 3


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(StorageError, match="No space left"):
        replace_file(tmp_path / "a", b"new content", files=FullDisk(REAL, room=4))
    assert (tmp_path / "a").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_removing_says_whether_there_was_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    files = WatchedFiles(REAL)
    assert remove_file(tmp_path / "a", files=files)
    assert files.by_method["fsync"] == 1
    assert not (tmp_path / "a").exists()
    assert not remove_file(tmp_path / "a", files=REAL)
    assert not remove_file(tmp_path / "no folder" / "a", files=REAL)


def test_removing_without_durability_does_not_sync(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    files = WatchedFiles(REAL)
    assert remove_file(tmp_path / "a", files=files, durable=False)
    assert files.by_method["fsync"] == 0


def test_a_folder_is_not_removed_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="could not remove"):
        remove_file(tmp_path / "folder", files=REAL)
    assert (tmp_path / "folder").is_dir()


def test_missing_folders_are_made_private_and_durable_and_present_ones_are_kept(tmp_path: Path) -> None:
    files = WatchedFiles(REAL)
    make_folders(tmp_path / "a" / "b" / "c", files=files)
    assert (tmp_path / "a" / "b" / "c").is_dir()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert files.by_method == {"mkdir": 3, "open": 3, "fsync": 3, "close": 3}
    make_folders(tmp_path / "a" / "b" / "c", files=files)
    assert files.by_method["mkdir"] == 3


def test_a_folder_made_by_somebody_else_meanwhile_is_taken(tmp_path: Path) -> None:
    class Raced(WatchedFiles):
        def mkdir(
            self, path: str | os.PathLike[str], mode: int = 0o700, *, dir_fd: int | None = None
        ) -> None:
            Path(path).mkdir()
            super().mkdir(path, mode, dir_fd=dir_fd)

    make_folders(tmp_path / "a" / "b", files=Raced(REAL))
    assert (tmp_path / "a" / "b").is_dir()


def test_a_file_in_the_way_of_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(StorageError, match=r"could not make the folder '.*/a': File exists"):
        make_folders(tmp_path / "a" / "b", files=REAL)


def test_a_folder_that_cannot_be_looked_at_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"could not look at .* name too long"):
        make_folders(tmp_path / ("n" * 300) / "a", files=REAL)


def test_syncing_a_folder_that_is_gone_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not sync the folder"):
        sync_folder(tmp_path / "gone", files=REAL)


def test_write_all_reports_the_error_itself(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    try:
        with pytest.raises(OSError, match="No space") as raised:
            write_all(fd, b"123", files=FullDisk(REAL, room=1))
    finally:
        os.close(fd)
    assert raised.value.errno == errno.ENOSPC
    assert (tmp_path / "a").read_bytes() == b"1"
