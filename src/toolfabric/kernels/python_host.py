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
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from toolfabric.errors import KernelError
from toolfabric.kernels.checked import CheckedPrograms
from toolfabric.kernels.desk import Answer, Desk
from toolfabric.kernels.lanes import Lanes
from toolfabric.kernels.names import Namespace, name_tree
from toolfabric.kernels.runs import Run
from toolfabric.kernels.stubs import StubCache
from toolfabric.kernels.survey import survey
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
    from collections.abc import Mapping, Sequence

    from pydantic_monty import Monty

__all__ = ["MAX_PROGRAM_CHARS", "PythonKernel"]

MAX_PROGRAM_CHARS: Final = 1_000_000
_CLOSE_SECONDS: Final = 5.0
_DRAIN_SECONDS: Final = 0.5


class PythonKernel:
    """Runs Python programs (``protocols.Kernel``). Workers start with the first program."""

    name = "python"

    def __init__(self, *, max_workers: int = 8) -> None:
        self._max_workers = max_workers
        self._stubs = StubCache()
        self._checked = CheckedPrograms()
        self._named: tuple[Sequence[ActionDeclaration] | None, Mapping[str, Namespace]] = (None, {})
        self._machine: Machine | None = None
        self._closed = False

    async def run(self, program: Program, bridge: Bridge, limits: Limits) -> KernelOutcome:
        """Run one program to its end.

        Raises:
            KernelError: The sandbox is not installed, cannot start, or this kernel was closed.
            asyncio.CancelledError: The caller was cancelled; nothing of the run goes on.
        """
        if self._closed:
            raise KernelError("the Python kernel was closed")
        if len(program.code) > MAX_PROGRAM_CHARS:
            message = f"it has {len(program.code):,} characters; at most {MAX_PROGRAM_CHARS:,} are read"
            return _failed(ProgramFault(kind=FaultKind.SYNTAX, message=message))
        names = self._names_of(program.actions)
        seen = survey(program.code, names)
        if seen is not None and seen.faults:
            return KernelOutcome(outcome=Outcome.FAILED, faults=tuple(seen.faults), notes=tuple(seen.notes))
        answers: SimpleQueue[Answer | None] = SimpleQueue()
        run = Run(program, limits, names, seen, Desk(bridge, answers), answers)
        try:
            return await self._supervised(run)
        finally:
            await run.desk.close()

    async def close(self) -> None:
        """End all workers. Safe to call twice, and while programs run: they are ended first."""
        self._closed = True
        machine, self._machine = self._machine, None
        if machine is not None:
            await asyncio.get_running_loop().run_in_executor(None, machine.close)

    async def _supervised(self, run: Run) -> KernelOutcome:
        from toolfabric.kernels.turn import take_turn

        if self._machine is None:
            self._machine = Machine(self._max_workers)
        machine = self._machine
        turn = asyncio.wrap_future(
            machine.lanes.submit(lambda: take_turn(machine.pool, run, self._stubs, self._checked))
        )
        try:
            done, _pending = await asyncio.wait({turn}, timeout=run.limits.timeout_ms / 1_000)
            if not done:
                run.stop(FaultKind.TIME)
            outcome = await turn
        except asyncio.CancelledError:
            run.stop(FaultKind.CANCELLED)
            with suppress(asyncio.CancelledError, KernelError):
                await turn
            raise
        await run.desk.drain(_DRAIN_SECONDS if outcome.outcome is Outcome.SUCCEEDED else 0)
        return outcome

    def _names_of(self, actions: Sequence[ActionDeclaration]) -> Mapping[str, Namespace]:
        known, names = self._named
        if known is not actions:
            names = name_tree(actions)
            self._named = (actions, names)
        return names


class Machine:
    """The worker processes and the threads that drive them. Ended at the interpreter's end at the latest."""

    def __init__(self, max_workers: int) -> None:
        self.lanes: Lanes[KernelOutcome] = Lanes(max_workers, "fabric python kernel")
        self._max_workers = max_workers
        # Protects the pool while the first threads ask for it.
        self._lock = threading.Lock()
        self._pool: Monty | None = None
        _machines.add(self)

    def pool(self) -> Monty:
        """The pool of workers, started when it is first asked for.

        Raises:
            KernelError: The sandbox is not installed or does not start.
        """
        with self._lock:
            if self._pool is None:
                self._pool = _started_pool(self._max_workers)
            return self._pool

    def close(self) -> None:
        """End threads and workers; a worker that still computes is killed with the pool."""
        self.lanes.close(within=_CLOSE_SECONDS)
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


def _failed(fault: ProgramFault) -> KernelOutcome:
    return KernelOutcome(outcome=Outcome.FAILED, faults=(fault,))
