"""The Python kernel: guest programs in worker processes of ``pydantic-monty``.

A run has two sides. The event loop makes the host calls (``desk``); a thread drives the sandbox
(``drive``), since the sandbox's blocking interface is the one that costs least and leaves no native
thread of its own at the interpreter's end. A run that is cancelled or out of time has its worker
process killed; the pool replaces it.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from toolfabric.errors import KernelError
from toolfabric.kernels.desk import Answer, Desk
from toolfabric.kernels.lanes import Lanes
from toolfabric.kernels.names import Namespace, name_tree
from toolfabric.kernels.runs import Run
from toolfabric.protocols import (
    ActionDeclaration,
    Bridge,
    FaultKind,
    KernelOutcome,
    Limits,
    Program,
    ProgramFault,
)
from toolfabric.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic_monty import Monty

    from toolfabric.kernels.turn import Memory

__all__ = ["MAX_PROGRAM_CHARS", "PythonKernel"]

MAX_PROGRAM_CHARS: Final = 1_000_000
_CLOSE_SECONDS: Final = 5.0
_SHOWN_REFS: Final = 5


class PythonKernel:
    """Runs Python programs (``protocols.Kernel``). Workers start with the first program.

    ``max_workers`` programs run at once; others wait, and their time runs while they do. It belongs to
    no event loop.
    """

    name = "python"

    def __init__(self, *, max_workers: int = 8) -> None:
        self._max_workers = max_workers
        self._memory: Memory | None = None
        self._named: tuple[Sequence[ActionDeclaration] | None, Mapping[str, Namespace]] = (None, {})
        self._machine: Machine | None = None
        self._closed = False

    async def run(self, program: Program, bridge: Bridge, limits: Limits, /) -> KernelOutcome:
        """Run one program to its end.

        Raises:
            KernelError: The sandbox is not installed, cannot start, or this kernel was closed.
            asyncio.CancelledError: The caller was cancelled; nothing of the run goes on.
        """
        deadline = asyncio.get_running_loop().time() + limits.timeout_ms / 1_000
        if self._closed:
            raise KernelError("the Python kernel was closed")
        if len(program.code) > MAX_PROGRAM_CHARS:
            message = f"it has {len(program.code):,} characters; at most {MAX_PROGRAM_CHARS:,} are read"
            fault = ProgramFault(kind=FaultKind.SYNTAX, message=message)
            return KernelOutcome(outcome=Outcome.FAILED, faults=(fault,))
        answers: SimpleQueue[Answer | None] = SimpleQueue()
        run = Run(program, limits, self._names_of(program.actions), Desk(bridge, answers), answers)
        try:
            outcome = await self._ended(run, deadline)
            if outcome.outcome is Outcome.SUCCEEDED:
                outcome = await _with_left_calls(run, outcome, deadline)
            else:
                await run.desk.drain(0)
        finally:
            await run.desk.close()
        if run.desk.log_error is not None:
            raise KernelError("the host could not keep what the program printed") from run.desk.log_error
        return outcome

    async def close(self) -> None:
        """End all workers. Safe to call twice, and while programs run: they are ended first."""
        self._closed = True
        machine, self._machine = self._machine, None
        if machine is not None:
            machine.stop()
            await asyncio.get_running_loop().run_in_executor(None, machine.close)

    async def _ended(self, run: Run, deadline: float) -> KernelOutcome:
        loop = asyncio.get_running_loop()
        turn = self._turn_of(run)
        waited = asyncio.wrap_future(turn)
        try:
            done, _pending = await asyncio.wait({waited}, timeout=max(0.0, deadline - loop.time()))
            if not done:
                run.stop(FaultKind.TIME)
                if turn.cancel():
                    return _never_began(run.limits)
                await asyncio.wait({waited})
        except asyncio.CancelledError:
            run.stop(FaultKind.CANCELLED)
            if not turn.cancel():
                await _until_over(waited)
            raise
        if run.stopped is FaultKind.CANCELLED:
            raise KernelError("the Python kernel was closed while the program ran")
        return waited.result()

    def _turn_of(self, run: Run) -> Future[KernelOutcome]:
        try:
            from toolfabric.kernels.turn import Memory, take_turn
        except ImportError as error:
            raise KernelError("the Python kernel needs pydantic-monty; install it with pip") from error
        memory = self._memory = self._memory or Memory()
        machine = self._machine = self._machine or Machine(self._max_workers)
        return machine.submit(run, lambda: take_turn(machine.pool, run, memory))

    def _names_of(self, actions: Sequence[ActionDeclaration]) -> Mapping[str, Namespace]:
        known, names = self._named
        if known is not actions:
            names = name_tree(actions)
            self._named = (actions, names)
        return names


async def _until_over(waited: asyncio.Future[KernelOutcome]) -> None:
    """Wait for a turn that was ended; being cancelled again changes nothing, as it ends at once."""
    while not waited.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({waited}, timeout=_CLOSE_SECONDS)
            return


async def _with_left_calls(run: Run, outcome: KernelOutcome, deadline: float) -> KernelOutcome:
    """Let the calls end that the program made and did not wait for: half of them would be worse.

    One that fails is told as a note. One that does not end in the program's time makes it time out.
    """
    if await run.desk.drain(deadline - asyncio.get_running_loop().time()):
        notes = tuple(
            ProgramFault(
                kind=FaultKind.RAISED,
                message=f"a call of {ref} that was never awaited failed: {failure.message}",
                hint="write await before it",
            )
            for number, (ref, failure) in run.desk.failures.items()
            if number in run.left
        )
        return replace(outcome, notes=(*outcome.notes, *notes))
    refs = ", ".join(sorted({left.ref for left in run.left.values()})[:_SHOWN_REFS])
    seconds = run.limits.timeout_ms / 1_000
    fault = ProgramFault(
        kind=FaultKind.TIME,
        message=f"it had ended, but calls that it never awaited had not after {seconds:g} s: {refs}",
        hint="write await before them",
    )
    return KernelOutcome(outcome=Outcome.TIMED_OUT, faults=(fault,), notes=outcome.notes)


def _never_began(limits: Limits) -> KernelOutcome:
    fault = ProgramFault(
        kind=FaultKind.TIME,
        message=f"no worker was free for {limits.timeout_ms / 1_000:g} s; the program did not begin",
    )
    return KernelOutcome(outcome=Outcome.TIMED_OUT, faults=(fault,))


class Machine:
    """The worker processes and the threads that drive them. Ended at the interpreter's end at the latest."""

    def __init__(self, max_workers: int) -> None:
        self._lanes: Lanes[KernelOutcome] = Lanes(max_workers, "fabric python kernel")
        self._max_workers = max_workers
        # Protects the pool while the first threads ask for it.
        self._lock = threading.Lock()
        self._pool: Monty | None = None
        self._runs: weakref.WeakSet[Run] = weakref.WeakSet()
        _machines.add(self)

    def submit(self, run: Run, turn: Callable[[], KernelOutcome]) -> Future[KernelOutcome]:
        """Give a run its turn as soon as a lane is free."""
        self._runs.add(run)
        return self._lanes.submit(turn)

    def pool(self) -> Monty:
        """The pool of workers, started when it is first asked for.

        Raises:
            KernelError: The sandbox is not installed or does not start.
        """
        with self._lock:
            if self._pool is None:
                self._pool = _started_pool(self._max_workers)
            return self._pool

    def stop(self) -> None:
        """End every run that still goes on."""
        for run in list(self._runs):
            run.stop(FaultKind.CANCELLED)

    def close(self) -> None:
        """End runs, threads and workers. Safe to call twice."""
        self.stop()
        self._lanes.close(within=_CLOSE_SECONDS)
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)
        _machines.discard(self)


_machines: weakref.WeakSet[Machine] = weakref.WeakSet()


def _started_pool(max_workers: int) -> Monty:
    try:
        from pydantic_monty import Monty

        pool = Monty(min_processes=1, max_processes=max_workers)
        pool.__enter__()
    except ImportError as error:
        raise KernelError(
            "the Python kernel needs the package pydantic-monty; install it with pip"
        ) from error
    except Exception as error:
        raise KernelError(f"the Python kernel does not start: {type(error).__name__}: {error}") from error
    return pool


def _close_all() -> None:
    """Before the interpreter's end: a native call that came back later would abort the process."""
    for machine in list(_machines):
        machine.close()


atexit.register(_close_all)
