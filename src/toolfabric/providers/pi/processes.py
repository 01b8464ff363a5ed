"""A program in a session of its own, its output bounded, killed whole.

The program gets a new session, which is a process group too. When it ends, runs out of time or is cancelled,
everything of the session and everything that descends from the program is killed; a background process
that made a session of its own *and* lost its parent is out of reach. Nobody waits for the pipe to be
closed: a grandchild may hold it for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

__all__ = ["Ended", "Output", "run_program"]

_BLOCK: Final = 64 * 1024
_DRAINED: Final = 1024 * 1024
_POLL_SECONDS: Final = 0.02
_REAP_SECONDS: Final = 5.0
_ROUNDS: Final = 8
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended. ``code`` is negative for a signal, and ``None`` when it ran out of time."""

    code: int | None
    text: str
    omitted: int


class Output:
    """Both ends of what was printed, in bounded memory, and how many bytes are missing between them."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.omitted = 0

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(0, room) :]
        over = len(self._tail) - self._half
        if over > 0:
            del self._tail[:over]
            self.omitted += over

    def text(self) -> str:
        """The text, with a mark where something is missing. What is not UTF-8 becomes the mark for that."""
        if not self.omitted:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        head = _whole_characters(bytes(self._head)).decode("utf-8", "replace")
        tail = bytes(self._tail).lstrip(bytes(range(0x80, 0xC0))).decode("utf-8", "replace")
        return f"{head}\n…[{self.omitted} bytes left out]…\n{tail}"


async def run_program(
    command: Sequence[str],
    *,
    cwd: Path,
    limit: int,
    timeout: float | None = None,  # noqa: ASYNC109 - the group is killed before this returns
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program to its end, with nothing to read and both outputs as one.

    Args:
        command: The program and its arguments.
        cwd: Where it runs.
        limit: How many bytes of output to keep.
        timeout: Seconds after which it is killed.
        env: Its environment; the host's own by default.

    Raises:
        OSError: It could not be started.
        ValueError: The command holds a NUL character.
    """
    output = Output(limit)
    read_end, write_end = os.pipe()
    try:
        # Starting takes a millisecond; nothing here waits for the program.
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - running what was allowed is the purpose
            command,
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    return await _attend(process, read_end, output, timeout)


async def _attend(
    process: subprocess.Popen[bytes], read_end: int, output: Output, seconds: float | None
) -> Ended:
    loop = asyncio.get_running_loop()
    os.set_blocking(read_end, False)
    loop.add_reader(read_end, _take, read_end, output)
    try:
        with anyio.move_on_after(seconds) as limit:
            await _exited(process)
    finally:
        loop.remove_reader(read_end)
        try:
            _kill_all(process)
            with anyio.CancelScope(shield=True):
                await _reap(process)
            _drain(read_end, output)
        finally:
            os.close(read_end)
    code = None if limit.cancelled_caught else process.returncode
    return Ended(code=code, text=output.text(), omitted=output.omitted)


def _take(read_end: int, output: Output) -> None:
    """Read once, from the event loop. At the end of the pipe there is nothing to wait for any more."""
    try:
        data = os.read(read_end, _BLOCK)
    except BlockingIOError:
        return
    if data:
        output.add(data)
    else:
        asyncio.get_running_loop().remove_reader(read_end)


def _drain(read_end: int, output: Output) -> None:
    """Take what is in the pipe. It holds no more than this, unless somebody still writes."""
    taken = 0
    with contextlib.suppress(BlockingIOError):
        while taken < _DRAINED and (data := os.read(read_end, _BLOCK)):
            output.add(data)
            taken += len(data)


async def _exited(process: subprocess.Popen[bytes]) -> None:
    """Wait for the program, without reaping it where the system has descriptors for that.

    A process that was not reaped keeps its number, so that what is killed afterwards is surely its own.
    """
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        while not _has_ended(process):  # noqa: ASYNC110 - there is nothing to be woken by
            await anyio.sleep(_POLL_SECONDS)
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


async def _reap(process: subprocess.Popen[bytes]) -> None:
    """Collect a program that was killed; one that the kernel will not end is left to it."""
    with anyio.move_on_after(_REAP_SECONDS):
        while process.poll() is None:
            await _exited(process)


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever belongs to a program, stopping it all first so that nothing can be started meanwhile.

    Whatever loses its parent is no descendant any more, so nothing may die before all were found.
    """
    _signal(os.killpg, process.pid, signal.SIGSTOP)
    found: set[int] = set()
    if process.returncode is None:  # else it was reaped, and its number may be another's by now
        for _ in range(_ROUNDS):
            more = set(_belonging_to(process.pid)) - found
            if not more:
                break
            found |= more
            for pid in more:
                _signal(os.kill, pid, signal.SIGSTOP)
    _signal(os.killpg, process.pid, signal.SIGKILL)
    for pid in found:
        _signal(os.kill, pid, signal.SIGKILL)


def _signal(send: Callable[[int, int], None], target: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, number)


def _belonging_to(leader: int) -> list[int]:
    """Living processes of the leader's session or descent, where the system lists processes."""
    rows = list(_rows())
    parents = {pid: parent for pid, parent, _ in rows}
    return [
        pid
        for pid, _, session in rows
        if pid != leader and (session == leader or _descends(pid, leader, parents))
    ]


def _rows() -> list[tuple[int, int, int]]:
    """Process, parent and session of every process that is not a zombie."""
    rows: list[tuple[int, int, int]] = []
    if not _PROC.is_dir():
        return rows
    for name in os.listdir(_PROC):  # noqa: PTH208 - names alone, and many
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The second field is a name in parentheses that may hold anything.
            fields = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] not in {b"Z", b"X"}:
                rows.append((int(name), int(fields[1]), int(fields[3])))
    return rows


def _descends(pid: int, leader: int, parents: Mapping[int, int]) -> bool:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
        if pid == leader:
            return True
    return False


def _whole_characters(data: bytes) -> bytes:
    """Without a last UTF-8 character of which only the beginning is there."""
    for back in range(1, min(4, len(data)) + 1):
        lead = data[-back]
        if lead < 0x80:  # noqa: PLR2004 - a character of one byte
            return data
        if lead >= 0xC0:  # noqa: PLR2004 - the first byte of a longer one
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4  # noqa: PLR2004
            return data if back >= length else data[:-back]
    return data
