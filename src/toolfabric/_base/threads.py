"""Daemon threads for foreign functions, used again while they are idle.

Neither the event loop nor the interpreter waits for them, which the executors of the standard library do:
a function that never returns costs its thread and nothing else. There is no bound on the threads that are
at work; whoever starts them has one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Final

__all__ = ["run_in_thread"]

_MOST_IDLE: Final = 32

_idle: list[_Worker] = []
os.register_at_fork(after_in_child=_idle.clear)  # a child has the list, but none of the threads


def run_in_thread(job: Callable[[], None]) -> None:
    """Run a job that settles its own errors, in some thread, soon.

    Raises:
        RuntimeError: The machine gives no further thread.
    """
    try:
        worker = _idle.pop()  # one step, so a worker is handed one job at a time
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.jobs.put(job)


class _Worker(Thread):
    def __init__(self) -> None:
        super().__init__(name="fabric worker", daemon=True)
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self) -> None:
        while True:
            job = self.jobs.get()
            job()
            del job  # it holds the arguments of a call that has ended
            if len(_idle) >= _MOST_IDLE:
                return
            _idle.append(self)
