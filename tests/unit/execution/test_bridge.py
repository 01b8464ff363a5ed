"""Where a program's host calls go, and what is recorded of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from toolfabric.errors import ResolveError, ValidateError
from toolfabric.execution.records import Activity
from toolfabric.protocols import Bridge, KernelOutcome
from toolfabric.runtime import Fabric
from toolfabric.values import Json, Outcome

from .conftest import Numbers, ScriptedKernel

pytestmark = pytest.mark.anyio
Run = Callable[[str, Json], AsyncIterator[None]]


async def run(
    fabric: Fabric, kernel: ScriptedKernel, numbers: Numbers, ref: str, args: Json
) -> tuple[list[tuple[str, str, Json]], list[Activity], Exception | None]:
    """Make one host call; give the operations, the activities and the error."""
    seen: list[Activity] = []
    raised: list[Exception] = []

    async def script(bridge: Bridge) -> KernelOutcome:
        try:
            await bridge.call(ref, args)
        except Exception as error:  # noqa: BLE001 -- handed to the test
            raised.append(error)
        return KernelOutcome(outcome=Outcome.SUCCEEDED)

    kernel.script = script
    await fabric.mount(numbers)
    result = await fabric.execute("x", observe=seen.append)
    forms = [one.to_json() for one in result.trace.operations]
    operations = [(str(one["ref"]), str(one["outcome"]), one.get("failureStage")) for one in forms]
    return operations, seen, raised[0] if raised else None


@pytest.mark.parametrize(
    ("ref", "args", "recorded"),
    [
        ("numbers.same", {"n": 1}, ("numbers.same", "succeeded", None)),
        ("tools.call", {"ref": "numbers.same", "args": {"n": 1}}, ("numbers.same", "succeeded", None)),
        ("tools.search", {"query": "number"}, ("fabric.discovery.search", "succeeded", None)),
        ("tools.providers", None, ("fabric.discovery.providers", "succeeded", None)),
        ("workflow.phase", {"name": "x"}, ("fabric.workflow.phase", "succeeded", None)),
        ("numbers.sam", {"n": 1}, ("numbers.sam", "failed", "resolve")),
        ("tools.call", {"ref": "numbers.sam"}, ("numbers.sam", "failed", "resolve")),
        ("tools.call", {}, ("fabric.discovery.call", "failed", "validate")),
        ("tools.serch", {}, ("fabric.discovery.serch", "failed", "resolve")),
        ("tools.search", ["x"], ("fabric.discovery.search", "failed", "validate")),
        ("workflow.phase", {}, ("fabric.workflow.phase", "failed", "validate")),
        ("fabric.discovery.search", {"query": "x"}, ("fabric.discovery.search", "failed", "resolve")),
    ],
)
async def test_every_host_call_leaves_one_operation(
    host: Callable[..., Fabric],
    kernel: ScriptedKernel,
    numbers: Numbers,
    ref: str,
    args: Json,
    recorded: tuple[str, str, str | None],
) -> None:
    async with host() as fabric:
        operations, _seen, error = await run(fabric, kernel, numbers, ref, args)
    assert operations == [recorded]
    assert (error is None) == (recorded[1] == "succeeded")
    assert error is None or isinstance(error, ResolveError | ValidateError)


async def test_who_watches_hears_of_calls_and_phases(
    host: Callable[..., Fabric], kernel: ScriptedKernel, numbers: Numbers
) -> None:
    async with host() as fabric:
        _operations, seen, _error = await run(fabric, kernel, numbers, "numbers.same", {"n": 1})
        assert [(one.kind, one.text) for one in seen] == [
            ("call", "numbers.same"),
            ("settled", "numbers.same"),
        ]
