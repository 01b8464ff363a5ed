"""One program's turn in a worker: read the prelude, check the types, run, and say how it ended.

Runs in a lane's thread. Whatever happens comes back as an outcome; only a sandbox that cannot be used at
all is an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
from toolfabric.kernels.checked import CheckedPrograms, Key
from toolfabric.kernels.crossing import NotJsonError, TooLargeError, cross
from toolfabric.kernels.drive import Breach, Drive, Ended
from toolfabric.kernels.faults import is_time_limit, raised_fault, syntax_fault, type_faults
from toolfabric.kernels.prelude import PRELUDE
from toolfabric.kernels.runs import Run
from toolfabric.kernels.stubs import StubCache, stub_text
from toolfabric.protocols import FaultKind, KernelOutcome, ProgramFault
from toolfabric.values import Outcome

__all__ = ["take_turn"]

_SUSPENSIONS_A_CALL = 4


def take_turn(
    pool: Callable[[], Monty], run: Run, stubs: StubCache, checked: CheckedPrograms
) -> KernelOutcome:
    """Run one program in a fresh session.

    Raises:
        KernelError: The sandbox cannot be used.
    """
    notes = () if run.seen is None else tuple(run.seen.notes)
    try:
        outcome = _in_session(pool, run, stubs, checked)
    except (Ended, MontyCrashedError) as error:
        outcome = _stopped(run, error)
    except MontyError as error:
        raise KernelError(f"the sandbox failed: {type(error).__name__}: {error}") from error
    known = {(one.line, one.column) for one in outcome.notes}
    return replace(
        outcome, notes=(*outcome.notes, *(one for one in notes if (one.line, one.column) not in known))
    )


def _in_session(
    pool: Callable[[], Monty], run: Run, stubs: StubCache, checked: CheckedPrograms
) -> KernelOutcome:
    program = run.program
    bound = frozenset[str]() if run.seen is None else run.seen.bound
    stub = stub_text(run.names, code=program.code, bound=bound, cache=stubs)
    session = pool().checkout(
        limits=_limits(run),
        type_check=True,
        type_check_stubs=stub,
        type_check_format="json",
    )
    with session as opened:
        with run.lock:
            if run.stopped is not None:
                raise Ended
            run.pid = opened.worker_pid
        try:
            opened.feed_run(PRELUDE, skip_type_check=True)
            return _run(run, opened, checked, (program.code, stub, program.strict_arguments))
        finally:
            with run.lock:
                run.pid = None


def _run(run: Run, session: MontySession, checked: CheckedPrograms, key: Key) -> KernelOutcome:
    drive = Drive(run.desk, run.answers, names=run.names, limits=run.limits)
    program = run.program
    known = checked.notes(key)
    notes = known or ()
    try:
        try:
            value = drive.run(session, program.code, program.payloads, checked=known is not None)
        except MontyTypingError as error:
            faults, notes = type_faults(error, run.names, strict_arguments=program.strict_arguments)
            if faults:
                return KernelOutcome(outcome=Outcome.FAILED, faults=faults, notes=notes)
            checked.passed(key, notes)
            value = drive.run(session, program.code, program.payloads, checked=True)
        result, _size = cross(value, limit=run.limits.value_bytes)
    except Breach as breach:
        return KernelOutcome(outcome=Outcome.FAILED, faults=(breach.fault,), notes=notes)
    except MontySyntaxError as error:
        return KernelOutcome(outcome=Outcome.FAILED, faults=(syntax_fault(error),), notes=notes)
    except MontyRuntimeError as error:
        return _raised(error, drive.breach, notes)
    except (NotJsonError, TooLargeError, MontyConversionError, TypeError) as error:
        return KernelOutcome(outcome=Outcome.FAILED, faults=(_value_fault(error),), notes=notes)
    return KernelOutcome(outcome=Outcome.SUCCEEDED, value=result, notes=notes)


def _raised(
    error: MontyRuntimeError, breach: Breach | None, notes: tuple[ProgramFault, ...]
) -> KernelOutcome:
    if is_time_limit(error):
        return replace(_timed_out(), notes=notes)
    fault = raised_fault(error) if breach is None else breach.fault
    return KernelOutcome(outcome=Outcome.FAILED, faults=(fault,), notes=notes)


def _stopped(run: Run, error: Exception) -> KernelOutcome:
    match run.stopped:
        case FaultKind.TIME:
            return _timed_out()
        case FaultKind.CANCELLED:
            return KernelOutcome(outcome=Outcome.ABORTED)
        case _:
            message = "its worker process ended"
            if isinstance(error, MontyCrashedError) and not str(error):
                message = "its worker process was killed"
            fault = ProgramFault(
                kind=FaultKind.SANDBOX, message=f"{message}; running it again uses a new one"
            )
            return KernelOutcome(outcome=Outcome.FAILED, faults=(fault,))


def _timed_out() -> KernelOutcome:
    fault = ProgramFault(kind=FaultKind.TIME, message="it was ended")
    return KernelOutcome(outcome=Outcome.TIMED_OUT, faults=(fault,))


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


def _limits(run: Run) -> ResourceLimits:
    limits = run.limits
    return {
        "max_feed_duration_secs": limits.timeout_ms / 1_000,
        "max_memory": limits.memory_bytes,
        "max_recursion_depth": limits.recursion,
        "max_suspensions": limits.calls * _SUSPENSIONS_A_CALL + 10_000,
    }
