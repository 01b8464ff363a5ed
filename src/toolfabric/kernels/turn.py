"""One program's turn in a worker: look ahead, check the types, run, and say how it ended.

Runs in a lane's thread. Whatever happens comes back as an outcome; only a sandbox that cannot be used at
all is an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_monty import (
    Monty,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    MontyTypingError,
    ResourceLimits,
)

from toolfabric.errors import KernelError
from toolfabric.kernels.checked import CheckedPrograms
from toolfabric.kernels.checks import Verdict, judge, read_diagnostics
from toolfabric.kernels.crossing import NotJsonError, TooLargeError, cross
from toolfabric.kernels.drive import Breach, Drive
from toolfabric.kernels.faults import is_time_limit, raised_fault, syntax_fault
from toolfabric.kernels.places import Places
from toolfabric.kernels.prelude import prelude_for
from toolfabric.kernels.runs import Ended, Run
from toolfabric.kernels.stubs import Stub, StubCache, stub_for
from toolfabric.kernels.survey import MAX_SURVEYED_CHARS, survey
from toolfabric.protocols import FaultKind, KernelOutcome, ProgramFault
from toolfabric.values import Outcome

__all__ = ["Memory", "take_turn"]

_SUSPENSIONS_A_CALL = 8


@dataclass(slots=True)
class Memory:
    """What is kept from one program for the next."""

    stubs: StubCache = field(default_factory=StubCache)
    checked: CheckedPrograms = field(default_factory=CheckedPrograms)


def take_turn(pool: Callable[[], Monty], run: Run, memory: Memory) -> KernelOutcome:
    """Run one program in a fresh session.

    Raises:
        KernelError: The sandbox cannot be used.
    """
    if not _is_text(run.program.code):
        fault = ProgramFault(kind=FaultKind.SYNTAX, message="the program is not Unicode text")
        return _failed(fault)
    seen = survey(run.program.code, run.names)
    if seen is not None and seen.faults:
        return _failed(*seen.faults, notes=seen.notes)
    run.seen = seen
    try:
        return _Turn(run, memory).take(pool())
    except (MontyError, OSError, TimeoutError) as error:
        raise KernelError(f"the sandbox failed: {type(error).__name__}: {error}") from error


class _Turn:
    def __init__(self, run: Run, memory: Memory) -> None:
        self._run = run
        self._memory = memory
        self._prelude = prelude_for(run.program.code)
        self._places = Places(run.program.code, number=1 if self._prelude else 0)
        self._drive = Drive(run, self._places)
        self._notes: list[ProgramFault] = [] if run.seen is None else list(run.seen.notes)
        self._syntax: list[ProgramFault] = []

    def take(self, pool: Monty) -> KernelOutcome:
        program = self._run.program
        bound = frozenset[str]() if self._run.seen is None else self._run.seen.bound
        stub = stub_for(self._run.names, code=program.code, bound=bound, cache=self._memory.stubs)
        session = pool.checkout(
            limits=_limits(self._run),
            type_check=True,
            type_check_stubs=stub.text,
            type_check_format="json",
            os_policy={"datetime": "call_host", "sleep": "call_host"},
        )
        try:
            with session as opened, self._run.holding(opened.worker_pid):
                return self._ended(opened, stub)
        except (Ended, MontyCrashedError):
            return self._stopped()

    def _ended(self, session: MontySession, stub: Stub) -> KernelOutcome:
        try:
            value, _size = cross(self._value(session, stub), limit=self._run.limits.value_bytes)
        except _Refused as refused:
            return _failed(*refused.verdict.faults, notes=self._notes)
        except Breach as breach:
            return self._failed_with(self._drive.fault(breach.kind, breach.message, breach.hint))
        except MontySyntaxError as error:
            return self._failed_with(*(self._syntax or [syntax_fault(error, self._places)]))
        except MontyRuntimeError as error:
            return self._raised(error)
        except (NotJsonError, TooLargeError, MontyConversionError) as error:
            return self._failed_with(_value_fault(error))
        notes = _apart(self._notes)
        return KernelOutcome(outcome=Outcome.SUCCEEDED, value=value, notes=notes)

    def _value(self, session: MontySession, stub: Stub) -> Any:
        program = self._run.program
        if self._prelude:
            self._drive.feed(session, self._prelude, checked=True, inputs={})
        inputs = self._drive.named_in(program.code) | {"payloads": _payloads(program.payloads)}
        key = (program.code, stub.text, program.strict_arguments)
        known = self._memory.checked.notes(key)
        if known is None and len(program.code) <= MAX_SURVEYED_CHARS:
            try:
                value = self._drive.feed(session, program.code, checked=False, inputs=inputs)
            except MontyTypingError as error:
                known = self._checked(error, stub)
            except BaseException:
                # The check comes first, so whatever else ended the program came after it.
                self._memory.checked.passed(key, ())
                raise
            else:
                self._memory.checked.passed(key, ())
                return value
            if not self._syntax:
                self._memory.checked.passed(key, known)
        self._notes.extend(known or ())
        return self._drive.feed(session, program.code, checked=True, inputs=inputs)

    def _checked(self, error: MontyTypingError, stub: Stub) -> tuple[ProgramFault, ...]:
        verdict = judge(
            read_diagnostics(error.display()),
            code=self._run.program.code,
            seen=self._run.seen,
            stub=stub,
            names=self._run.names,
            strict=self._run.program.strict_arguments,
        )
        self._syntax = verdict.syntax
        if verdict.faults and not verdict.syntax:
            self._notes.extend(verdict.notes)
            raise _Refused(verdict)
        return tuple(verdict.notes)

    def _raised(self, error: MontyRuntimeError) -> KernelOutcome:
        if self._drive.breach is not None or self._run.stopped is not None:
            return self._stopped()
        if is_time_limit(error):
            return self._timed_out()
        return self._failed_with(raised_fault(error, self._places))

    def _stopped(self) -> KernelOutcome:
        breach = self._drive.breach
        if breach is not None:
            return self._failed_with(self._drive.fault(breach.kind, breach.message, breach.hint))
        match self._run.stopped:
            case FaultKind.TIME:
                return self._timed_out()
            case FaultKind.CANCELLED:
                return KernelOutcome(outcome=Outcome.ABORTED, notes=_apart(self._notes))
            case _:
                return self._failed_with(
                    self._drive.fault(
                        FaultKind.SANDBOX, "its worker process ended", "run it again; that uses a new one"
                    )
                )

    def _timed_out(self) -> KernelOutcome:
        seconds = self._run.limits.timeout_ms / 1_000
        line, column = self._places.last()
        fault = ProgramFault(kind=FaultKind.TIME, message=f"it was ended after {seconds:g} s")
        if self._drive.waits:
            fault = replace(fault, line=line, column=column, hint="it waited here")
        elif line is not None:
            fault = replace(fault, hint=f"it was computing; its last call of a tool was in line {line}")
        else:
            fault = replace(fault, hint="it was computing, and had made no call yet")
        return KernelOutcome(outcome=Outcome.TIMED_OUT, faults=(fault,), notes=_apart(self._notes))

    def _failed_with(self, *faults: ProgramFault) -> KernelOutcome:
        return _failed(*faults, notes=self._notes)


class _Refused(Exception):  # noqa: N818 -- the program was refused, not an error of ours
    """The type check found errors of the program's own."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__()
        self.verdict = verdict


