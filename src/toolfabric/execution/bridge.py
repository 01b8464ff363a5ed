"""Where a program's host calls go: discovery, workflow, or the pipeline.

Each call is recorded in the order in which it was made, before anything can wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolfabric.errors import CallError, ValidateError
from toolfabric.execution.discovery import answer_discovery
from toolfabric.execution.records import Activity, Observer
from toolfabric.execution.workflow import read_workflow
from toolfabric.pipeline.run import Pipeline
from toolfabric.protocols import CallContext
from toolfabric.registry.registry import Registry
from toolfabric.trace.audit import AuditLog
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import Json, JsonObject, Outcome

__all__ = ["ExecutionBridge", "Record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The two records that every call of one execution goes into."""

    recorder: TraceRecorder
    audits: AuditLog


class ExecutionBridge:
    """The host's end of the bridge for one execution (``protocols.Bridge``)."""

    def __init__(
        self,
        *,
        registry: Registry,
        pipeline: Pipeline,
        record: Record,
        context: Callable[[], CallContext],
        observe: Observer,
    ) -> None:
        self._registry = registry
        self._pipeline = pipeline
        self._record = record
        self._context = context
        self._observe = observe
        self._printed: list[str] = []
        self.phases: list[str] = []

    @property
    def printed(self) -> str:
        """All that the program printed so far."""
        return "".join(self._printed)

    def log(self, text: str) -> None:
        """Keep what the program printed, and show it."""
        self._printed.append(text)
        self._observe(Activity(kind="print", text=text))

    async def call(self, ref: str, args: Json) -> Json:
        """Route one host call.

        Raises:
            CallError: The call was refused or failed.
        """
        group, _dot, name = ref.partition(".")
        match group, name:
            case "tools", "call":
                return await self._call_computed(args)
            case "tools", _:
                return self._note(f"fabric.discovery.{name}", args, lambda given: self._discover(name, given))
            case "workflow", _:
                return self._note(f"fabric.workflow.{name}", args, lambda given: self._workflow(name, given))
            case _:
                return await self._call_action(ref, args)

    async def _call_computed(self, args: Json) -> Json:
        given = args if isinstance(args, dict) else {}
        ref = given.get("ref")
        if not isinstance(ref, str):
            return self._note("fabric.discovery.call", args, _needs_ref)
        return await self._call_action(ref, given.get("args"))

    async def _call_action(self, ref: str, args: Json) -> Json:
        self._observe(Activity(kind="call", text=ref))
        try:
            return await self._pipeline.call(
                ref,
                args,
                context=self._context(),
                recorder=self._record.recorder,
                audits=self._record.audits,
            )
        finally:
            self._observe(Activity(kind="settled", text=ref))

    def _note(self, ref: str, args: Json, answer: Callable[[JsonObject], Json]) -> Json:
        recorder = self._record.recorder
        sequence = recorder.issue(ref, args)
        try:
            value = answer(_object(args))
        except CallError as error:
            recorder.settle(sequence, Outcome.FAILED, stage=error.stage)
            raise
        recorder.settle(sequence, Outcome.SUCCEEDED)
        return value

    def _discover(self, name: str, args: JsonObject) -> Json:
        return answer_discovery(self._registry, name, args)

    def _workflow(self, name: str, args: JsonObject) -> Json:
        phase, activity = read_workflow(name, args)
        if phase is not None:
            self._record.recorder.phase(phase)
            self.phases.append(phase)
        if activity is not None:
            self._observe(activity)
        return None


def _object(args: Json) -> JsonObject:
    if args is None:
        return {}
    if not isinstance(args, dict):
        raise ValidateError("the arguments must be one object of names and values")
    return args


def _needs_ref(_args: JsonObject) -> Json:
    raise ValidateError('tools.call: ref must be a string such as "pi.read"; args is one object')
