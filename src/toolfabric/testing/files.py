"""File systems that fail, fill up or stop at a chosen call, over the real one.

All of them do real work on real files through the ``FileOps`` that they are given, so that what a test
then finds on disk is what the code under test left there::

    files = FaultyFiles(RealFiles(), fail_at=3)          # the third call of any kind fails with ENOSPC
    files = FaultyFiles(RealFiles(), on="fsync")         # every fsync fails
    files = FaultyFiles(RealFiles(), on="write", fail_at=2, error=OSError(errno.EIO, "I/O error"))
    files = FullDisk(RealFiles(), room=100)              # 100 bytes fit, then ENOSPC; short writes before
    files = CrashFiles(RealFiles(), stop_at=3)           # the process "dies" instead of making the third call

To go through all of them, run once with ``fail_at=None``, read ``calls``, and repeat for 1 up to that.

A power loss is more than a stop: it may undo whatever was not synced. ``CrashFiles.log`` holds every
change with the object it was made to, and ``unsynced(log)`` those of them that a power loss may undo, each
one alone, torn (a ``write``) or not at all. The rule is that of POSIX, not of one file system: content,
length and mode are safe after ``fsync`` of the file, and a name after ``fsync`` of its folder; a rename
is one step.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from toolfabric.protocols import FileOps

__all__ = [
    "CrashFiles",
    "Crashed",
    "FaultyFiles",
    "FileChange",
    "FileMethod",
    "FileObject",
    "FullDisk",
    "WatchedFiles",
    "unsynced",
]

FileMethod: TypeAlias = Literal[
    "open", "write", "fsync", "ftruncate", "fchmod", "close", "mkdir", "mkfifo", "replace", "unlink", "rmdir"
]
_Path: TypeAlias = "str | os.PathLike[str]"

_CONTENT: Final = frozenset[FileMethod]({"write", "ftruncate", "fchmod"})


class Crashed(BaseException):
    """The modelled process died. No ``except Exception`` of the code under test can swallow it."""


class WatchedFiles:
    """Passes every call on and counts it. The base of the others, and a probe of its own.

    ``calls`` is the number of calls so far, ``by_method`` the same for each method, and
    ``open_files`` the number of descriptors that were opened and not closed.
    """

    def __init__(self, real: FileOps) -> None:
        self._files = real
        self._open: set[int] = set()
        self.by_method: Counter[FileMethod] = Counter()

    @property
    def calls(self) -> int:
        """How many calls were made, those that failed included."""
        return self.by_method.total()

    @property
    def open_files(self) -> int:
        """How many descriptors are open."""
        return len(self._open)

    def _enter(self, method: FileMethod) -> None:
        """Count a call; a subclass may raise instead of letting it pass."""
        self.by_method[method] += 1

    def open(self, path: _Path, flags: int, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
        """As ``os.open``."""
        self._enter("open")
        fd = self._files.open(path, flags, mode, dir_fd=dir_fd)
        self._open.add(fd)
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """As ``os.write``."""
        self._enter("write")
        return self._files.write(fd, data)

    def fsync(self, fd: int) -> None:
        """As ``os.fsync``."""
        self._enter("fsync")
        self._files.fsync(fd)

    def ftruncate(self, fd: int, length: int) -> None:
        """As ``os.ftruncate``."""
        self._enter("ftruncate")
        self._files.ftruncate(fd, length)

    def fchmod(self, fd: int, mode: int) -> None:
        """As ``os.fchmod``."""
        self._enter("fchmod")
        self._files.fchmod(fd, mode)

    def close(self, fd: int) -> None:
        """As ``os.close``; a close that fails has closed the descriptor, as on Linux."""
        try:
            self._enter("close")
        finally:
            if fd in self._open:
                self._open.discard(fd)
                self._files.close(fd)

    def mkdir(self, path: _Path, mode: int = 0o700, *, dir_fd: int | None = None) -> None:
        """As ``os.mkdir``."""
        self._enter("mkdir")
        self._files.mkdir(path, mode, dir_fd=dir_fd)

    def mkfifo(self, path: _Path, mode: int = 0o600, *, dir_fd: int | None = None) -> None:
        """As ``os.mkfifo``."""
        self._enter("mkfifo")
        self._files.mkfifo(path, mode, dir_fd=dir_fd)

    def replace(
        self, src: _Path, dst: _Path, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """As ``os.replace``."""
        self._enter("replace")
        self._files.replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def unlink(self, path: _Path, *, dir_fd: int | None = None) -> None:
        """As ``os.unlink``."""
        self._enter("unlink")
        self._files.unlink(path, dir_fd=dir_fd)

    def rmdir(self, path: _Path, *, dir_fd: int | None = None) -> None:
        """As ``os.rmdir``."""
        self._enter("rmdir")
        self._files.rmdir(path, dir_fd=dir_fd)


class FaultyFiles(WatchedFiles):
    """Makes chosen calls fail without doing anything.

    With ``fail_at`` alone, the call of that number (from 1) fails; with ``on`` alone, every call of
    that method; with both, the call of that number among those of the method.
    """

    def __init__(
        self,
        real: FileOps,
        *,
        fail_at: int | None = None,
        on: FileMethod | None = None,
        error: OSError | None = None,
    ) -> None:
        super().__init__(real)
        self._fail_at = fail_at
        self._on: FileMethod | None = on
        self._error = error or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.failed = 0

    def _enter(self, method: FileMethod) -> None:
        super()._enter(method)
        if self._on not in {None, method} or (self._on is None and self._fail_at is None):
            return
        number = self.calls if self._on is None else self.by_method[method]
        if self._fail_at in {None, number}:
            self.failed += 1
            raise type(self._error)(*self._error.args)


class FullDisk(WatchedFiles):
    """Takes so many bytes in all; the write that passes the end is short, the next one fails."""

    def __init__(self, real: FileOps, *, room: int) -> None:
        super().__init__(real)
        self.room = room

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """As ``os.write`` on a disk that is filling up."""
        if data and not self.room:
            self._enter("write")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = super().write(fd, memoryview(data)[: self.room])
        self.room -= written
        return written


@dataclass(frozen=True, slots=True)
class FileObject:
    """A file or folder apart from its names; ``generation`` tells reuses of one inode apart.

    What was there before the first change has generation 0.
    """

    device: int
    inode: int
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One change that was made, or one ``fsync`` (which makes earlier changes safe).

    ``target`` is what was changed: the file of ``write``, ``ftruncate``, ``fchmod`` and ``fsync``, and
    the object whose name ``open`` (a creation), ``mkdir``, ``mkfifo``, ``replace``, ``unlink`` and
    ``rmdir`` made or removed. ``folder`` and ``name`` say where the name is, ``source`` where a renamed one
    was. ``number`` counts calls from 1.
    """

    number: int
    method: FileMethod
    target: FileObject
    folder: FileObject | None = None
    name: str = ""
    source: tuple[FileObject, str] | None = None
    data: bytes = b""
    offset: int = 0
    mode: int = 0


