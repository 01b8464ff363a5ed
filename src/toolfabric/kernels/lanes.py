"""A bounded set of daemon threads that run whole programs, one each.

It is not ``ThreadPoolExecutor``: that one is joined before any exit handler runs, so a program that
still computes would keep the interpreter from ending. These threads are daemons, and their owner ends
them in an exit handler, while threads can still take the interpreter's lock. A native call that comes
back after that point aborts the process, which is what this order prevents.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Generic, TypeVar

__all__ = ["Lanes"]

_T = TypeVar("_T")
_Job = tuple[Callable[[], _T], "Future[_T]"]


class Lanes(Generic[_T]):
    """Up to ``limit`` threads, started when there is work for them and kept until ``close``."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        # Protects the three below; never held while a job runs.
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False
        self._jobs: SimpleQueue[_Job[_T] | None] = SimpleQueue()

    def submit(self, job: Callable[[], _T]) -> Future[_T]:
        """Run a job as soon as a lane is free; cancelling the future takes it back until then.

        Raises:
            RuntimeError: The lanes were closed.
        """
        future: Future[_T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the lanes are closed")
            if self._idle > 0:
                self._idle -= 1
            elif len(self._threads) < self._limit:
                self._start()
            self._jobs.put((job, future))
        return future

    def close(self, *, within: float) -> bool:
        """Take no more jobs and wait for the running ones; whether all ended in time."""
        with self._lock:
            self._closed = True
            threads = list(self._threads)
            for _thread in threads:
                self._jobs.put(None)
        for thread in threads:
            thread.join(within)
        return not any(thread.is_alive() for thread in threads)

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (taken := self._jobs.get()) is not None:
            job, future = taken
            if future.set_running_or_notify_cancel():
                _settle(job, future)
            del taken, job, future
            with self._lock:
                if self._jobs.qsize() == 0:
                    self._idle += 1


def _settle(job: Callable[[], _T], future: Future[_T]) -> None:
    try:
        result = job()
    except BaseException as error:  # noqa: BLE001 -- the future is the edge: its reader raises it
        future.set_exception(error)
    else:
        future.set_result(result)
