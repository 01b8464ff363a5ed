"""The event loop's side of one run: host calls in the order in which they were made.

The program runs in a thread. It posts what it wants done, never waits for the loop to say so, and
takes answers from a queue when it cannot go on without them. Here, calls are started in posted order,
each in a task of its own, and none of them outlives ``close``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final

from toolfabric._base.supervise import end_all, start
from toolfabric._base.text import printable
from toolfabric.errors import CallError
from toolfabric.protocols import Bridge
from toolfabric.values import Json, Stage

__all__ = ["Answer", "Call", "Desk", "Failure", "Nap", "Printed", "failure_of"]

_MESSAGE_CHARS: Final = 20_000
_LOST: Final = "the call was cancelled by the host"
_KINDS: Final[dict[Stage, str]] = {
    Stage.RESOLVE: "LookupError",
    Stage.GUARD: "PermissionError",
    Stage.PREPARE: "ValueError",
    Stage.VALIDATE: "ValueError",
    Stage.APPROVE: "PermissionError",
    Stage.INVOKE: "RuntimeError",
}


@dataclass(frozen=True, slots=True)
class Call:
    """The program made a host call."""

    number: int
    ref: str
    args: Json


@dataclass(frozen=True, slots=True)
class Nap:
    """The program sleeps, for ``seconds``, without stopping its other tasks."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Printed:
    """The program printed ``text``."""

    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the program sees it: the name of a builtin exception, and a message."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of call or nap ``number``."""

    number: int
    value: Json = None
    failure: Failure | None = None


class Desk:
    """Where one program's requests arrive. ``post`` is for its thread, the rest for the loop."""

    def __init__(self, bridge: Bridge, answers: SimpleQueue[Answer | None]) -> None:
        self._bridge = bridge
        self._answers = answers
        self._loop = asyncio.get_running_loop()
        self._posted: deque[Call | Nap | Printed] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._naps: dict[int, asyncio.TimerHandle] = {}
        self._closed = False
        self.failures: dict[int, tuple[str, Failure]] = {}
        self.log_error: Exception | None = None

    def post(self, request: Call | Nap | Printed) -> None:
        """Hand a request to the loop; from any thread, without waiting.

        Raises:
            RuntimeError: The event loop was closed with the run still going.
        """
        self._posted.append(request)
        if len(self._posted) == 1:
            # Whoever finds the deque empty wakes the loop; a wake-up too many does no harm.
            self._loop.call_soon_threadsafe(self._serve_posted)

    async def drain(self, within: float) -> bool:
        """Wait for every call made so far; whether all ended in time."""
        self._serve_posted()
        if not self._tasks:
            return True
        _done, pending = await asyncio.wait(self._tasks, timeout=max(0.0, within))
        return not pending

    async def close(self) -> None:
        """Take no more requests; cancel what runs and wait for it, within the usual grace."""
        self._closed = True
        for nap in self._naps.values():
            nap.cancel()
        self._naps.clear()
        await end_all(tuple(self._tasks))

    def flush(self) -> None:
        """Serve what was posted but not yet seen, so that printed text is not lost."""
        self._serve_posted()

    def _serve_posted(self) -> None:
        while self._posted:
            request = self._posted[0]
            if not self._closed:
                self._serve(request)
            # Taken off only now: a post in between then sees a longer deque, and wakes nobody for nothing.
            self._posted.popleft()

    def _serve(self, request: Call | Nap | Printed) -> None:
        match request:
            case Call():
                task = start(self._call(request))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case Nap(number, seconds):
                self._naps[number] = self._loop.call_later(seconds, self._wake, number)
            case Printed(text):
                self._log(text)

    def _log(self, text: str) -> None:
        if self.log_error is not None:
            return
        try:
            self._bridge.log(text)
        except Exception as error:  # noqa: BLE001 -- the edge: told when the run ends, so the loop goes on
            self.log_error = error

    async def _call(self, call: Call) -> None:
        try:
            value = await self._bridge.call(call.ref, call.args)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and self._closed:
                raise
            failure = failure_of(error)
            self.failures[call.number] = (call.ref, failure)
            self._answers.put(Answer(call.number, failure=failure))
        else:
            self._answers.put(Answer(call.number, value))

    def _wake(self, number: int) -> None:
        self._naps.pop(number, None)
        self._answers.put(Answer(number))


def failure_of(error: BaseException) -> Failure:
    """What the program sees of an error of the host: a type by the stage, and the message for it.

    What is not a ``CallError`` is an error of the host itself; its text is none of the program's.
    """
    if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):
        return Failure("TimeoutError", _message(error) or "the deadline passed")
    if isinstance(error, CallError):
        return Failure(_KINDS[error.stage], _message(error))
    if isinstance(error, asyncio.CancelledError):
        return Failure("RuntimeError", _LOST)
    return Failure("RuntimeError", f"the host failed with {type(error).__name__}")


def _message(error: BaseException) -> str:
    return printable(str(error), limit=_MESSAGE_CHARS)
