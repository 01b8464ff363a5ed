"""The thread's side of one run: drives a session of the sandbox from one suspension to the next.

Every call of the program is answered with a future at once and posted to the desk, so calls overlap and
are made in the order in which the program made them. When the program cannot go on, it is given the
answers that have come. Nothing here touches the event loop but ``Desk.post``.

The sandbox has no clock, files or environment of its own: what a program asks of the system comes here
as well, and is refused, but for sleeping, which the host does for it.
"""

from __future__ import annotations

import math
import re
import time
from queue import Empty
from typing import Any, Final, Literal

from pydantic_monty import (
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    MontyComplete,
    MontySession,
    NameLookupSnapshot,
    SyncSnapshot,
)

from toolfabric.kernels.crossing import NotJsonError, TooLargeError, cross
from toolfabric.kernels.desk import Answer, Call, Nap, Printed
from toolfabric.kernels.holders import Holders
from toolfabric.kernels.names import GuestError, read_call
from toolfabric.kernels.places import Places
from toolfabric.kernels.runs import Ended, Left, Run
from toolfabric.protocols import FaultKind, ProgramFault

__all__ = ["Breach", "Drive"]

_BY_PRELUDE: Final = "workflow"
"""The prelude binds this name itself, together with what cannot leave the sandbox."""

_WORD: Final = re.compile(r"\w+")
_LONGEST_WAIT: Final = 3_600.0
_LOOK_SECONDS: Final = 0.5
"""How often a program that waits is looked after: its worker may have been killed meanwhile."""
_NO_CLOCK: Final = "the sandbox has no clock: pass the time in as a payload, or ask a tool"
_NO_ENVIRONMENT: Final = "the sandbox has no environment: pass values in as payloads"
_NO_FILES: Final = "the sandbox has no files: read and write with the tools of a provider, such as pi.read"


class Breach(Exception):  # noqa: N818 -- not an error of ours: the program went past a limit
    """The program went past a limit that is counted here."""

    def __init__(self, kind: FaultKind, message: str, hint: str | None = None) -> None:
        super().__init__(kind, message, hint)
        self.kind = kind
        self.message = message
        self.hint = hint


