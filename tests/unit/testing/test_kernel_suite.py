"""The kernel suite finds what a wrong kernel does wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from toolfabric.errors import ResolveError
from toolfabric.protocols import Bridge, FaultKind, KernelOutcome, Limits, Program, ProgramFault
from toolfabric.testing.kernel_suite import Canary, Case, run_suite
from toolfabric.values import Outcome

pytestmark = pytest.mark.anyio
CANARY = Canary(text="the canary", file="/somewhere", variable="SOME")


class Wrong:
    """A kernel that gives one answer to everything, after one call."""

    name = "wrong"

    def __init__(self, answer: KernelOutcome, ref: str | None = None, printed: str = "") -> None:
        self.answer = answer
        self.ref = ref
        self.printed = printed

    async def run(self, program: Program, bridge: Bridge, limits: Limits) -> KernelOutcome:
        if self.printed:
            bridge.log(self.printed)
        if self.ref is not None:
            await bridge.call(self.ref, {})
        return self.answer

    async def close(self) -> None:
        return None


def good(value: object = 1) -> KernelOutcome:
    return KernelOutcome(outcome=Outcome.SUCCEEDED, value=value)  # type: ignore[arg-type]


FAULT = ProgramFault(kind=FaultKind.MEMORY, message="m", line=3)
FAILED = KernelOutcome(outcome=Outcome.FAILED, faults=(FAULT,))
PROGRAM = Case(name="c", kind="program", code="", value=1, calls=())
BREACH = Case(
    name="c", kind="limit", code="", outcome=Outcome.FAILED, fault=FaultKind.TIME, line=2, message="x"
)
ESCAPE = Case(name="c", kind="escape", code="")


@pytest.mark.parametrize(
    ("make", "case", "told"),
    [
        (lambda: Wrong(good(2)), PROGRAM, "gave 2, not 1"),
        (lambda: Wrong(FAILED), PROGRAM, "ended failed, not succeeded"),
        (lambda: Wrong(good(), "pi.read"), PROGRAM, "called ('pi.read',), not ()"),
        (lambda: Wrong(FAILED), BREACH, "not time"),
        (lambda: Wrong(FAILED), BREACH, "names line 3, not 2"),
        (lambda: Wrong(FAILED), BREACH, "has no 'x'"),
        (lambda: Wrong(good("ESCAPED")), ESCAPE, "says that it escaped"),
        (lambda: Wrong(good("the canary")), ESCAPE, "the canary came out"),
        (lambda: Wrong(good(), printed="the canary"), ESCAPE, "the canary came out"),
    ],
)
async def test_each_kind_of_fault_is_a_finding(make: Callable[[], Wrong], case: Case, told: str) -> None:
    findings = await run_suite(make(), [case], canary=CANARY)
    assert any(told in str(finding) for finding in findings)


async def test_a_forged_ref_is_a_finding_whatever_came_of_it() -> None:
    class Forging(Wrong):
        async def run(self, program: Program, bridge: Bridge, limits: Limits) -> KernelOutcome:
            with suppress(ResolveError):  # the suite's bridge refuses it
                await bridge.call("fabric.discovery.search", {})
            return good()

    findings = await run_suite(Forging(good()), [ESCAPE], canary=CANARY)
    assert "forged calls" in str(findings[0])


async def test_a_right_kernel_has_no_findings() -> None:
    assert await run_suite(Wrong(good()), [PROGRAM, ESCAPE], canary=CANARY) == []
