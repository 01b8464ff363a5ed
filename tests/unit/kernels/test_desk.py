"""The event loop's side of a run."""

from __future__ import annotations

import asyncio
from queue import SimpleQueue

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
from toolfabric.kernels.desk import Answer, Call, Desk, Nap, Printed, failure_of
from toolfabric.values import Json

pytestmark = pytest.mark.anyio


class Recording:
    def __init__(self) -> None:
        self.order: list[str] = []
        self.running = 0
        self.gate = asyncio.Event()

    def log(self, text: str) -> None:
        self.order.append(f"log {text}")

    async def call(self, ref: str, args: Json) -> Json:
        self.order.append(ref)
        self.running += 1
        try:
            await self.gate.wait()
        finally:
            self.running -= 1
        return args


async def test_requests_are_served_in_the_order_in_which_they_were_posted() -> None:
    bridge, answers = Recording(), SimpleQueue[Answer | None]()
    desk = Desk(bridge, answers)

    def post() -> None:
        for number in range(50):
            desk.post(Call(number, f"x.{number}", number))
        desk.post(Printed("p"))

    await asyncio.to_thread(post)
    bridge.gate.set()
    assert await desk.drain(5)
    assert [one for one in bridge.order if one != "log p"] == [f"x.{number}" for number in range(50)]
    assert "log p" in bridge.order
    ended = [answers.get() for _number in range(50)]
    assert sorted(one.number for one in ended if one is not None) == list(range(50))
    await desk.close()


async def test_closing_ends_every_call_and_takes_no_more() -> None:
    bridge, answers = Recording(), SimpleQueue[Answer | None]()
    desk = Desk(bridge, answers)
    desk.post(Call(1, "x.run", None))
    desk.post(Nap(2, 3_600))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await desk.close()
    assert bridge.running == 0
    desk.post(Call(3, "x.late", None))
    desk.flush()
    assert "x.late" not in bridge.order


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ResolveError("m"), "LookupError"),
        (GuardError("m"), "PermissionError"),
        (PrepareError("m"), "ValueError"),
        (ValidateError("m"), "ValueError"),
        (ApproveError("m"), "PermissionError"),
        (InvokeError("m"), "RuntimeError"),
        (TimeoutError(), "TimeoutError"),
        (asyncio.CancelledError(), "RuntimeError"),
        (KeyError("SECRET"), "RuntimeError"),
    ],
)
def test_host_errors_become_builtin_ones_by_their_stage(error: BaseException, kind: str) -> None:
    failure = failure_of(error)
    assert failure.kind == kind
    assert "SECRET" not in failure.message
    assert not isinstance(error, CallError) or failure.message == "m"