class Drive:
    """Drives one program; ``place`` is where it last was, in its own lines."""

    def __init__(self, run: Run, places: Places) -> None:
        self._run = run
        self._places = places
        self._holders = Holders(run.names)
        self._ready: dict[int, tuple[ExternalSettledResult, int]] = {}
        self._held_bytes = 0
        self._in_flight: set[int] = set()
        self._made = 0
        self._printed = 0
        self.breach: Breach | None = None
        self.waits = False

    def feed(self, session: MontySession, code: str, *, checked: bool, inputs: dict[str, Any]) -> Any:
        """Run one text in the session and give its value.

        Raises:
            Breach: It went past a limit that is counted here.
            Ended: The run was ended from outside while the program waited.
            pydantic_monty.MontyError: The program failed, or the sandbox did.
        """
        snapshot: SyncSnapshot = session.feed_start(
            code, inputs=inputs, print_callback=self._print, skip_type_check=checked
        )
        while not isinstance(snapshot, MontyComplete):
            snapshot = self._step(snapshot)
        if self.breach is not None:
            raise self.breach
        return snapshot.output

    def named_in(self, code: str) -> dict[str, Any]:
        """The namespaces that a text mentions, to be bound before it runs.

        The sandbox asks for other names when they are used, but not inside the callback of a builtin.
        """
        words = set(_WORD.findall(code))
        found = ((name, self._holders.name(name)) for name in self._run.names if name in words)
        return {name: held for name, held in found if held is not None and name != _BY_PRELUDE}

    def fault(self, kind: FaultKind, message: str, hint: str | None = None) -> ProgramFault:
        """A fault where the program last was."""
        line, column = self._places.last()
        return ProgramFault(kind=kind, message=message, line=line, column=column, hint=hint)

    def _step(self, snapshot: SyncSnapshot) -> SyncSnapshot:
        match snapshot:
            case FunctionSnapshot():
                self._places.at(snapshot.position)
                return self._system(snapshot) if snapshot.is_os_function else self._call(snapshot)
            case NameLookupSnapshot():
                return self._look_up(snapshot)
            case FutureSnapshot():
                self._places.at(snapshot.position)
                return snapshot.resume(self._settled(snapshot.pending_call_ids))
            case MontyComplete():
                return snapshot

    def _look_up(self, snapshot: NameLookupSnapshot) -> SyncSnapshot:
        name, holder = snapshot.variable_name, snapshot.object_id
        found = self._holders.name(name) if holder is None else self._holders.attribute(holder, name)
        return snapshot.resume() if found is None else snapshot.resume(value=found)

    # --- calls -----------------------------------------------------------------------------------

    def _call(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        limits, ref = self._run.limits, "a call"
        try:
            ref = self._holders.called(snapshot.object_id, str(snapshot.function_name))
            given = read_call(ref, snapshot.args, snapshot.kwargs)
            args, _size = cross(given, limit=limits.value_bytes)
        except GuestError as error:
            return _refuse(snapshot, error.kind, error.message)
        except NotJsonError as error:
            return _refuse(snapshot, "TypeError", f"{error}; {error.hint}")
        except TooLargeError as error:
            raise Breach(FaultKind.VALUE, f"the arguments of {ref} are {error}") from error
        self._issue(snapshot.call_id)
        self._run.left[snapshot.call_id] = Left(ref, self._places.mark)
        self._run.desk.post(Call(snapshot.call_id, ref, args))
        return snapshot.resume({"future": ...})

    def _issue(self, number: int) -> None:
        """Count one more thing that the host does, and wait until there is room for it."""
        limits = self._run.limits
        self._made += 1
        if self._made > limits.calls:
            raise Breach(FaultKind.CALLS, f"it made more than {limits.calls:,} calls")
        while len(self._in_flight) >= limits.calls_in_flight:
            self._take()
        self._in_flight.add(number)

    def _system(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        name = str(snapshot.function_name)
        match name.partition(".")[0], name:
            case "import" | "import_stubs", _:
                return snapshot.resume_not_handled()
            case _, "asyncio.sleep":
                self._issue(snapshot.call_id)
                self._run.desk.post(Nap(snapshot.call_id, _seconds(snapshot)))
                return snapshot.resume({"future": ...})
            case _, "time.sleep":
                self._pause(_seconds(snapshot))
                return snapshot.resume({"return_value": None})
            case "datetime" | "date" | "time", _:
                return _refuse(snapshot, "PermissionError", _NO_CLOCK)
            case _, "os.getenv" | "os.environ":
                return _refuse(snapshot, "PermissionError", _NO_ENVIRONMENT)
            case _:
                return _refuse(snapshot, "PermissionError", _NO_FILES)

    # --- answers ---------------------------------------------------------------------------------

    def _settled(self, pending: list[int]) -> dict[int, ExternalSettledResult]:
        """The answers for what the program waits for, as soon as there is one."""
        self.waits = True
        wanted = set(pending)
        while not self._run.answers.empty():
            self._take()
        while wanted.isdisjoint(self._ready):
            self._take()
        self.waits = False
        found = [number for number in pending if number in self._ready]
        given: dict[int, ExternalSettledResult] = {}
        for number in found:
            given[number], size = self._ready.pop(number)
            self._held_bytes -= size
            self._run.left.pop(number, None)
        return given

    def _pause(self, seconds: float) -> None:
        """Sleep for the program, taking what comes meanwhile; the end of the run ends it."""
        self.waits = True
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            self._take(within=min(rest, _LONGEST_WAIT))
        self.waits = False

    def _take(self, within: float | None = None) -> None:
        try:
            answer = self._run.answers.get(timeout=_LOOK_SECONDS if within is None else within)
        except Empty:
            if within is None and self._run.is_orphaned():
                raise Ended from None
            return
        if answer is None:
            raise Ended
        self._in_flight.discard(answer.number)
        result, size = self._inward(answer)
        self._ready[answer.number] = result, size
        self._held_bytes += size
        if self._held_bytes > self._run.limits.memory_bytes:
            raise Breach(
                FaultKind.MEMORY, "the answers that it has not taken need more memory than it may use"
            )

    def _inward(self, answer: Answer) -> tuple[ExternalSettledResult, int]:
        if answer.failure is not None:
            return _error(answer.failure.kind, answer.failure.message), len(answer.failure.message)
        try:
            value, size = cross(answer.value, limit=self._run.limits.value_bytes, outward=False)
        except NotJsonError:
            return _error("RuntimeError", "the host's answer is not JSON"), 0
        except TooLargeError as error:
            left = self._run.left.get(answer.number)
            ref = "a call" if left is None else left.ref
            raise Breach(
                FaultKind.VALUE, f"the answer of {ref} is {error}", "ask for less at once"
            ) from error
        return {"return_value": value}, size

    # --- printing --------------------------------------------------------------------------------

    def _print(self, _stream: Literal["stdout", "stderr"], text: str) -> None:
        if self.breach is not None:
            return
        limit = self._run.limits.output_chars
        room = limit - self._printed
        self._printed += len(text)
        self._run.desk.post(Printed(text[:room]))
        if self._printed > limit:
            self.breach = Breach(FaultKind.OUTPUT, f"it printed more than {limit:,} characters", "print less")
            # An error raised here would be told only once the program has ended, which it may never.
            self._run.stop(FaultKind.OUTPUT)


def _seconds(snapshot: FunctionSnapshot) -> float:
    given = snapshot.args[0] if snapshot.args else 0.0
    return float(given) if isinstance(given, int | float) and math.isfinite(given) and given > 0 else 0.0


def _refuse(snapshot: FunctionSnapshot, kind: str, message: str) -> SyncSnapshot:
    return snapshot.resume(_error(kind, message))


def _error(kind: Any, message: str) -> ExternalSettledResult:
    """An exception for the program; ``kind`` is one of the builtin names that ``desk`` and ``names`` use."""
    return {"exc_type": kind, "message": message}
