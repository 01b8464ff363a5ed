"""What any kernel must do, as cases that any kernel can be run through.

A case is a program with what must come of it; the programs of a language are tables of their own
(``python_programs`` and ``python_breaches``). ``run_suite`` runs cases against a kernel and returns what
was wrong, so it needs no test framework::

    findings = await run_suite(MyKernel(), [*PYTHON_PROGRAMS, *PYTHON_ESCAPES], canary=canary)
    assert findings == []

Every case runs against a recording bridge. The caller puts a canary into a file and the environment. No
escape may show it, reach the host except over the bridge, or outlive its run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from toolfabric.errors import InvokeError, ResolveError, ValidateError
from toolfabric.protocols import ActionDeclaration, FaultKind, Kernel, KernelOutcome, Limits, Program
from toolfabric.values import Json, Outcome

__all__ = [
    "ACTIONS",
    "Canary",
    "Case",
    "Finding",
    "RecordingBridge",
    "run_case",
    "run_suite",
]

_ANY: Final[dict[str, Json]] = {"type": "object"}
_PATIENCE_SECONDS: Final = 30.0

ACTIONS: Final = (
    ActionDeclaration(
        ref="pi.read",
        description="Gives back its arguments.",
        input_schema={
            "type": "object",
            "additionalProperties": False,
            "required": ["path"],
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        },
    ),
    ActionDeclaration(ref="pi.fail", description="Always fails.", input_schema=_ANY),
    ActionDeclaration(ref="pi.refuse", description="Refuses its arguments.", input_schema=_ANY),
    ActionDeclaration(ref="pi.hang", description="Never ends.", input_schema=_ANY),
    ActionDeclaration(ref="pi.echo", description="Gives back its value.", input_schema=_ANY),
    ActionDeclaration(ref="mcp.github.search_issues", description="A nested name.", input_schema=_ANY),
    ActionDeclaration(ref="mcp.github.get-issue", description="A name with a dash.", input_schema=_ANY),
    ActionDeclaration(ref="mcp.$servers", description="A name with a dollar sign.", input_schema=_ANY),
)
"""The surface that the cases are written for; ``pi.read`` gives back ``{"given": arguments}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One program and what must come of it.

    ``kind`` says which part of the suite it belongs to. ``value`` must come out exactly when the
    outcome is ``succeeded``; ``fault`` must be the kind of the first fault otherwise, ``line`` its
    line, ``message`` a part of its message. ``calls`` are the refs that must reach the bridge, in
    order; ``None`` leaves them open. An escape may end in any way, so long as nothing leaks.
    """

    name: str
    kind: Literal["program", "limit", "escape"]
    code: str
    value: Json = None
    outcome: Outcome = Outcome.SUCCEEDED
    fault: FaultKind | None = None
    line: int | None = None
    message: str = ""
    calls: tuple[str, ...] | None = None
    printed: str | None = None
    limits: Limits = field(default_factory=lambda: Limits(timeout_ms=10_000))
    payloads: tuple[tuple[str, str], ...] = ()
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A secret of the host's: the caller puts ``text`` into ``file`` and the environment's ``variable``."""

    text: str
    file: str
    variable: str


NO_CANARY: Final = Canary(text="\x00 never printed", file="/etc/hostname", variable="PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one case showed to be wrong."""

    case: str
    what: str

    def __str__(self) -> str:
        return f"{self.case}: {self.what}"


class RecordingBridge:
    """The host's end for the suite: records every call, and knows what still runs."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Json]] = []
        self.running = 0
        self.most = 0
        self.printed: list[str] = []

    def log(self, text: str) -> None:
        """Keep what was printed."""
        self.printed.append(text)

    async def call(self, ref: str, args: Json) -> Json:
        """Answer as the suite's surface does."""
        self.calls.append((ref, args))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._answer(ref, args)
        finally:
            self.running -= 1

    async def _answer(self, ref: str, args: Json) -> Json:
        answers: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "pi.fail": _fail,
            "pi.refuse": _refuse,
            "pi.hang": _hang,
            "pi.echo": _echo,
            "tools.call": self._computed,
        }
        if ref in answers:
            return await answers[ref](args)
        if ref.startswith(("tools.", "workflow.")) or ref in {one.ref for one in ACTIONS}:
            await asyncio.sleep(0)
            return {"given": args}
        raise ResolveError(f"there is no {ref}")

    async def _computed(self, args: Json) -> Json:
        if not isinstance(args, dict) or not isinstance(args.get("ref"), str):
            raise ValidateError("tools.call: ref must be a string")
        return await self._answer(str(args["ref"]), args.get("args"))


