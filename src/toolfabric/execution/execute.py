"""One ``fabric_exec``: run the program, seal the record, bound the answer.

The order is: open the record, run, seal, spell the answer, keep the record. Whatever happens in
between, a trace is sealed and kept: cancellation and errors of the sandbox included.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolfabric._base.json_form import is_json
from toolfabric.errors import CallError, KernelError
from toolfabric.execution.bridge import ExecutionBridge, Record
from toolfabric.execution.failures import describe_failure
from toolfabric.execution.journal import Entry, Journal
from toolfabric.execution.records import ExecArguments, ExecutionResult, Observer, ResultFormat
from toolfabric.execution.results import (
    FAILURE_CHARS,
    RESULT_CHARS,
    Bounded,
    OutputFolder,
    bounded_text,
    render,
)
from toolfabric.pipeline.run import Pipeline
from toolfabric.protocols import (
    ActionDeclaration,
    CallContext,
    Clock,
    FaultKind,
    Ids,
    Kernel,
    KernelOutcome,
    Limits,
    Program,
    ProgramFault,
)
from toolfabric.registry.registry import Registry
from toolfabric.trace.audit import AuditLog, details_json
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import NESTED_TOOL_CALL_ID_PREFIX, Json, Outcome

__all__ = ["Executor", "ExecutorOptions"]

TOOL_NAME: Final = "fabric_exec"
CALL_NAME: Final = "fabric_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorOptions:
    """What configuration says of executions."""

    cwd: Path
    limits: Limits
    result_format: ResultFormat = ResultFormat.AUTO
    result_chars: int = RESULT_CHARS
    strict_arguments: bool = False


class Executor:
    """Runs programs and single calls against one registry, one record each."""

    def __init__(
        self,
        options: ExecutorOptions,
        *,
        registry: Registry,
        pipeline: Pipeline,
        kernel: Kernel,
        journal: Journal,
        outputs: OutputFolder,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._options = options
        self._registry = registry
        self._pipeline = pipeline
        self._kernel = kernel
        self._journal = journal
        self._outputs = outputs
        self._clock = clock
        self._ids = ids
        self._declared: tuple[int, tuple[ActionDeclaration, ...]] = (-1, ())

    async def execute(
        self, arguments: ExecArguments, *, observe: Observer = lambda _activity: None
    ) -> ExecutionResult:
        """Run one program to its end.

        Raises:
            StorageError: The record could not be opened; the program did not run.
            asyncio.CancelledError: The caller was cancelled. The record is sealed as aborted.
        """
        entry = self._journal.begin(TOOL_NAME, arguments.given)
        run = _Run(entry, self._clock, self._options)
        bridge = ExecutionBridge(
            registry=self._registry,
            pipeline=self._pipeline,
            record=run.record,
            context=run.context,
            observe=observe,
        )
        program = Program(
            code=arguments.code,
            payloads=arguments.payloads,
            actions=self._declarations(),
            strict_arguments=self._options.strict_arguments,
        )
        try:
            ended = await self._run_kernel(program, bridge)
        except BaseException:
            self._finish(run, bridge, arguments, KernelOutcome(outcome=Outcome.ABORTED))
            raise
        finally:
            run.ended = True
            await self._invocation_ended(entry)
        return self._finish(run, bridge, arguments, ended)

    async def call(self, ref: str, args: Json) -> Json:
        """Make one call of the operator's own: the same pipeline, an outer invocation of its own.

        Raises:
            CallError: The call was refused or failed.
            StorageError: The record could not be opened; nothing ran.
        """
        # What is no JSON cannot be written down; the pipeline refuses it, with the place.
        entry = self._journal.begin(CALL_NAME, {"ref": ref, "args": args if is_json(args) else None})
        run = _Run(entry, self._clock, self._options)
        try:
            value = await self._pipeline.call(
                ref, args, context=run.context(), recorder=run.record.recorder, audits=run.record.audits
            )
        except CallError as error:
            await self._close_call(run, error.outcome, str(error))
            raise
        except BaseException:
            await self._close_call(run, Outcome.ABORTED, "The call was cancelled.")
            raise
        text = bounded_text(
            render(value, self._options.result_format),
            self._options.result_chars,
            folder=self._outputs,
            name=entry.call_id,
        )
        await self._close_call(run, Outcome.SUCCEEDED, text.text)
        return value

    async def _close_call(self, run: _Run, outcome: Outcome, text: str) -> None:
        run.ended = True
        await self._invocation_ended(run.entry)
        success = outcome is Outcome.SUCCEEDED
        trace = run.record.recorder.seal(outcome)
        details = details_json(
            success=success, trace=trace, audits=run.record.audits, phases=(), error=None if success else text
        )
        self._journal.end(run.entry, text=text, details=details, is_error=not success)

    async def _run_kernel(self, program: Program, bridge: ExecutionBridge) -> KernelOutcome:
        try:
            return await self._kernel.run(program, bridge, self._options.limits)
        except KernelError as error:
            fault = ProgramFault(kind=FaultKind.SANDBOX, message=str(error))
            return KernelOutcome(outcome=Outcome.FAILED, faults=(fault,))

    async def _invocation_ended(self, entry: Entry) -> None:
        await self._registry.invocation_ended(entry.call_id)

    def _declarations(self) -> tuple[ActionDeclaration, ...]:
        generation, declared = self._declared
        if generation != self._registry.generation:
            generation = self._registry.generation
            declared = tuple(
                ActionDeclaration(
                    ref=action.ref,
                    description=action.spec.description,
                    input_schema=action.spec.input_schema,
                    output_schema=action.spec.output_schema,
                )
                for action in self._registry.actions()
            )
            self._declared = (generation, declared)
        return declared

    def _finish(
        self, run: _Run, bridge: ExecutionBridge, arguments: ExecArguments, ended: KernelOutcome
    ) -> ExecutionResult:
        recorder = run.record.recorder
        completed = recorder.completed()
        trace = recorder.seal(ended.outcome)
        success = ended.outcome is Outcome.SUCCEEDED
        answer = self._answer(run.entry, arguments, ended, completed)
        error = None if success else answer.text
        details = details_json(
            success=success, trace=trace, audits=run.record.audits, phases=tuple(bridge.phases), error=error
        )
        record_error = self._journal.end(run.entry, text=answer.text, details=details, is_error=not success)
        return ExecutionResult(
            success=success,
            value=ended.value if success else None,
            error=error,
            trace=trace,
            outcome=ended.outcome,
            text=answer.text,
            details=details,
            faults=ended.faults,
            notes=ended.notes,
            activity=bridge.printed,
            output_file=answer.file,
            session=run.entry.session,
            record_error=record_error,
        )

    def _answer(
        self, entry: Entry, arguments: ExecArguments, ended: KernelOutcome, completed: Sequence[str]
    ) -> Bounded:
        if ended.outcome is Outcome.SUCCEEDED:
            text = render(ended.value, arguments.result_format or self._options.result_format)
            ceiling = self._options.result_chars
        else:
            text = describe_failure(ended, completed, self._options.limits)
            ceiling = min(FAILURE_CHARS, self._options.result_chars)
        return bounded_text(text, ceiling, folder=self._outputs, name=entry.call_id)


class _Run:
    """What one execution holds while it runs."""

    def __init__(self, entry: Entry, clock: Clock, options: ExecutorOptions) -> None:
        self.entry = entry
        self.record = Record(recorder=TraceRecorder(observe=entry.observe), audits=AuditLog())
        self.ended = False
        self._cwd = options.cwd
        self._deadline = clock.monotonic() + options.limits.timeout_ms / 1_000
        self._numbers: Iterator[int] = itertools.count(1)

    def context(self) -> CallContext:
        """A context for the next call, with an id of its own."""
        return CallContext(
            invocation_id=self.entry.call_id,
            call_id=f"{NESTED_TOOL_CALL_ID_PREFIX}{self.entry.call_id}_{next(self._numbers)}",
            cwd=self._cwd,
            deadline=self._deadline,
            cancelled=lambda: self.ended,
        )
