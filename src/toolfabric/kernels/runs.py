"""What the two sides of one run share, and how the loop's side ends it."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue

from toolfabric.kernels.desk import Answer, Desk
from toolfabric.kernels.names import Namespace
from toolfabric.kernels.survey import Survey
from toolfabric.protocols import FaultKind, Limits, Program

__all__ = ["Ended", "Left", "Run"]


class Ended(Exception):  # noqa: N818 -- not an error of ours: somebody ended the run
    """The run was ended from outside."""


@dataclass(frozen=True, slots=True)
class Left:
    """A call that the program made and has not taken the answer of; ``mark`` is for ``Places``."""

    ref: str
    mark: int | None


@dataclass(slots=True, eq=False, weakref_slot=True)
class Run:
    """What both sides know of one run. ``stopped`` says why it was ended from outside."""

    program: Program
    limits: Limits
    names: Mapping[str, Namespace]
    desk: Desk
    answers: SimpleQueue[Answer | None]
    seen: Survey | None = None
    left: dict[int, Left] = field(default_factory=dict[int, Left])
    # Protects ``stopped`` and ``_kill``, so that no process is killed that is not this run's any more.
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: FaultKind | None = None
    _kill: _Worker | None = None

    @contextmanager
    def holding(self, pid: int | None) -> Generator[None]:
        """While a worker process computes for this run.

        Raises:
            Ended: The run was ended before.
        """
        worker = None if pid is None else _Worker(pid)
        try:
            with self.lock:
                if self.stopped is not None:
                    raise Ended
                self._kill = worker
            yield
        finally:
            with self.lock:
                self._kill = None
            if worker is not None:
                worker.release()

    def is_orphaned(self) -> bool:
        """Whether the worker that computes for this run is known to have ended."""
        with self.lock:
            return self._kill is not None and self._kill.is_gone()

    def stop(self, reason: FaultKind) -> None:
        """End the run from any thread: wake its own thread, and kill the worker that computes for it."""
        with self.lock:
            if self.stopped is None:
                self.stopped = reason
            worker, self._kill = self._kill, None
            if worker is not None:
                worker.kill()
        self.answers.put(None)


class _Worker:
    """A process to kill: by a descriptor where the system has them, as a number may be given out again."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor: int | None = None
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self._descriptor = os.pidfd_open(pid)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            if self._descriptor is None:
                os.kill(self._pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def is_gone(self) -> bool:
        if self._descriptor is None:
            return False
        ready, _writable, _failed = select.select([self._descriptor], [], [], 0)
        return bool(ready)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
