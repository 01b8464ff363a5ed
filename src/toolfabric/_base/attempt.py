"""Call code that is not ours, and get an answer whatever it does.

It may be a coroutine function or a plain one, may hang, ignore cancellation, raise what would end the
event loop, or cancel itself. A plain function runs in a daemon thread, so that one that never returns
keeps neither the loop nor the interpreter from ending; ``stop`` tells it that nobody waits any more.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolfabric._base.supervise import GRACE_SECONDS, supervised
from toolfabric._base.threads import run_in_thread

__all__ = ["Attempt", "Raised", "Returned", "attempt", "is_async"]


@dataclass(frozen=True, slots=True)
class Returned:
    """It returned this value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """It raised this, which may be anything, ``KeyboardInterrupt`` and ``CancelledError`` included."""

    error: BaseException


Attempt: TypeAlias = Returned | Raised


async def attempt(
    function: Callable[..., Any],
    *args: Any,
    within: float | None = None,
    stop: Callable[[], None] = lambda: None,
) -> Attempt:
    """Call it and await what it returns.

    ``within`` is in seconds. ``stop`` is called once it is clear that nobody waits for a plain
    function any more, before it gets its grace to end.

    Raises:
        TimeoutError: The time ran out. Whatever was done meanwhile stands.
        asyncio.CancelledError: The caller was cancelled.
    """
    return await supervised(_settled(function, args, stop), within=within)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine, by its declaration; it is not called."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None and code.co_flags & inspect.CO_COROUTINE:
        return True
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def _settled(function: Callable[..., Any], args: tuple[Any, ...], stop: Callable[[], None]) -> Attempt:
    try:
        if is_async(function):
            return Returned(await function(*args))
        answer = await _in_thread(function, args, stop)
        if isinstance(answer, Returned) and inspect.isawaitable(answer.value):
            return Returned(await answer.value)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Raised(error)
    except BaseException as error:  # noqa: BLE001 -- the edge to foreign code: no error of its may end the host
        return Raised(error)
    return answer


async def _in_thread(
    function: Callable[..., Any], args: tuple[Any, ...], stop: Callable[[], None]
) -> Attempt:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Attempt] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(answer: Attempt) -> None:
        if not done.done():
            done.set_result(answer)

    def run() -> None:
        try:
            answer: Attempt = Returned(context.run(function, *args))
        except BaseException as error:  # noqa: BLE001 -- as in _settled
            answer = Raised(error)
        with suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            loop.call_soon_threadsafe(deliver, answer)

    run_in_thread(run)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        stop()
        # A thread cannot be ended, only left behind; a loop that closes waits for this as well.
        await asyncio.wait({done}, timeout=GRACE_SECONDS)
        raise