def _failed(*faults: ProgramFault, notes: Sequence[ProgramFault] = ()) -> KernelOutcome:
    return KernelOutcome(outcome=Outcome.FAILED, faults=faults, notes=_apart(notes))


def _apart(notes: Sequence[ProgramFault]) -> tuple[ProgramFault, ...]:
    """One remark for one place: the look ahead and the type check see some things both."""
    first: dict[tuple[int | None, int | None], ProgramFault] = {}
    for note in notes:
        first.setdefault((note.line, note.column), note)
    return tuple(first.values())


def _value_fault(error: Exception) -> ProgramFault:
    if isinstance(error, NotJsonError):
        return ProgramFault(kind=FaultKind.VALUE, message=str(error), hint=error.hint)
    if isinstance(error, TooLargeError):
        return ProgramFault(
            kind=FaultKind.VALUE, message=f"the value is {error}", hint="return less, or write it to a file"
        )
    return ProgramFault(
        kind=FaultKind.VALUE,
        message="the value holds something that cannot leave the sandbox",
        hint="hand over dicts, lists, strings, numbers, booleans and None",
    )


def _payloads(payloads: Any) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in payloads.items()}


def _text(text: str) -> str:
    return (
        text if _is_text(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def _is_text(text: str) -> bool:
    """Whether it has a UTF-8 form; a lone surrogate has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _limits(run: Run) -> ResourceLimits:
    limits = run.limits
    return {
        "max_feed_duration_secs": limits.timeout_ms / 1_000,
        "max_memory": limits.memory_bytes,
        "max_recursion_depth": limits.recursion,
        "max_suspensions": min(limits.calls * _SUSPENSIONS_A_CALL + 100_000, 2**31),
    }
