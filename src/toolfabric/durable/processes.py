"""Run one program to its end: bounded in time and output, and gone as a whole afterwards.

A program gets a session and a process group of its own, no standard input, and one pipe for both output
streams. Whatever ends it - its own exit, the time limit, the caller's cancellation - the whole group is
killed before this returns, so that nothing it started goes on changing files.

Invariants:

1. The group is signaled only while its leader has not been reaped: as long as the leader is at least a
   zombie, its number cannot belong to a stranger.
2. Every byte of output is in the digest and in the count; at most ``max_output`` bytes are kept, half of
   them from each end.
3. Output is waited for only briefly once the group is dead: a process that left the group (``setsid``) and
   still holds the pipe cannot hold up the caller. Such a process is not killed; that is the limit here.

It is not a sandbox, and it decides nothing about which programs may run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio

__all__ = ["CommandResult", "run_bounded"]

_CHUNK: Final = 64 * 1024
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.02
_DRAIN_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a program ended and what it printed.

    ``exit_code`` is ``None`` when a signal ended it; ``signal`` is then its number. ``head`` and
    ``tail`` are the kept output, adjoining when ``dropped_bytes`` is 0; ``total_bytes`` and
    ``sha256`` (hexadecimal) are of all output.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    head: bytes
    tail: bytes
    dropped_bytes: int
    total_bytes: int
    sha256: str

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with exit code 0, in time."""
        return self.exit_code == 0 and not self.timed_out

    def text(self) -> str:
        """The kept output as text, with a line that says how much is missing in between."""
        if not self.dropped_bytes:
            return (self.head + self.tail).decode("utf-8", "replace")
        cut = f"\n[... {self.dropped_bytes} bytes left out ...]\n"
        return self.head.decode("utf-8", "replace") + cut + self.tail.decode("utf-8", "replace")


async def run_bounded(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None,
    timeout: float | None,  # noqa: ASYNC109 - an outcome of its own, not a cancellation
    max_output: int,
    observe: Callable[[bytes], None] | None = None,
) -> CommandResult:
    """Run a program in its own process group and wait for its end.

    Args:
        command: The program and its arguments; no shell reads them.
        cwd: The folder it starts in.
        env: Its whole environment, or ``None`` for the host's own.
        timeout: Seconds it may take; then its whole group is killed and ``timed_out`` is set.
        max_output: Bytes of output that are kept.
        observe: Gets every chunk of output as it arrives; what it raises ends the program.

    Raises:
        OSError: The program could not be started.
        ValueError: An argument holds a NUL byte, or the command is empty.
        asyncio.CancelledError: The caller was cancelled; the group is dead.
    """
    if not command:
        msg = "the command is empty; give a program to run"
        raise ValueError(msg)
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - exec is awaited by the pipe below; no shell, argv as given
        list(command),
        cwd=cwd,
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with _Output(process, max_output, observe) as output:
        try:
            timed_out = not await _ends_within(process.pid, timeout, output)
        finally:
            _kill_group(process.pid)
            try:
                with anyio.CancelScope(shield=True):
                    await _ended(process.pid)
            finally:
                code = process.wait()  # the leader is dead or dying: this is the reaping, not the waiting
        await output.drained(_DRAIN_SECONDS)
        return output.result(code, timed_out=timed_out)


async def _ends_within(pid: int, seconds: float | None, output: _Output) -> bool:
    with anyio.move_on_after(seconds):
        await _ended(pid, output)
        return True
    return False


async def _ended(pid: int, output: _Output | None = None) -> None:
    """Wait until the leader is a zombie, leaving it one."""
    pause = _FIRST_PAUSE
    while _still_runs(pid):
        await anyio.sleep(pause)
        if output is not None:
            output.reraise()
        pause = min(pause * 2, _LONGEST_PAUSE)


def _still_runs(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _kill_group(pid: int) -> None:
    # No such group: nobody is left in it. Not permitted: macOS says so of a group of zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class _Output:
    """Reads the pipe from the event loop: all of it counted and hashed, both ends kept."""

    def __init__(
        self, process: subprocess.Popen[bytes], room: int, observe: Callable[[bytes], None] | None
    ) -> None:
        pipe = process.stdout
        if pipe is None:
            msg = "the program was started without a pipe for its output"
            raise RuntimeError(msg)
        self._pipe = pipe
        self._observe = observe
        self._error: BaseException | None = None
        self._ended = asyncio.Event()
        self._digest = hashlib.sha256()
        self._total = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._head_room = (room + 1) // 2
        self._tail_room = room // 2

    def __enter__(self) -> Self:
        os.set_blocking(self._pipe.fileno(), False)
        asyncio.get_running_loop().add_reader(self._pipe.fileno(), self._readable)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._pipe.close()

    def reraise(self) -> None:
        """Tell the caller what the observer raised."""
        if self._error is not None:
            raise self._error

    async def drained(self, seconds: float) -> None:
        """Wait for the end of the pipe, but not for ever."""
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        self.reraise()

    def result(self, code: int, *, timed_out: bool) -> CommandResult:
        """Everything there is to say; ``code`` is that of ``subprocess``."""
        return CommandResult(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=timed_out,
            head=bytes(self._head),
            tail=bytes(self._tail),
            dropped_bytes=self._total - len(self._head) - len(self._tail),
            total_bytes=self._total,
            sha256=self._digest.hexdigest(),
        )

    def _readable(self) -> None:
        try:
            chunk = os.read(self._pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._stop()
            return
        self._keep(chunk)
        if self._observe is not None and self._error is None:
            try:
                self._observe(chunk)
            except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
                self._error = error

    def _keep(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._total += len(chunk)
        taken = min(self._head_room - len(self._head), len(chunk))
        self._head += chunk[:taken]
        self._tail += chunk[taken:]
        del self._tail[: max(0, len(self._tail) - self._tail_room)]

    def _stop(self) -> None:
        if not self._ended.is_set():
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._ended.set()
