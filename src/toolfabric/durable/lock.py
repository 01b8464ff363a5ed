"""Mutual exclusion between processes, held by an open descriptor.

The lock is the kernel's (``flock``): it ends with the process, however that ends, so there is no stale
lock to judge and no process number to trust. It works between descriptors, in one process too. The lock
file is left behind when released, because removing it would let two processes hold "the" lock on two files;
where its owner does remove it (a spool that was folded in), waiting processes notice and start again.

A child made by ``fork`` alone shares the lock until it ends; programs that are started do not.
On network file systems ``flock`` is only as good as the server.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio

from toolfabric.durable.atomic import storage_errors
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError
from toolfabric.protocols import FileOps

__all__ = ["FileLock"]

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})
_FIRST_WAIT: Final = 0.001
_LONGEST_WAIT: Final = 0.05
_REAL_FILES: Final = RealFiles()


class FileLock:
    """One exclusive lock on one path. An object is used by one thread and is not reentrant."""

    def __init__(self, path: Path, *, files: FileOps = _REAL_FILES) -> None:
        """Name the lock file; nothing is opened yet. Its folder must exist when it is acquired."""
        self._path = path
        self._files = files
        self._fd: int | None = None

    @property
    def path(self) -> Path:
        """The file that stands for the lock."""
        return self._path

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def acquire(self, *, blocking: bool = True) -> None:
        """Take the lock, waiting for it without a bound unless told otherwise.

        Raises:
            StorageError: The lock file cannot be opened, or the lock is taken and ``blocking`` is false.
            RuntimeError: This object holds it already.
        """
        if not self._take(blocking=blocking):
            msg = f"{str(self._path)!r} is locked by somebody else; try again when they have ended"
            raise StorageError(msg)

    def try_acquire(self) -> bool:
        """Take the lock if nobody has it; say whether it was taken.

        Raises:
            StorageError: The lock file cannot be opened.
            RuntimeError: This object holds it already.
        """
        return self._take(blocking=False)

    async def acquire_within(self, seconds: float) -> None:
        """Take the lock, waiting at most so long without blocking the event loop.

        Raises:
            StorageError: The lock file cannot be opened, or the time ran out.
            RuntimeError: This object holds it already.
        """
        pause = _FIRST_WAIT
        with anyio.move_on_after(seconds):
            while not self._take(blocking=False):
                await anyio.sleep(pause)
                pause = min(pause * 2, _LONGEST_WAIT)
        if not self.held:
            msg = f"{str(self._path)!r} is still locked by somebody else after {seconds:g} s"
            raise StorageError(msg)

    def release(self) -> None:
        """Give the lock up. Safe to call when it is not held."""
        fd, self._fd = self._fd, None
        if fd is not None:
            with storage_errors("unlock", self._path):
                self._files.close(fd)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _take(self, *, blocking: bool) -> bool:
        if self._fd is not None:
            msg = f"{str(self._path)!r} is already held by this lock"
            raise RuntimeError(msg)
        with storage_errors("lock", self._path):
            while True:
                fd = self._files.open(self._path, _FLAGS, 0o600)
                try:
                    taken = _flock(fd, blocking=blocking)
                    current = taken and _is_at(self._path, fd)
                except BaseException:
                    with contextlib.suppress(OSError):  # the first error is the one to tell
                        self._files.close(fd)
                    raise
                if current:
                    self._fd = fd
                    return True
                self._files.close(fd)
                if not taken:
                    return False


def _flock(fd: int, *, blocking: bool) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if blocking else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if not blocking and error.errno in _BUSY:
            return False
        raise
    return True


def _is_at(path: Path, fd: int) -> bool:
    """Whether the locked file still has its name; a removed one is locked for nobody else."""
    mine = os.fstat(fd)
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (found.st_dev, found.st_ino)
