"""Running the provider: its errors, its results, its deadline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from toolfabric.errors import ApproveError, GuardError, InvokeError, ResolveError
from toolfabric.pipeline.invoke import invoke
from toolfabric.pipeline.records import Flight, Services
from toolfabric.policy.grants import call_digest
from toolfabric.protocols import Approval, CallContext
from toolfabric.values import Json, JsonObject

from .conftest import Bench

pytestmark = pytest.mark.anyio
GOOD: JsonObject = {"path": "a"}


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        ResolveError("not mine to say"),
        KeyboardInterrupt(),
        SystemExit(3),
        asyncio.CancelledError(),
        GeneratorExit(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_provider_raises_is_a_failure_at_invoke(bench: Bench, error: BaseException) -> None:
    def fail(_args: JsonObject, _context: CallContext) -> Json:
        raise error

    bench.tool.answer = fail
    with pytest.raises(InvokeError):
        await bench.call("tool.run", GOOD)
    assert bench.last() == ("failed", "invoke")


async def test_its_message_reaches_the_caller_bounded_and_harmless_but_never_the_trace(bench: Bench) -> None:
    def fail(_args: JsonObject, _context: CallContext) -> Json:
        raise ValueError("MARKER \x1b[31m" + "x" * 1_000_000)

    bench.tool.answer = fail
    with pytest.raises(InvokeError) as caught:
        await bench.call("tool.run", GOOD)
    text = str(caught.value)
    assert "MARKER" in text
    assert "\x1b" not in text
    assert len(text) < 10_000
    assert "MARKER" not in str(bench.operations())


@pytest.mark.parametrize(
    "value",
    [{1, 2}, b"x", object(), (1, 2), {1: 2}, float("nan"), float("inf")],
    ids=lambda value: type(value).__name__,
)
async def test_a_result_that_is_not_json_is_refused_and_named(bench: Bench, value: Any) -> None:
    bench.tool.answer = lambda _args, _context: value
    with pytest.raises(InvokeError, match="its result is not JSON"):
        await bench.call("tool.run", GOOD)


async def test_a_result_beyond_the_bound_is_cut_with_a_mark(bench: Bench) -> None:
    bench.settings["max_result_bytes"] = 1_000
    bench.tool.answer = lambda _args, _context: "x" * 5_000
    value = await bench.call("tool.run", GOOD)
    assert isinstance(value, str)
    assert len(value.encode()) <= 1_000
    assert "left out" in value


async def test_the_deadline_ends_it_and_is_recorded_as_timed_out(bench: Bench) -> None:
    told = asyncio.Event()

    async def wait(_args: JsonObject, _context: CallContext) -> Json:
        try:
            await asyncio.Event().wait()
        finally:
            told.set()

    bench.tool.answer = wait
    with pytest.raises(InvokeError, match="may have had an effect"):
        await bench.call("tool.run", GOOD, deadline=bench.clock.seconds + 0.02)
    assert told.is_set()
    assert bench.last()[0] == "timed_out"


async def test_a_plain_function_runs_beside_the_loop_and_hears_of_its_end(bench: Bench) -> None:
    import threading

    heard = threading.Event()

    class Plain(type(bench.tool)):
        name = "plain"

        def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:  # type: ignore[override]
            while not context.cancelled():
                pass
            heard.set()
            return None

    await bench.registry.mount(Plain())
    with pytest.raises(InvokeError):
        await bench.call("plain.run", GOOD, deadline=bench.clock.seconds + 0.02)
    assert heard.wait(5)


async def test_arguments_that_are_not_those_allowed_are_not_run(bench: Bench) -> None:
    action = bench.registry.resolve("tool.change")
    services = Services(registry=bench.registry, clock=bench.clock)
    context = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"))
    approval = Approval(granted=True, digest=call_digest(action.digest, "tool.change", GOOD))
    allowed = Flight(ref="tool.change", args=GOOD, context=context, action=action, approval=approval)
    await invoke(allowed, services)
    swapped = Flight(ref="tool.change", args={"path": "b"}, context=context, action=action, approval=approval)
    with pytest.raises(ApproveError, match="not those that were allowed"):
        await invoke(swapped, services)
    assert bench.tool.calls == [GOOD]


async def test_time_that_ran_out_while_somebody_was_asked_is_told_before_anything_runs(bench: Bench) -> None:
    action = bench.registry.resolve("tool.run")
    services = Services(registry=bench.registry, clock=bench.clock)
    late = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"), deadline=bench.clock.seconds)
    with pytest.raises(GuardError, match="so the call was not made"):
        await invoke(Flight(ref="tool.run", args=GOOD, context=late, action=action), services)
    assert bench.tool.calls == []


async def test_a_deeply_nested_result_is_refused_and_not_followed(bench: Bench) -> None:
    deep: list[Any] = []
    for _level in range(100_000):
        deep = [deep]
    bench.tool.answer = lambda _args, _context: deep
    with pytest.raises(InvokeError, match=r"its result is not JSON: .*more than the 200 levels"):
        await bench.call("tool.run", GOOD)


async def test_a_plain_function_may_raise_anything_too(bench: Bench) -> None:
    class Plain(type(bench.tool)):
        name = "plain"

        def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:  # type: ignore[override]
            raise SystemExit(3)

    await bench.registry.mount(Plain())
    with pytest.raises(InvokeError, match=r"^plain\.run: SystemExit: 3$"):
        await bench.call("plain.run", GOOD)
