"""``pi.bash``: a command's end as a value or as an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import InvokeError
from toolfabric.protocols import CallContext
from toolfabric.providers.pi import PiLimits, PiProvider

pytestmark = pytest.mark.anyio


async def test_a_command_that_succeeds_gives_its_output(call: Any, ws: Path) -> None:
    (ws / "f").write_text("content")
    assert await call("bash", command="cat f; echo; echo error >&2") == {
        "ok": True,
        "output": "content\nerror\n",
        "details": {"exitCode": 0},
    }


async def test_a_command_that_fails_raises_with_what_it_printed(call: Any) -> None:
    with pytest.raises(InvokeError) as caught:
        await call("bash", command="echo one; echo two >&2; exit 3")
    assert str(caught.value) == "the command ended with exit code 3\none\ntwo"
    with pytest.raises(InvokeError, match="exit code 1; it printed nothing"):
        await call("bash", command="false")


async def test_settle_gives_a_failure_as_a_value(call: Any) -> None:
    assert await call("bash", command="echo one; exit 3", settle=True) == {
        "ok": False,
        "output": "one\n",
        "details": {"exitCode": 3},
    }
    assert (await call("bash", command="true", settle=True))["ok"] is True


async def test_time_that_runs_out_is_an_error_or_a_value(call: Any) -> None:
    with pytest.raises(InvokeError, match=r"ran out of time after 1 s and was killed with all .*\nbefore"):
        await call("bash", command="echo before; sleep 1000", timeout=1)
    assert await call("bash", command="echo before; sleep 1000", timeout=1, settle=True) == {
        "ok": False,
        "output": "before\n",
        "details": {"exitCode": None, "timedOut": True},
    }


async def test_a_shell_ended_by_a_signal_is_told(call: Any) -> None:
    with pytest.raises(InvokeError, match="ended by SIGTERM"):
        await call("bash", command="kill -TERM $$")
    assert (await call("bash", command="kill -TERM $$", settle=True))["details"] == {
        "exitCode": 143,
        "signal": "SIGTERM",
    }


async def test_what_was_left_out_of_long_output_is_counted(caller: Callable[..., Any]) -> None:
    call = caller(limits=PiLimits(output_bytes=100))
    result = await call("bash", command="seq 1000")
    assert result["output"].startswith("1\n2\n")
    assert result["output"].endswith("999\n1000\n")
    assert result["details"] == {
        "exitCode": 0,
        "omittedBytes": len("".join(f"{n}\n" for n in range(1, 1001))) - 100,
    }


async def test_the_error_text_keeps_both_ends_and_no_control_characters(call: Any) -> None:
    with pytest.raises(InvokeError) as caught:
        await call("bash", command=r"printf '\033[31mbegin\n'; seq 100000; echo end; exit 1")
    message = str(caught.value)
    assert "begin" in message
    assert message.endswith("end")
    assert "\x1b" not in message
    assert len(message) < 2_000


async def test_binary_output_is_shown_as_text(call: Any) -> None:
    result = await call("bash", command=r"printf 'a\377\376b\000c'")
    assert result["output"] == "a\ufffd\ufffdb\0c"


async def test_it_is_bash_where_there_is_one(call: Any) -> None:
    assert (await call("bash", command="[[ -n $BASH_VERSION ]] && echo {a,b}"))["output"] == "a b\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("a\0b", "NUL character"),
        ("\ud800", "surrogate"),
        ("true " + "x" * 3_000_000, "longer than the system takes"),
    ],
)
async def test_a_command_that_cannot_be_started_says_why(command: str, message: str, call: Any) -> None:
    with pytest.raises(InvokeError, match=message):
        await call("bash", command=command)


async def test_the_environment_can_be_set(ws: Path) -> None:
    provider = PiProvider(ws, files=RealFiles(), env={"GREETING": "hello", "PATH": "/usr/bin:/bin"})
    context = CallContext(invocation_id="i", call_id="fabric_1", cwd=ws)
    result: Any = await provider.invoke("bash", {"command": "echo $GREETING"}, context)
    provider.close()
    assert result["output"] == "hello\n"


async def test_a_workspace_that_vanished_runs_nothing(caller: Callable[..., Any], ws: Path) -> None:
    calls = [caller(), caller(allow_outside=True)]
    (ws.parent / "ws").rmdir()
    for call in calls:
        with pytest.raises(InvokeError, match=r"the workspace .* is gone"):
            await call("bash", command=f"touch {ws.parent}/ran")
    assert not (ws.parent / "ran").exists()
