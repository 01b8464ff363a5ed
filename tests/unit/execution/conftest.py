"""A kernel whose programs are coroutines of the test, so that executions can be driven step by step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from toolfabric import ActionSpec
from toolfabric.protocols import Bridge, CallContext, KernelOutcome, Limits, Program
from toolfabric.runtime import Fabric, Options
from toolfabric.values import Json, JsonObject, Outcome

Script = Callable[[Bridge], Awaitable[KernelOutcome]]


class ScriptedKernel:
    """Runs the script it was given instead of the program's text."""

    name = "scripted"

    def __init__(self) -> None:
        self.script: Script = self._nothing
        self.programs: list[Program] = []
        self.closed = 0

    async def run(self, program: Program, bridge: Bridge, limits: Limits) -> KernelOutcome:
        self.programs.append(program)
        return await self.script(bridge)

    async def close(self) -> None:
        self.closed += 1

    async def _nothing(self, bridge: Bridge) -> KernelOutcome:
        return KernelOutcome(outcome=Outcome.SUCCEEDED)


class Numbers:
    """A provider of one action that gives back its argument, or fails on request."""

    name = "numbers"
    description = "Gives back numbers."
    spec = ActionSpec(
        name="same",
        description="The number itself.",
        input_schema={
            "type": "object",
            "additionalProperties": False,
            "required": ["n"],
            "properties": {"n": {"type": "integer"}},
        },
        risk="read",
    )

    def __init__(self) -> None:
        self.contexts: list[CallContext] = []
        self.ended: list[str] = []

    def list(self) -> Sequence[ActionSpec]:
        return [self.spec]

    def describe(self, name: str) -> ActionSpec | None:
        return self.spec if name == "same" else None

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        self.contexts.append(context)
        if args["n"] == 13:
            raise RuntimeError("unlucky")
        return args["n"]

    def invocation_ended(self, invocation_id: str) -> None:
        self.ended.append(invocation_id)


@pytest.fixture
def kernel() -> ScriptedKernel:
    return ScriptedKernel()


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: ScriptedKernel) -> Callable[..., Fabric]:
    """Make a host over an empty workspace, with a private agent folder."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.setenv("FABRIC_AGENT_DIR", str(tmp_path / "agent"))

    def make(config: JsonObject | None = None, options: Options | None = None) -> Fabric:
        return Fabric.open(workspace, config, options=options or Options(kernel=kernel, plugins=False))

    return make
