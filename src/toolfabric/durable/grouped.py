"""A thread that owns one database connection and does all of its work, in order.

Syncing the disk is what a durable change costs, so changes that wait at the same time are committed
together: while one group is being synced, the next one collects. A change is acknowledged only after the
commit that holds it.

A change that raises is undone alone, through a savepoint, and its group goes on. When SQLite itself fails,
the whole group is undone and every change in it fails.

A change whose caller was canceled is left out as long as it has not begun; after that it may be kept
although nobody waits for it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from toolfabric.durable.sqlite import Database
from toolfabric.errors import StorageError

__all__ = ["DatabaseThread"]

_T = TypeVar("_T")
_LARGEST_GROUP: Final = 512


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[Database], Any]
    future: Future[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    value: Any = None
    error: BaseException | None = None

    def tell(self, future: Future[Any]) -> None:
        if self.error is None:
            future.set_result(self.value)
        elif isinstance(self.error, StorageError):
            # Several may wait for one commit, and an exception collects the trace of whoever raises it.
            own = StorageError(*self.error.args)
            own.__cause__ = self.error.__cause__
            future.set_exception(own)
        else:
            future.set_exception(self.error)


class DatabaseThread:
    """Runs jobs on one connection, from any thread or event loop.

    Args:
        database: The connection; it belongs to the thread from now on and is closed with it.
        writes: Whether jobs change something, and so are committed in groups.
        committed: Called in the thread after each commit; it must not raise.
    """

    def __init__(
        self, database: Database, *, writes: bool = False, committed: Callable[[], None] = lambda: None
    ) -> None:
        self._database = database
        self._writes = writes
        self._committed = committed
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        """Orders ``submit`` before or after ``close``, so that no job is left in the queue unseen."""
        self._closed = False
        self._error: StorageError | None = None
        # A daemon: what was acknowledged is on disk, and a host that ends does not wait for the rest.
        self._thread = threading.Thread(target=self._work, name=f"database {database.path.name}", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Database], _T]) -> Future[_T]:
        """Hand in a job; the future gives what it returned, after the commit where there is one.

        Raises:
            StorageError: The thread was closed.
        """
        future: Future[_T] = Future()
        with self._closing:
            if self._closed:
                msg = f"{str(self._database.path)!r} was closed; open it again"
                raise StorageError(msg)
            self._jobs.put(_Job(work, future))
        return future

    async def run(self, work: Callable[[Database], _T]) -> _T:
        """Hand in a job and wait for it.

        Raises:
            StorageError: The thread was closed, or SQLite failed; then nothing of a change was kept.
        """
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Do what was handed in, end the thread and close the connection. Safe to call twice.

        Raises:
            StorageError: The connection could not be closed; what was acknowledged is safe.
        """
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _work(self) -> None:
        try:
            while (group := self._next_group()) is not None:
                if self._writes and group:
                    self._commit(group)
                else:
                    for job in group:
                        self._read(job)
        finally:
            try:
                self._database.close()
            except StorageError as error:
                self._error = error  # for whoever closes

    def _next_group(self) -> list[_Job] | None:
        """Wait for a job and take those that wait with it; ``None`` at the end."""
        job = self._jobs.get()
        group: list[_Job] = []
        while job is not None:
            if job.future.set_running_or_notify_cancel():
                group.append(job)
            if len(group) == _LARGEST_GROUP:
                return group
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group
        if group:
            self._jobs.put(None)  # the end comes again, after this group
            return group
        return None

    def _commit(self, group: list[_Job]) -> None:
        done: list[_Outcome] = []
        try:
            with self._database.transaction():
                done.extend(self._part(job) for job in group)
        except BaseException as error:  # noqa: BLE001 - the edge of the thread: whoever waits is told
            done = [_Outcome(error=error) for _job in group]
        for job, outcome in zip(group, done, strict=True):
            outcome.tell(job.future)
        if any(outcome.error is None for outcome in done):
            self._committed()

    def _part(self, job: _Job) -> _Outcome:
        """One change of a group; an error of its own is an outcome, one of SQLite ends the group."""
        try:
            with self._database.savepoint():
                return _Outcome(value=job.work(self._database))
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - told to whoever waits for this change
            return _Outcome(error=error)

    def _read(self, job: _Job) -> None:
        try:
            outcome = _Outcome(value=job.work(self._database))
        except BaseException as error:  # noqa: BLE001 - the edge of the thread: whoever waits is told
            outcome = _Outcome(error=error)
        outcome.tell(job.future)
