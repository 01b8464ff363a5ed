from __future__ import annotations

import os
from pathlib import Path

from toolfabric.durable.fileops import RealFiles
from toolfabric.protocols import FileOps


def test_a_file_is_made_written_cut_and_closed(tmp_path: Path) -> None:
    files: FileOps = RealFiles()
    fd = files.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    assert files.write(fd, b"hello") == 5
    files.ftruncate(fd, 4)
    files.fchmod(fd, 0o640)
    files.fsync(fd)
    files.close(fd)
    assert (tmp_path / "a").read_bytes() == b"hell"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_names_are_made_moved_and_removed_relative_to_an_open_folder(tmp_path: Path) -> None:
    files: FileOps = RealFiles()
    folder = files.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    files.mkdir("inside", dir_fd=folder)
    files.mkfifo("pipe", dir_fd=folder)
    assert (tmp_path / "pipe").is_fifo()
    files.unlink("pipe", dir_fd=folder)
    files.close(files.open("a", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    files.replace("a", "b", src_dir_fd=folder, dst_dir_fd=folder)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b", "inside"]
    files.unlink("b", dir_fd=folder)
    files.rmdir("inside", dir_fd=folder)
    files.close(folder)
    assert list(tmp_path.iterdir()) == []


def test_descriptors_and_new_files_are_private(tmp_path: Path) -> None:
    files: FileOps = RealFiles()
    fd = files.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    files.mkdir(tmp_path / "folder")
    assert not os.get_inheritable(fd)
    files.close(fd)
    assert (tmp_path / "a").stat().st_mode & 0o077 == 0
    assert (tmp_path / "folder").stat().st_mode & 0o077 == 0
