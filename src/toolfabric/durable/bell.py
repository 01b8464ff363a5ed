"""Wake those who wait for a change, in any process, without anybody looking again and again.

Whoever waits keeps a named pipe in a shared folder; whoever changed something writes a byte into every pipe
there. A pipe that nobody reads any more tells so when it is opened, and is removed: its owner was killed.

A ring can be missed: its sender may be killed between the change and the ring. So a wait ends after
``RECHECK_SECONDS`` at the latest, and whoever waits looks for itself. Where a file system takes no named
pipes, waits are short instead.

It carries no data, and it says nothing about what changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from toolfabric.durable.atomic import make_folders
from toolfabric.errors import StorageError
from toolfabric.protocols import FileOps

__all__ = ["RECHECK_SECONDS", "Bell"]

RECHECK_SECONDS: Final = 1.0
_WITHOUT_PIPES_SECONDS: Final = 0.05
_RING_FLAGS: Final = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# Reading and writing, so that the last ringer's leaving is no end of file, which would wake without end.
_LISTEN_FLAGS: Final = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_DRAINED_BYTES: Final = 64 * 1024


class Bell:
    """Rings for everybody who listens at the same folder.

    ``ring`` may be called from any thread. The rest belongs to one event loop; ``close`` may be called
    when that loop is gone.
    """

    def __init__(self, folder: Path, *, files: FileOps) -> None:
        """Name the folder; nothing is made until somebody listens."""
        self._folder = folder
        self._files = files
        self._pipe: Path | None = None
        self._fd: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        self._count = 0
        self._closed = False

    def ring(self) -> None:
        """Wake everybody who listens now; never fails, because nobody depends on it alone."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - done at every commit, and names are all it needs
        except OSError:
            return  # nobody has ever listened here
        for name in names:
            if not name.startswith("."):
                self._ring_one(self._folder / name)

    def listen(self) -> int:
        """Begin to listen, if need be, and give the mark from which ``changed`` counts.

        Take the mark before looking at what may change; then no change can fall in between.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop and not self._closed:
            if self._loop is not None and not self._loop.is_closed():
                msg = "one bell is listened to from one event loop; make another for another loop"
                raise RuntimeError(msg)
            self._release()
            self._open(loop)
            self._loop = loop
        return self._count

    async def changed(self, mark: int, seconds: float) -> None:
        """Wait until the bell has rung since the mark, or for so long, or until it is time to look anyway."""
        longest = RECHECK_SECONDS if self._fd is not None else _WITHOUT_PIPES_SECONDS
        rung = asyncio.Event()
        if self._count != mark:
            return
        self._waiting.add(rung)
        try:
            async with asyncio.timeout(min(seconds, longest)):
                await rung.wait()
        except TimeoutError:
            return
        finally:
            self._waiting.discard(rung)

    def close(self) -> None:
        """Stop listening for good, and end all waits. Safe to call twice."""
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            for one in self._waiting:
                one.set()
        self._release()

    def _release(self) -> None:
        loop, self._loop = self._loop, None
        fd, self._fd = self._fd, None
        pipe, self._pipe = self._pipe, None
        if fd is not None:
            if loop is not None and not loop.is_closed():
                loop.remove_reader(fd)
            self._files.close(fd)
        if pipe is not None:
            with contextlib.suppress(OSError):  # a ringer took it for abandoned
                self._files.unlink(pipe)

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        name = secrets.token_hex(8)
        made, pipe = self._folder / f".{name}", self._folder / name
        try:
            make_folders(self._folder, files=self._files)
            self._files.mkfifo(made)
        except (OSError, StorageError):
            return  # no pipes here: waits are short instead
        # Nobody rings at a name with a dot: a pipe that has no reader yet would look abandoned.
        fd = None
        try:
            fd = self._files.open(made, _LISTEN_FLAGS)
            self._files.replace(made, pipe)
        except OSError:
            with contextlib.suppress(OSError):
                self._files.unlink(made)
            if fd is not None:
                self._files.close(fd)
            return
        self._fd, self._pipe = fd, pipe
        loop.add_reader(fd, self._rung)

    def _rung(self) -> None:
        if self._fd is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._fd, _DRAINED_BYTES)
        self._count += 1
        for one in self._waiting:
            one.set()

    def _ring_one(self, pipe: Path) -> None:
        try:
            fd = self._files.open(pipe, _RING_FLAGS)
        except OSError as error:
            if error.errno == errno.ENXIO:
                with contextlib.suppress(OSError):  # somebody else removed it
                    self._files.unlink(pipe)
            return
        with contextlib.suppress(OSError):  # a full pipe has woken its owner already
            try:
                if stat.S_ISFIFO(os.fstat(fd).st_mode):  # a planted file must not get our byte
                    self._files.write(fd, b"\0")
            finally:
                self._files.close(fd)
