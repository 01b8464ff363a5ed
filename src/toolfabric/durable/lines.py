"""Append whole lines to a file and read them back, across crashes.

A line is acknowledged when ``append`` returns: it then stands in the file with its newline. Bytes after
the last newline were never acknowledged; they are a torn tail, which readers leave out and the next
writer repairs:

- a file with one writer (the default) is cut back to its last newline;
- a file with several writers is never cut, because the tail may be a line that another process is
  writing: the tail is ended with a newline, so that what follows stands on a line of its own.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from toolfabric.durable.atomic import storage_errors, sync_folder
from toolfabric.errors import StorageError
from toolfabric.protocols import FileOps

__all__ = ["LineWriter", "read_lines"]

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK: Final = 64 * 1024


class LineWriter:
    """Appends lines, each with one ``write``, so that lines of several processes never mix.

    Its invariants:

    1. Whatever fails, lines acknowledged before stay as they are.
    2. A failed ``append`` leaves nothing of its line, or (several writers, or when cutting it off
       failed too) a fragment that the next ``append`` closes off.
    3. After a failed sync nothing more is written: nobody knows what the disk holds. Open it anew.

    Not for use by several threads at once.
    """

    def __init__(self, path: Path, *, files: FileOps, sync: bool = False, shared: bool = False) -> None:
        """Open the file, creating it (mode 0600) if there is none, and repair a torn tail.

        Args:
            path: The file; its folder must exist, and it must not be a symbolic link.
            files: The file system.
            sync: Whether every line must survive a power loss once ``append`` returns.
            shared: Whether other processes append to it at the same time.

        Raises:
            StorageError: The file could not be opened or repaired.
        """
        self._path = path
        self._files = files
        self._sync = sync
        self._shared = shared
        self._torn = False
        self._fd: int | None = None
        with storage_errors("open", path):
            fd = files.open(path, _FLAGS, 0o600)
            try:
                self._prepare(fd)
            except BaseException:
                with contextlib.suppress(OSError):  # the first error is the one to tell
                    files.close(fd)
                raise
        self._fd = fd

    @property
    def path(self) -> Path:
        """Where the lines go."""
        return self._path

    def append(self, line: bytes) -> None:
        """Append one line; the newline is added here.

        Raises:
            ValueError: The line has a newline in it.
            StorageError: It could not be written; see the invariants. Or the writer is closed.
        """
        if b"\n" in line:
            msg = "a line holds a newline; encode it before it is appended"
            raise ValueError(msg)
        fd = self._fd
        if fd is None:
            msg = f"could not append to {str(self._path)!r}: it was closed, or its last sync failed"
            raise StorageError(msg)
        with storage_errors("append to", self._path):
            self._write(fd, line + b"\n")
            if self._sync:
                self._synced(fd)

    def close(self) -> None:
        """Close the file. Safe to call twice.

        Raises:
            StorageError: The system reported a late error.
        """
        fd, self._fd = self._fd, None
        if fd is not None:
            with storage_errors("close", self._path):
                self._files.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepare(self, fd: int) -> None:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            msg = f"could not open {str(self._path)!r}: it is not a regular file; move it away"
            raise StorageError(msg)
        if found.st_size == 0 and self._sync:
            sync_folder(self._path.parent, files=self._files)
        kept = _end_of_last_line(fd, found.st_size)
        if kept == found.st_size:
            return
        if self._shared:
            self._torn = True
            return
        self._files.ftruncate(fd, kept)
        if self._sync:
            self._files.fsync(fd)

    def _write(self, fd: int, data: bytes) -> None:
        if self._torn:
            data = b"\n" + data
        before = None if self._shared else os.fstat(fd).st_size
        written = self._files.write(fd, data)
        if written == len(data):
            self._torn = False
            return
        if written:
            self._torn = True
        if before is not None:
            self._files.ftruncate(fd, before)
            self._torn = False
        msg = f"could not append to {str(self._path)!r}: only {written} of {len(data)} bytes were taken"
        raise StorageError(msg)

    def _synced(self, fd: int) -> None:
        try:
            self._files.fsync(fd)
        except BaseException:
            with contextlib.suppress(OSError, StorageError):  # the first error is the one to tell
                self.close()
            raise


def read_lines(
    path: Path, *, max_line_bytes: int, skipped: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """Yield the whole lines of a file without their newlines, never holding more than one.

    A torn tail is left out, and so are empty lines, which a repair may leave. A line longer than
    ``max_line_bytes`` is passed over; ``skipped`` is called with its number, counted from 1.

    Raises:
        StorageError: The file cannot be opened or read.
    """
    with storage_errors("read", path), path.open("rb") as source:
        number = 0
        while head := source.readline(max_line_bytes + 1):
            number += 1
            if head.endswith(b"\n"):
                if len(head) > 1:
                    yield head[:-1]
                continue
            rest = head
            while rest and not rest.endswith(b"\n"):
                rest = source.readline(_BLOCK)
            if rest and skipped is not None:
                skipped(number)


def _end_of_last_line(fd: int, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - _BLOCK)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