def unsynced(log: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Pick the changes that no later ``fsync`` made safe, in order."""
    pending: list[FileChange] = []
    for change in log:
        if change.method == "fsync":
            pending = [one for one in pending if not _made_safe(one, change.target)]
        else:
            pending.append(change)
    return tuple(pending)


def _made_safe(change: FileChange, synced: FileObject) -> bool:
    if change.method in _CONTENT:
        return change.target == synced
    return synced == change.folder or (change.source is not None and synced == change.source[0])


class CrashFiles(WatchedFiles):
    """Stops the modelled process at one call, and keeps a log of what was changed before.

    The call numbered ``stop_at`` (from 1) and every later one raise ``Crashed`` and do nothing; with
    ``torn``, a ``write`` that is stopped leaves the first half of its bytes. All descriptors are closed at
    that moment, so locks are released as the kernel would. ``stop_at=None`` only logs.
    """

    def __init__(self, real: FileOps, *, stop_at: int | None = None, torn: bool = False) -> None:
        super().__init__(real)
        self._stop_at = stop_at
        self._torn = torn
        self._generations: dict[tuple[int, int], int] = {}
        self.log: list[FileChange] = []
        self.stopped = False

    def _enter(self, method: FileMethod) -> None:
        super()._enter(method)
        if self._stop_at is None or self.calls < self._stop_at:
            return
        self.stopped = True
        while self._open:
            with contextlib.suppress(OSError):
                self._files.close(self._open.pop())
        raise Crashed

    def open(self, path: _Path, flags: int, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
        """As ``os.open``; a file that it creates is logged."""
        before = _stat(path, dir_fd)
        self._enter("open")
        fd = self._files.open(path, flags, mode, dir_fd=dir_fd)
        self._open.add(fd)
        if before is None and flags & os.O_CREAT:
            created = os.fstat(fd)
            self._log_name("open", self._born(created), path, dir_fd, mode=stat.S_IMODE(created.st_mode))
        elif flags & os.O_TRUNC:
            self._log("ftruncate", self._known(os.fstat(fd)))
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """As ``os.write``; logged with the place it went to."""
        if self._torn and self._stop_at == self.calls + 1:
            self._files.write(fd, memoryview(data)[: len(data) // 2])
        written = super().write(fd, data)
        offset = os.lseek(fd, 0, os.SEEK_CUR) - written
        self._log("write", self._known(os.fstat(fd)), data=bytes(data[:written]), offset=offset)
        return written

    def fsync(self, fd: int) -> None:
        """As ``os.fsync``; makes logged changes safe."""
        super().fsync(fd)
        self._log("fsync", self._known(os.fstat(fd)))

    def ftruncate(self, fd: int, length: int) -> None:
        """As ``os.ftruncate``; logged."""
        super().ftruncate(fd, length)
        self._log("ftruncate", self._known(os.fstat(fd)), offset=length)

    def fchmod(self, fd: int, mode: int) -> None:
        """As ``os.fchmod``; logged."""
        super().fchmod(fd, mode)
        self._log("fchmod", self._known(os.fstat(fd)), mode=mode)

    def mkdir(self, path: _Path, mode: int = 0o700, *, dir_fd: int | None = None) -> None:
        """As ``os.mkdir``; logged."""
        self._enter("mkdir")
        self._files.mkdir(path, mode, dir_fd=dir_fd)
        made = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
        self._log_name("mkdir", self._born(made), path, dir_fd, mode=stat.S_IMODE(made.st_mode))

    def mkfifo(self, path: _Path, mode: int = 0o600, *, dir_fd: int | None = None) -> None:
        """As ``os.mkfifo``; logged."""
        super().mkfifo(path, mode, dir_fd=dir_fd)
        made = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
        self._log_name("mkfifo", self._born(made), path, dir_fd, mode=stat.S_IMODE(made.st_mode))

    def replace(
        self, src: _Path, dst: _Path, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """As ``os.replace``; logged as one step."""
        source = (self._folder(src, src_dir_fd), Path(src).name)
        self._enter("replace")
        self._files.replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        moved = self._known(os.stat(dst, dir_fd=dst_dir_fd, follow_symlinks=False))
        self._log_name("replace", moved, dst, dst_dir_fd, source=source)

    def unlink(self, path: _Path, *, dir_fd: int | None = None) -> None:
        """As ``os.unlink``; logged."""
        found = _stat(path, dir_fd)
        self._enter("unlink")
        self._files.unlink(path, dir_fd=dir_fd)
        if found is not None:
            self._log_name("unlink", self._known(found), path, dir_fd)

    def rmdir(self, path: _Path, *, dir_fd: int | None = None) -> None:
        """As ``os.rmdir``; logged."""
        found = _stat(path, dir_fd)
        self._enter("rmdir")
        self._files.rmdir(path, dir_fd=dir_fd)
        if found is not None:
            self._log_name("rmdir", self._known(found), path, dir_fd)

    def _known(self, found: os.stat_result) -> FileObject:
        key = (found.st_dev, found.st_ino)
        return FileObject(*key, self._generations.get(key, 0))

    def _born(self, found: os.stat_result) -> FileObject:
        key = (found.st_dev, found.st_ino)
        self._generations[key] = self._generations.get(key, 0) + 1
        return self._known(found)

    def _folder(self, path: _Path, dir_fd: int | None) -> FileObject:
        parent = Path(path).parent
        return self._known(os.stat(parent, dir_fd=dir_fd))

    def _log(
        self, method: FileMethod, target: FileObject, *, data: bytes = b"", offset: int = 0, mode: int = 0
    ) -> None:
        self.log.append(
            FileChange(number=self.calls, method=method, target=target, data=data, offset=offset, mode=mode)
        )

    def _log_name(
        self,
        method: FileMethod,
        target: FileObject,
        path: _Path,
        dir_fd: int | None,
        *,
        source: tuple[FileObject, str] | None = None,
        mode: int = 0,
    ) -> None:
        self.log.append(
            FileChange(
                number=self.calls,
                method=method,
                target=target,
                folder=self._folder(path, dir_fd),
                name=Path(path).name,
                source=source,
                mode=mode,
            )
        )


def _stat(path: _Path, dir_fd: int | None) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
