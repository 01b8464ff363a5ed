"""What the two sides of one run share, and how the loop's side ends it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue

from toolfabric.kernels.desk import Answer, Desk
from toolfabric.kernels.names import Namespace
from toolfabric.kernels.survey import Survey
from toolfabric.protocols import FaultKind, Limits, Program

__all__ = ["Run"]


@dataclass(slots=True)
class Run:
    """What both sides know of one run. ``stopped`` says why it was ended from outside."""

    program: Program
    limits: Limits
    names: Mapping[str, Namespace]
    seen: Survey | None
    desk: Desk
    answers: SimpleQueue[Answer | None]
    # Protects ``pid`` and ``stopped``, so that no process is killed that is not this run's any more.
    lock: threading.Lock = field(default_factory=threading.Lock)
    pid: int | None = None
    stopped: FaultKind | None = None

    def stop(self, reason: FaultKind) -> None:
        """End the run from the loop's side: wake its thread, and kill the worker that computes for it."""
        with self.lock:
            if self.stopped is None:
                self.stopped = reason
            if self.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                self.pid = None
        self.answers.put(None)
