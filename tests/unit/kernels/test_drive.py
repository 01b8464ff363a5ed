"""Between program and host: order, limits, waiting, sleeping, and nothing of the system."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolfabric.errors import InvokeError
from toolfabric.protocols import FaultKind, Limits
from toolfabric.testing.kernel_suite import RecordingBridge
from toolfabric.values import Json, Outcome

pytestmark = pytest.mark.anyio


class Answering(RecordingBridge):
    """Answers every call with one value, or raises it."""

    def __init__(self, answer: Json | BaseException) -> None:
        super().__init__()
        self._given = answer

    async def _answer(self, ref: str, args: Json) -> Json:
        if isinstance(self._given, BaseException):
            raise self._given
        return self._given


async def test_ten_thousand_calls_at_once_wait_for_room(run: Any) -> None:
    bridge = RecordingBridge()
    code = "import asyncio\nreturn len(await asyncio.gather(*[pi.read(path=str(n)) for n in range(10000)]))"
    assert (await run(code, bridge=bridge)).value == 10_000
    assert [args for _ref, args in bridge.calls] == [{"path": str(n)} for n in range(10_000)]
    assert 1 < bridge.most <= Limits().calls_in_flight


async def test_calls_start_when_they_are_made_and_overlap(run: Any) -> None:
    bridge = RecordingBridge()
    code = "a = pi.echo(value=1)\nb = pi.echo(value=2)\nreturn [await b, await a]"
    assert (await run(code, bridge=bridge)).value == [2, 1]
    assert [args for _ref, args in bridge.calls] == [{"value": 1}, {"value": 2}]


async def test_naps_overlap_with_calls_and_with_each_other(run: Any) -> None:
    code = (
        "import asyncio, time\ntime.sleep(0.01)\n"
        "return await asyncio.gather(*[asyncio.sleep(0.3, n) for n in range(200)], pi.echo(value='x'))"
    )
    async with asyncio.timeout(10):
        assert (await run(code)).value == [*range(200), "x"]


@pytest.mark.parametrize("seconds", ["-1", "0"])
async def test_a_nap_without_length_ends_at_once(run: Any, seconds: str) -> None:
    assert (await run(f"import asyncio\nreturn await asyncio.sleep({seconds}, 'up')")).value == "up"


@pytest.mark.parametrize(
    "asked",
    ["time.time()", "datetime.date.today()", "os.getenv('PATH')", "os.environ", "open('/etc/hostname')"],
)
async def test_the_system_is_refused_and_the_refusal_can_be_caught(run: Any, asked: str) -> None:
    code = f"import time, datetime, os\ntry:\n    {asked}\nexcept PermissionError as no:\n    return str(no)"
    assert str((await run(code)).value).startswith("the sandbox has no ")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"a": float("nan")}, "RuntimeError: the host's answer is not JSON"),
        (SystemExit(3), "RuntimeError: the host failed with SystemExit"),
        (KeyboardInterrupt(), "RuntimeError: the host failed with KeyboardInterrupt"),
        (InvokeError("it broke"), "RuntimeError: it broke"),
        (TimeoutError("late"), "TimeoutError: late"),
    ],
)
async def test_a_host_that_misbehaves_is_an_error_the_program_can_catch(
    run: Any, answer: Any, told: str
) -> None:
    code = 'try:\n    await pi.echo()\nexcept Exception as e:\n    return type(e).__name__ + ": " + str(e)'
    assert (await run(code, bridge=Answering(answer))).value == told


@pytest.mark.parametrize(
    "text", ["<function 'f' at 0xc>", "<coroutine object f>", "dict_keys(['a'])", "\ud800"]
)
async def test_an_answer_of_the_host_is_taken_as_it_is(run: Any, text: str) -> None:
    ended = await run(
        "return (await pi.echo()) == payloads['t']", bridge=Answering(text), program={"payloads": {"t": text}}
    )
    assert ended.value is True


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("x = 1\nfor n in range(30):\n    await pi.echo(value=n)", FaultKind.CALLS, 3),
        ("x = 'x' * 20000\nawait pi.echo(value=x)", FaultKind.VALUE, 2),
        ("x = 1\nr = await pi.read(path='x' * 9000)\nreturn [r] * 9", FaultKind.VALUE, None),
    ],
)
async def test_a_breach_is_told_where_it_happened(
    run: Any, code: str, kind: FaultKind, line: int | None
) -> None:
    ended = await run(code, calls=20, value_bytes=10_000)
    assert (ended.outcome, ended.faults[0].kind, ended.faults[0].line) == (Outcome.FAILED, kind, line)


async def test_an_answer_that_is_too_large_ends_the_run(run: Any) -> None:
    ended = await run("x = 1\nreturn await pi.echo()", bridge=Answering("x" * 20_000), value_bytes=10_000)
    assert (ended.faults[0].kind, ended.faults[0].line) == (FaultKind.VALUE, 2)
    assert "pi.echo" in ended.faults[0].message


async def test_answers_that_nobody_takes_are_bounded(run: Any) -> None:
    code = "for n in range(200):\n    pi.echo()\nawait pi.echo()\nreturn 1"
    ended = await run(
        code, bridge=Answering("x" * 1_000_000), memory_bytes=32 * 1024 * 1024, calls_in_flight=4
    )
    assert ended.faults[0].kind is FaultKind.MEMORY


async def test_printed_text_is_kept_up_to_the_limit_and_in_order_with_calls(run: Any) -> None:
    order: list[str] = []

    class Ordered(RecordingBridge):
        def log(self, text: str) -> None:
            order.append(text)

        async def call(self, ref: str, args: Json) -> Json:
            order.append(ref)
            return None

    await run('print("a")\nawait pi.echo()\nprint("b")', bridge=Ordered())
    assert order == ["a\n", "pi.echo", "b\n"]
    order.clear()
    ended = await run('while True:\n    print("abcdefg")', bridge=Ordered(), output_chars=1_000)
    assert ended.faults[0].kind is FaultKind.OUTPUT
    assert len("".join(order)) == 1_000


async def test_a_namespace_is_known_inside_a_callback_too(run: Any) -> None:
    code = "return sorted(['read', 'nothing'], key=lambda name: hasattr(pi, 'echo') and len(name))"
    assert (await run(code)).value == ["read", "nothing"]