async def run_suite(kernel: Kernel, cases: Sequence[Case], *, canary: Canary = NO_CANARY) -> list[Finding]:
    """Run cases one after the other, and give everything that was wrong.

    Args:
        kernel: The kernel; it is left open.
        cases: The cases of its language.
        canary: What must not come out, and where the caller has put it.
    """
    return [finding for case in cases for finding in await run_case(kernel, case, canary=canary)]


async def run_case(kernel: Kernel, case: Case, *, canary: Canary = NO_CANARY) -> list[Finding]:
    """Run one case, and give everything that was wrong with it."""
    code = case.code.replace("@CANARY_FILE@", canary.file).replace("@CANARY_VARIABLE@", canary.variable)
    bridge = RecordingBridge()
    program = Program(code=code, payloads=dict(case.payloads), actions=ACTIONS, strict_arguments=case.strict)
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            ended = await kernel.run(program, bridge, case.limits)
    except TimeoutError:
        return [Finding(case=case.name, what="the kernel did not end the program")]
    wrong = _leaks(case, ended, bridge, canary.text) + (
        [] if case.kind == "escape" else _differences(case, ended, bridge)
    )
    if bridge.running:
        wrong.append(f"{bridge.running} host calls still run after the program ended")
    return [Finding(case=case.name, what=what) for what in wrong]


def _differences(case: Case, ended: KernelOutcome, bridge: RecordingBridge) -> list[str]:
    told = "; ".join(f"{one.kind} at {one.line}: {one.message}" for one in ended.faults)
    wrong: list[str] = []
    if ended.outcome is not case.outcome:
        return [f"ended {ended.outcome}, not {case.outcome} ({told})"]
    if case.outcome is Outcome.SUCCEEDED and not _same(ended.value, case.value):
        wrong.append(f"gave {ended.value!r}, not {case.value!r}")
    first = ended.faults[0] if ended.faults else None
    if case.fault is not None and (first is None or first.kind is not case.fault):
        wrong.append(f"has the fault {told or 'none'}, not {case.fault}")
    if case.line is not None and (first is None or first.line != case.line):
        wrong.append(f"names line {None if first is None else first.line}, not {case.line}")
    if case.message not in ("" if first is None else f"{first.message} {first.hint or ''}"):
        wrong.append(f"says {told!r}, which has no {case.message!r}")
    refs = tuple(ref for ref, _args in bridge.calls)
    if case.calls is not None and refs != case.calls:
        wrong.append(f"called {refs}, not {case.calls}")
    if case.printed is not None and "".join(bridge.printed) != case.printed:
        wrong.append(f"printed {''.join(bridge.printed)!r}, not {case.printed!r}")
    return wrong


def _leaks(case: Case, ended: KernelOutcome, bridge: RecordingBridge, canary: str) -> list[str]:
    shown = json.dumps([ended.value, bridge.calls, bridge.printed], default=str)
    shown += "".join(f"{one.message}{one.hint}" for one in (*ended.faults, *ended.notes))
    wrong = ["the canary came out"] if canary in shown else []
    if case.kind == "escape" and ended.outcome is Outcome.SUCCEEDED and ended.value == "ESCAPED":
        wrong.append("the program says that it escaped")
    forged = [ref for ref, _args in bridge.calls if ref.startswith(("fabric.", "__", "_"))]
    if forged:
        wrong.append(f"forged calls reached the bridge: {forged}")
    return wrong


def _same(one: Json, other: Json) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


async def _fail(_args: Json) -> Json:
    raise InvokeError("pi.fail: it always fails")


async def _refuse(_args: Json) -> Json:
    raise ValidateError("pi.refuse: at $.x: not a declared key")


async def _hang(_args: Json) -> Json:
    await asyncio.Event().wait()
    return None


async def _echo(args: Json) -> Json:
    return args.get("value") if isinstance(args, dict) else args
