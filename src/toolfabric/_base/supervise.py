"""Run a coroutine that may ignore cancellation, and be able to leave it behind.

A task group cannot be left while a child swallows its cancellation, so provider code that hangs
would hang the host with it. ``supervised`` is the one place that starts a loose task: it cancels,
waits a bounded grace, and then abandons the task to end when it will.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, Final, TypeVar

__all__ = ["GRACE_SECONDS", "abandoned", "end_all", "start", "supervised"]

GRACE_SECONDS: Final = 2.0
_T = TypeVar("_T")
_abandoned: set[asyncio.Task[Any]] = set()


async def supervised(
    coroutine: Coroutine[Any, Any, _T], *, within: float | None = None, grace: float = GRACE_SECONDS
) -> _T:
    """Await a coroutine in a task of its own.

    Args:
        coroutine: What to run.
        within: Seconds after which it is cancelled; ``None`` for no limit of its own.
        grace: Seconds that a cancelled coroutine gets to end before it is left behind.

    Raises:
        TimeoutError: The time ran out. Whatever the coroutine did meanwhile stands.
        asyncio.CancelledError: The caller was cancelled; the coroutine was told, and waited for.
    """
    task = asyncio.get_running_loop().create_task(coroutine)
    try:
        done, _pending = await asyncio.wait({task}, timeout=within)
    except asyncio.CancelledError:
        await _end(task, grace)
        raise
    if not done:
        await _end(task, grace)
        raise TimeoutError
    return task.result()


def start(coroutine: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """Start a coroutine that its caller keeps hold of and awaits later."""
    return asyncio.get_running_loop().create_task(coroutine)


def abandoned() -> int:
    """How many coroutines were left behind and have not ended since."""
    return len(_abandoned)


async def end_all(tasks: Collection[asyncio.Task[Any]], *, grace: float = GRACE_SECONDS) -> None:
    """Cancel tasks that were started and wait a bounded time for them together.

    Those that ignore it are left behind; what the others raised was theirs and is not raised here.
    """
    if not tasks:
        return
    for task in tasks:
        task.cancel()
    done, pending = await asyncio.wait(tasks, timeout=grace)
    for task in pending:
        _abandon(task)
    for task in done:
        _forget(task)


async def _end(task: asyncio.Task[Any], grace: float) -> None:
    await end_all((task,), grace=grace)


def _abandon(task: asyncio.Task[Any]) -> None:
    """Leave a task behind, so that not even the end of the loop waits for it.

    ``asyncio.run`` cancels and awaits every task that is registered, and would hang on one that ignores
    it. Taking a task out of the register is asyncio's documented interface for other task classes.
    """
    _abandoned.add(task)
    task.add_done_callback(_forget)
    asyncio._unregister_task(task)  # noqa: SLF001 -- documented, see above
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 -- it was told already


def _forget(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()
