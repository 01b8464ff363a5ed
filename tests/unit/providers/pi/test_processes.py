"""Programs in their own session: bounded output, and nothing left running."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.providers.pi.processes import Ended, Output, _drain, run_program

pytestmark = pytest.mark.anyio

LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not list processes")


async def sh(command: str, cwd: Path, limit: int = 10_000, timeout: float | None = None) -> Ended:  # noqa: ASYNC109
    return await run_program(["/bin/sh", "-c", command], cwd=cwd, limit=limit, timeout=timeout)


def gone(pid: int) -> bool:
    """Whether a process ended; one that was killed may need a moment, and a test's own time is bounded."""
    while alive(pid):
        pass
    return True


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {b"Z", b"X"}


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_both_outputs_come_back_in_order_with_the_exit_code(tmp_path: Path) -> None:
    assert await sh("echo a; echo b >&2; echo c; exit 3", tmp_path) == Ended(
        code=3, text="a\nb\nc\n", omitted=0
    )


async def test_it_runs_in_its_folder_and_has_nothing_to_read(tmp_path: Path) -> None:
    assert (await sh("cat; pwd -P", tmp_path)).text == f"{tmp_path}\n"


async def test_the_environment_can_be_given(tmp_path: Path) -> None:
    ended = await run_program(["/usr/bin/env"], cwd=tmp_path, limit=1_000, env={"ONLY": "this"})
    assert ended.text == "ONLY=this\n"


async def test_a_signal_is_told_as_a_negative_code(tmp_path: Path) -> None:
    assert (await sh("kill -9 $$", tmp_path)).code == -signal.SIGKILL


async def test_a_program_that_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    before = descriptors()
    with pytest.raises(FileNotFoundError):
        await run_program(["/no/such/program"], cwd=tmp_path, limit=1)
    with pytest.raises(ValueError, match="null"):
        await run_program(["/bin/sh", "a\0b"], cwd=tmp_path, limit=1)
    assert descriptors() == before


async def test_a_lot_of_output_keeps_both_ends(tmp_path: Path) -> None:
    ended = await sh(
        "echo begin; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end", tmp_path, limit=200
    )
    assert ended.text.startswith("begin\nxxx")
    assert ended.text.endswith("xxx\nend\n")
    assert f"…[{ended.omitted} bytes left out]…" in ended.text
    assert ended.omitted == 5_000_000 + len("begin\n\nend\n") - 200


async def test_a_program_out_of_time_is_killed_with_what_it_printed(tmp_path: Path) -> None:
    ended = await sh("echo before; sleep 1000; echo after", tmp_path, timeout=1.0)
    assert ended == Ended(code=None, text="before\n", omitted=0)


async def test_endless_output_does_not_outlive_its_time(tmp_path: Path) -> None:
    ended = await sh("yes", tmp_path, limit=100, timeout=1.0)
    assert ended.code is None
    assert ended.text.startswith("y\ny\n")
    assert ended.omitted > 0


LEFT_BEHIND = [
    "sleep 1000 & echo $!",
    "nohup sleep 1000 >/dev/null 2>&1 & echo $!",
    "(sleep 1000 & echo $!)",
    "(trap '' TERM HUP INT; sleep 1000 & echo $!)",
    "bash -c 'set -m; sleep 1000 & echo $!'",
    "bash -c 'set -m; (sleep 1000 & echo $!) & wait' 2>/dev/null",
]


@LINUX
@pytest.mark.parametrize("command", LEFT_BEHIND)
async def test_what_a_program_leaves_behind_is_killed_and_not_waited_for(
    command: str, tmp_path: Path
) -> None:
    ended = await sh(command, tmp_path)
    assert ended.code == 0
    assert gone(int(ended.text))


@LINUX
@pytest.mark.parametrize("command", [*LEFT_BEHIND, "setsid sleep 1000 & echo $!"])
async def test_everything_is_killed_when_the_call_is_cancelled(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    whole = f"{{ {command}; }} > pid; echo > started; sleep 1000"
    task = asyncio.ensure_future(sh(whole, tmp_path))
    await asyncio.get_running_loop().run_in_executor(None, (tmp_path / "started").read_bytes)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(int((tmp_path / "pid").read_text()))


async def test_many_at_once_do_not_mix_and_leave_no_descriptor(tmp_path: Path) -> None:
    await sh("true", tmp_path)
    before = descriptors()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(sh(f"echo {number}; exit {number}", tmp_path)) for number in range(30)]
    assert [task.result() for task in tasks] == [Ended(code=n, text=f"{n}\n", omitted=0) for n in range(30)]
    assert descriptors() == before


async def test_it_works_where_the_system_has_no_process_descriptors(tmp_path: Path) -> None:
    """The same without ``pidfd_open``, in an interpreter of its own."""
    program = (
        "import asyncio, os, sys\n"
        "del os.pidfd_open\n"
        "from pathlib import Path\n"
        "from toolfabric.providers.pi.processes import run_program\n"
        "run = lambda text, **how: asyncio.run(\n"
        "    run_program(['/bin/sh', '-c', text], cwd=Path(sys.argv[1]), limit=99, **how))\n"
        "print(run('sleep 1000 & exit 3').code, run('sleep 1000', timeout=0.1).code)\n"
    )
    ended = await run_program([sys.executable, "-c", program, str(tmp_path)], cwd=tmp_path, limit=2_000)
    assert ended == Ended(code=0, text="3 None\n", omitted=0)


@LINUX
def test_what_is_still_in_the_pipe_is_taken_though_somebody_holds_it_open() -> None:
    read_end, write_end = os.pipe()
    try:
        room = fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 512 * 1024)
        os.set_blocking(read_end, False)
        os.write(write_end, b"x" * room)
        output = Output(2 * room)
        _drain(read_end, output)
        assert output.text() == "x" * room
    finally:
        os.close(read_end)
        os.close(write_end)


@given(pieces=st.lists(st.binary(max_size=30), max_size=20), limit=st.integers(2, 60))
def test_output_is_whole_or_both_ends_with_the_exact_count(pieces: list[bytes], limit: int) -> None:
    output = Output(limit)
    for piece in pieces:
        output.add(piece)
    whole = b"".join(pieces)
    half = limit // 2
    if len(whole) <= 2 * half:
        assert (output.text(), output.omitted) == (whole.decode("utf-8", "replace"), 0)
    else:
        assert output.omitted == len(whole) - 2 * half
        assert f"…[{output.omitted} bytes left out]…" in output.text()


@given(text=st.text(alphabet="aé日🙂", min_size=30), limit=st.integers(2, 40))
def test_a_cut_never_splits_a_character(text: str, limit: int) -> None:
    output = Output(limit)
    output.add(text.encode())
    assert "\ufffd" not in output.text()
