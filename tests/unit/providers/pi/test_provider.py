"""The provider as a whole: what it offers, how it is cancelled and closed, and under load."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import InvokeError, PathError, PrepareError
from toolfabric.protocols import CallContext, Provider
from toolfabric.providers.pi import PiProvider
from toolfabric.providers.pi import provider as module
from toolfabric.providers.pi.schemas import SPECS
from toolfabric.values import JsonObject

pytestmark = pytest.mark.anyio


def test_it_is_a_provider_with_seven_actions(make: Callable[..., PiProvider]) -> None:
    pi = make()
    assert isinstance(pi, Provider)
    assert (pi.name, tuple(pi.list())) == ("pi", SPECS)
    assert [pi.describe(spec.name) for spec in SPECS] == list(SPECS)
    assert pi.describe("open") is None


async def test_an_unknown_action_says_which_there_are(call: Any) -> None:
    with pytest.raises(
        InvokeError, match=r"pi has no action 'op\\x1ben'; it has read, grep, find, ls, edit, write, bash"
    ):
        await call.provider.invoke("op\x1ben", {}, call.context)


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_workspace_that_is_no_folder_cannot_be_opened(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for outside in (False, True):
        with pytest.raises(PathError, match="cannot be opened"):
            PiProvider(tmp_path / name, files=RealFiles(), allow_outside=outside)


def test_only_edit_is_prepared(make: Callable[..., PiProvider]) -> None:
    pi = make()
    args: Any = {"path": "f", "edits": "[]"}
    assert pi.prepare_arguments("read", args) is args
    assert pi.prepare_arguments("edit", args) == {"path": "f", "edits": []}
    with pytest.raises(PrepareError):
        pi.prepare_arguments("edit", {"path": "f", "edits": "x"})


async def test_after_closing_a_call_says_so(call: Any) -> None:
    call.provider.close()
    call.provider.close()
    with pytest.raises(InvokeError, match="closed"):
        await call("ls")


async def test_a_thousand_calls_at_once_are_all_answered(call: Any, ws: Path) -> None:
    for number in range(1_000):
        (ws / f"{number}").write_text(str(number))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call("read", path=str(number))) for number in range(1_000)]
    assert [task.result()["text"] for task in tasks] == [str(number) for number in range(1_000)]


async def test_a_cancelled_call_waits_for_its_thread_and_leaves_no_change_behind() -> None:
    context = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path())
    entered, ended = threading.Event(), threading.Event()

    def work(stopped: Callable[[], bool]) -> None:
        entered.set()
        while not stopped():
            threading.Event().wait(0.001)
        ended.set()
        raise InvokeError("stopped")

    task = asyncio.ensure_future(module._in_thread(work, context))
    await asyncio.get_running_loop().run_in_executor(None, entered.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_call_that_the_context_cancels_stops_too(make: Callable[..., PiProvider], ws: Path) -> None:
    (ws / "f").write_text("a\n")
    context = CallContext(invocation_id="i", call_id="fabric_1", cwd=ws, cancelled=lambda: True)
    calls: list[tuple[str, JsonObject]] = [
        ("read", {"path": "f"}),
        ("grep", {"pattern": "a"}),
        ("find", {"pattern": "*"}),
        ("edit", {"path": "f", "oldText": "a", "newText": "b"}),
        ("write", {"path": "g", "content": "b"}),
    ]
    for name, args in calls:
        with pytest.raises(InvokeError, match="cancelled"):
            await make().invoke(name, args, context)
    assert not (ws / "g").exists()
    assert (ws / "f").read_text() == "a\n"
