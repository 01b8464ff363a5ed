"""A call through all steps: stages, records, cancellation, concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from toolfabric.errors import (
    ApproveError,
    CallError,
    GuardError,
    InvokeError,
    PrepareError,
    ResolveError,
    ValidateError,
)
from toolfabric.pipeline.run import STEPS
from toolfabric.policy.budgets import Budgets
from toolfabric.policy.risk import RiskPolicy
from toolfabric.protocols import CallContext, Verdict
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import Json, JsonObject

from .conftest import ALLOW_ALL, Bench, Guarding

pytestmark = pytest.mark.anyio
GOOD: JsonObject = {"path": "a.txt"}


def _fail(*_args: object) -> Any:
    raise ValueError("SECRET")


def at_resolve(bench: Bench) -> tuple[str, Json]:
    return "tool.rum", GOOD


def at_guard(bench: Bench) -> tuple[str, Json]:
    bench.settings["guards"] = (Guarding(Verdict.BLOCK, "not in this session"),)
    return "tool.run", GOOD


def at_prepare(bench: Bench) -> tuple[str, Json]:
    bench.tool.preparing = _fail
    return "tool.run", GOOD


def at_validate(bench: Bench) -> tuple[str, Json]:
    return "tool.run", {"path": 7}


def at_approve(bench: Bench) -> tuple[str, Json]:
    bench.settings["policy"] = RiskPolicy(read="deny")  # type: ignore[arg-type]
    return "tool.run", GOOD


def at_invoke(bench: Bench) -> tuple[str, Json]:
    bench.tool.answer = _fail
    return "tool.run", GOOD


STAGES: list[tuple[Callable[[Bench], tuple[str, Json]], type[CallError]]] = [
    (at_resolve, ResolveError),
    (at_guard, GuardError),
    (at_prepare, PrepareError),
    (at_validate, ValidateError),
    (at_approve, ApproveError),
    (at_invoke, InvokeError),
]


@pytest.mark.parametrize(("provoke", "kind"), STAGES, ids=[kind.__name__ for _provoke, kind in STAGES])
async def test_every_stage_fails_with_its_own_class_and_is_recorded_with_its_stage(
    bench: Bench, provoke: Callable[[Bench], tuple[str, Json]], kind: type[CallError]
) -> None:
    ref, args = provoke(bench)
    with pytest.raises(kind) as caught:
        await bench.call(ref, args)
    assert type(caught.value) is kind
    assert bench.last() == ("failed", str(kind.stage))
    (audit,) = bench.audits.to_json(1_000_000)
    assert (audit["args"], audit["failureStage"]) == (args, str(kind.stage))
    assert "SECRET" not in str(bench.operations())


@pytest.mark.parametrize(
    ("provoke", "kind"), STAGES[:-1], ids=[kind.__name__ for _provoke, kind in STAGES[:-1]]
)
async def test_a_call_refused_before_invoke_has_had_no_effect(
    bench: Bench, provoke: Callable[[Bench], tuple[str, Json]], kind: type[CallError]
) -> None:
    ref, args = provoke(bench)
    with pytest.raises(kind):
        await bench.call(ref, args)
    assert bench.tool.calls == []


async def test_a_canonical_call_hands_over_the_very_object_it_was_given(bench: Bench) -> None:
    del type(bench.tool).prepare_arguments  # a provider without the hook
    try:
        args: JsonObject = {"path": "a"}
        assert await bench.call("tool.run", args) == {"ok": True}
    finally:
        type(bench.tool).prepare_arguments = lambda self, _name, given: self.preparing(given)  # type: ignore[method-assign]
    assert bench.tool.calls[0] is args
    assert bench.last() == ("succeeded", None)


async def test_no_arguments_are_an_empty_object(bench: Bench) -> None:
    with pytest.raises(ValidateError, match=r"\$\.path: required"):
        await bench.call("tool.run", None)


@pytest.mark.parametrize("args", ["text", 3, ["a"], True])
async def test_arguments_that_are_no_object_are_refused_at_validate(bench: Bench, args: Json) -> None:
    with pytest.raises(ValidateError, match="one object of names and values"):
        await bench.call("tool.run", args)


async def test_arguments_a_hundred_levels_deep_are_refused_with_the_bound(bench: Bench) -> None:
    deep: Json = "x"
    for _level in range(100):
        deep = [deep]
    with pytest.raises(ValidateError, match="more than the 64 levels that are taken"):
        await bench.call("tool.run", {"path": deep})
    assert bench.last() == ("failed", "validate")


async def test_arguments_beyond_the_size_limit_are_refused(bench: Bench) -> None:
    bench.settings["max_args_bytes"] = 1_000
    with pytest.raises(ValidateError, match="at most 1000 are taken"):
        await bench.call("tool.run", {"path": "x" * 2_000})


async def test_cancellation_is_recorded_and_reaches_the_provider(bench: Bench) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def wait(_args: JsonObject, _context: CallContext) -> Json:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    bench.tool.answer = wait
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.call("tool.run", GOOD))
        await started.wait()
        task.cancel()
    assert task.cancelled()
    assert ended.is_set()
    assert bench.last() == ("aborted", None)


async def test_concurrent_calls_are_recorded_in_the_order_in_which_they_were_made(bench: Bench) -> None:
    gates = [asyncio.Event() for _call in range(20)]

    async def gated(args: JsonObject, _context: CallContext) -> Json:
        await gates[int(str(args["count"]))].wait()
        return args["count"]

    bench.tool.answer = gated
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(bench.call("tool.run", {"path": f"{number}.txt", "count": number}))
            for number in range(20)
        ]
        for number in reversed(range(20)):
            gates[number].set()
            await tasks[number]
    audits = bench.audits.to_json(1_000_000)
    assert [audit["sequence"] for audit in audits] == list(range(1, 21))
    assert [audit["result"] for audit in audits] == list(range(20))


async def test_ten_thousand_concurrent_calls_share_a_bounded_number_of_places(bench: Bench) -> None:
    running, most = 0, 0

    async def count(_args: JsonObject, _context: CallContext) -> Json:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return None

    bench.tool.answer = count
    bench.settings["budgets"] = budgets = Budgets(calls_in_flight=64)
    async with asyncio.TaskGroup() as group:
        for _call in range(10_000):
            group.create_task(bench.call("tool.run", GOOD))
    assert 1 < most <= 64
    assert budgets.executions() == 0
    trace = bench.recorder.seal(bench.operations()[0].outcome)
    assert len(trace.operations) + trace.counts.dropped_operations == 10_000


async def test_places_come_back_whatever_a_call_ends_in(bench: Bench) -> None:
    bench.settings["budgets"] = budgets = Budgets(calls_in_flight=1)
    for provoke, _kind in STAGES:
        bench.settings.update(policy=ALLOW_ALL, guards=())
        ref, args = provoke(bench)
        with pytest.raises(CallError):
            await bench.call(ref, args)
    assert budgets.executions() == 0


@pytest.mark.requirement("ENT-068", "ENT-069", "ENT-071", "ENT-080")
def test_the_order_of_the_steps_is_the_agreed_one() -> None:
    """Guard before any provider code, forms after preparation and before the schema, approval last."""
    assert [step.__name__ for step in STEPS] == [
        "resolve",
        "guard",
        "repair",
        "prepare",
        "normalize",
        "validate",
        "approve",
        "invoke",
    ]


async def test_the_provider_is_free_after_every_kind_of_end(bench: Bench) -> None:
    for provoke, _kind in STAGES:
        bench.settings.update(policy=ALLOW_ALL, guards=())
        ref, args = provoke(bench)
        with pytest.raises(CallError):
            await bench.call(ref, args)
    await bench.registry.unmount("tool")


async def test_a_call_in_flight_keeps_its_action_while_the_provider_goes(bench: Bench) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    async def wait(_args: JsonObject, _context: CallContext) -> Json:
        started.set()
        await gate.wait()
        return "done"

    bench.tool.answer = wait
    async with asyncio.TaskGroup() as group:
        call = group.create_task(bench.call("tool.run", GOOD))
        await started.wait()
        going = group.create_task(bench.registry.unmount("tool"))
        await asyncio.sleep(0)
        with pytest.raises(ResolveError):
            await bench.call("tool.run", GOOD)
        assert not going.done()
        gate.set()
    assert call.result() == "done"


async def test_a_call_cancelled_while_it_waits_for_a_place_is_recorded_and_had_no_effect(
    bench: Bench,
) -> None:
    bench.settings["budgets"] = budgets = Budgets(calls_in_flight=1)
    started, gate = asyncio.Event(), asyncio.Event()

    async def wait(_args: JsonObject, _context: CallContext) -> Json:
        started.set()
        await gate.wait()
        return None

    bench.tool.answer = wait
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.call("tool.run", GOOD))
        await started.wait()
        waiting = group.create_task(bench.call("tool.run", {"path": "second"}))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        gate.set()
    assert bench.tool.calls == [GOOD]
    assert [str(one.outcome) for one in bench.operations()] == ["succeeded", "aborted"]
    assert budgets.executions() == 0


async def test_a_record_that_cannot_be_kept_loses_no_place_and_no_lease(bench: Bench) -> None:
    bench.settings["budgets"] = budgets = Budgets(calls_in_flight=1)

    def full(event: JsonObject) -> None:
        if event["event"] == "settle":
            raise OSError("no space left")

    bench.recorder = TraceRecorder(observe=full)
    with pytest.raises(OSError, match="no space left"):
        await bench.call("tool.run", GOOD)
    assert budgets.executions() == 0
    await bench.registry.unmount("tool")


async def test_two_calls_of_one_program_share_nothing_that_one_could_change(bench: Bench) -> None:
    def spoil(args: JsonObject, _context: CallContext) -> Json:
        args["path"] = "spoilt"
        return args["path"]

    bench.tool.answer = spoil
    await bench.call("tool.run", {"path": "a"})
    (audit,) = bench.audits.to_json(10_000)
    assert audit["args"] == {"path": "a"}
