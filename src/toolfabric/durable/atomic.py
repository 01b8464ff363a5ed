"""Replace, remove and make files so that a crash leaves the old state or the new one.

The order is SQLite's: write a sibling, sync it, rename it over the target, sync the folder. A name
that was renamed but whose folder was not synced may be the old one again after a power loss; content
that was not synced before the rename may be torn. A failed sync is never retried, because the kernel
may have dropped the dirty pages and report success the second time.

A process that is killed in between may leave one sibling behind, named ``.fabric-*.tmp``. It is never
read by anything.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

from toolfabric.errors import StorageError
from toolfabric.protocols import FileOps

__all__ = [
    "make_folders",
    "opened",
    "remove_file",
    "replace_file",
    "replace_in",
    "storage_errors",
    "sync_folder",
    "write_all",
]

_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_CREATE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(path: Path, data: bytes, *, files: FileOps, mode: int = 0o600, durable: bool = True) -> None:
    """Put a whole file in place in one step.

    A symbolic link at ``path`` is replaced itself; what it points to is left alone. The parent folder
    must exist and is opened once, so that exchanging it meanwhile gains nothing.

    Args:
        path: The file to create or replace.
        data: All of its content.
        files: The file system.
        mode: Its permission bits, whatever the umask is.
        durable: Whether it must survive a power loss once this returns.

    Raises:
        StorageError: It could not be done. ``path`` has its old content, or its new content when only
            the sync after the rename failed; no temporary file is left.
    """
    with storage_errors("replace", path), opened(path.parent, _FOLDER_FLAGS, files) as folder:
        replace_in(folder, path.name, data, files=files, mode=mode, durable=durable)


def replace_in(
    folder: int,
    name: str,
    data: bytes,
    *,
    files: FileOps,
    mode: int | None,
    durable: bool = True,
    check: Callable[[], None] = lambda: None,
) -> None:
    """As ``replace_file``, in a folder that is held open by a descriptor that can be synced.

    ``mode`` is ``None`` for the permission bits of any new file. ``check`` is called when all is ready;
    what it raises leaves everything as it was.

    Raises:
        OSError: Of the call that failed; the promise is that of ``replace_file``.
    """
    temporary = f".fabric-{secrets.token_hex(8)}.tmp"
    try:
        _write_new(temporary, data, files=files, mode=mode, folder=folder, durable=durable)
        check()
        files.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            files.unlink(temporary, dir_fd=folder)
        raise
    if durable:
        files.fsync(folder)


def remove_file(path: Path, *, files: FileOps, durable: bool = True) -> bool:
    """Remove a file; say whether there was one.

    Raises:
        StorageError: It could not be removed, or its absence could not be made durable.
    """
    with storage_errors("remove", path):
        try:
            with opened(path.parent, _FOLDER_FLAGS, files) as folder:
                files.unlink(path.name, dir_fd=folder)
                if durable:
                    files.fsync(folder)
        except FileNotFoundError:
            return False
    return True


def make_folders(path: Path, *, files: FileOps, mode: int = 0o700) -> None:
    """Make a folder and those of its parents that are missing, each durable; keep what is there.

    Raises:
        StorageError: One could not be made, or something that is not a folder is in the way.
    """
    for one in reversed(_missing_folders(path)):
        with storage_errors("make the folder", one):
            try:
                files.mkdir(one, mode)
            except FileExistsError:
                if not one.is_dir():
                    raise
                continue  # made by somebody else meanwhile
            sync_folder(one.parent, files=files)


def sync_folder(path: Path, *, files: FileOps) -> None:
    """Make the names in a folder survive a power loss.

    Raises:
        StorageError: The system did not confirm it.
    """
    with storage_errors("sync the folder", path), opened(path, _FOLDER_FLAGS, files) as folder:
        files.fsync(folder)


def write_all(fd: int, data: bytes, *, files: FileOps) -> None:
    """Write all bytes, in as many calls as the system takes.

    Raises:
        OSError: Of the call that failed; the bytes before it are written.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[files.write(fd, rest) :]


def _missing_folders(path: Path) -> list[Path]:
    missing: list[Path] = []
    with storage_errors("look at", path):
        for folder in (path, *path.parents):
            if folder.is_dir():
                break
            missing.append(folder)
    return missing


@contextlib.contextmanager
def storage_errors(what: str, path: Path) -> Generator[None]:
    """Turn an ``OSError`` into a ``StorageError`` that names the path and the reason."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        msg = f"could not {what} {str(path)!r}: {reason}"
        raise StorageError(msg) from error


def _write_new(
    name: str, data: bytes, *, files: FileOps, mode: int | None, folder: int, durable: bool
) -> None:
    asked = 0o666 if mode is None else 0o600
    with opened(name, _CREATE_FLAGS, files, mode=asked, dir_fd=folder) as fd:
        write_all(fd, data, files=files)
        if mode is not None:
            files.fchmod(fd, mode)
        if durable:
            files.fsync(fd)


@contextlib.contextmanager
def opened(
    path: Path | str, flags: int, files: FileOps, *, mode: int = 0o600, dir_fd: int | None = None
) -> Generator[int]:
    """Hold a descriptor; it is closed whatever happens, and the first error is the one that is raised."""
    fd = files.open(path, flags, mode, dir_fd=dir_fd)
    try:
        yield fd
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            files.close(fd)
        raise
    files.close(fd)
