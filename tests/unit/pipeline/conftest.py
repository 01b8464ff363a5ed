"""A pipeline over one provider whose every hook the test decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolfabric import ActionSpec
from toolfabric.pipeline.records import Services
from toolfabric.pipeline.run import Pipeline
from toolfabric.policy.risk import RiskPolicy
from toolfabric.protocols import Approval, ApprovalRequest, CallContext, Decision, Verdict
from toolfabric.registry.registry import Registry
from toolfabric.trace.audit import AuditLog
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.trace.records import Operation
from toolfabric.values import Json, JsonObject, Origin, Outcome

SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path"],
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
}
ALLOW_ALL = RiskPolicy(read="allow", write="allow", execute="allow", network="allow", agent="allow")  # type: ignore[arg-type]


class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now(self) -> Any:
        raise AssertionError("nothing here may ask for the wall clock")

    def monotonic(self) -> float:
        return self.seconds


class Tool:
    """A provider with one action per risk set; its hooks are plain attributes."""

    name = "tool"
    description = "For tests."

    def __init__(self) -> None:
        self.calls: list[JsonObject] = []
        self.answer: Callable[[JsonObject, CallContext], Any] = lambda _args, _context: {"ok": True}
        self.preparing: Callable[[JsonObject], Any] = lambda args: args
        self.previewing: Callable[[JsonObject], Any] = lambda _args: None

    def list(self) -> Sequence[ActionSpec]:
        return [
            ActionSpec(name="run", description="Runs.", input_schema=SCHEMA, risk="read"),
            ActionSpec(name="both", description="Both.", input_schema=SCHEMA, risk=["write", "execute"]),
            ActionSpec(
                name="change", description="Changes.", input_schema=SCHEMA, risk="write", effect="Changes it."
            ),
        ]

    def describe(self, name: str) -> ActionSpec | None:
        return next((spec for spec in self.list() if spec.name == name), None)

    def prepare_arguments(self, name: str, args: JsonObject) -> Any:
        return self.preparing(args)

    def preview(self, name: str, args: JsonObject) -> Any:
        return self.previewing(args)

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Any:
        self.calls.append(args)
        answer = self.answer(args, context)
        return await answer if asyncio.iscoroutine(answer) else answer


@dataclass
class Approving:
    """Answers as told and remembers what it was asked."""

    granted: bool = True
    reason: str = ""
    digest: Callable[[ApprovalRequest], str] = field(default=lambda request: request.digest)
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])

    async def ask(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return Approval(granted=self.granted, digest=self.digest(request), reason=self.reason)


class Guarding:
    """A guard that says what it is told to say."""

    def __init__(self, verdict: Verdict = Verdict.ALLOW, reason: str = "") -> None:
        self.verdict = verdict
        self.reason = reason
        self.seen: list[tuple[str, Origin]] = []
        self.error: Exception | None = None

    def decide(self, ref: str, origin: Origin) -> Decision:
        self.seen.append((ref, origin))
        if self.error is not None:
            raise self.error
        return Decision(verdict=self.verdict, reason=self.reason)


class Bench:
    """Everything that one test needs to make calls and look at what was recorded."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.registry = Registry(clock=self.clock)
        self.tool = Tool()
        self.approver = Approving()
        self.recorder = TraceRecorder()
        self.audits = AuditLog()
        self.settings: dict[str, Any] = {"policy": ALLOW_ALL, "approver": self.approver}

    async def call(
        self,
        ref: str = "tool.run",
        args: Json = None,
        *,
        deadline: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Json:
        context = CallContext(
            invocation_id="call_1",
            call_id="fabric_call_1_1",
            cwd=Path("/"),
            deadline=deadline,
            cancelled=cancelled,
        )
        services = Services(registry=self.registry, clock=self.clock, **self.settings)
        return await Pipeline(services).call(
            ref, args, context=context, recorder=self.recorder, audits=self.audits
        )

    def operations(self) -> tuple[Operation, ...]:
        """Seal the record and give its operations."""
        return self.recorder.seal(Outcome.SUCCEEDED).operations

    def last(self) -> tuple[str, str | None]:
        """Outcome and failure stage of the last call."""
        form = self.operations()[-1].to_json()
        stage = form.get("failureStage")
        return str(form["outcome"]), None if stage is None else str(stage)


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.registry.mount(made.tool, origin=Origin.HOST)
    return made
