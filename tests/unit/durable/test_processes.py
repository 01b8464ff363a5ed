from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from toolfabric.durable.lock import FileLock
from toolfabric.durable.processes import CommandResult, run_bounded

pytestmark = pytest.mark.anyio

# Holds a lock for as long as it lives, says so on the pipe, and would live for ever.
HOLD = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(3600)
"""

# Starts the holder as a child and waits for its word; then ends, or stays.
PARENT = """
import subprocess, sys
holder, path, stay, apart = sys.argv[1], sys.argv[2], sys.argv[3] == "stay", sys.argv[4] == "apart"
command = [sys.executable, "-c", holder, path]
child = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=apart)
assert child.stdout.readline() == b"held\\n"
print(f"pid {child.pid}", flush=True)
if stay:
    child.wait()
"""


async def run(
    code: str,
    *arguments: str,
    cwd: Path,
    timeout: float | None = 50,  # noqa: ASYNC109 - passed on
    max_output: int = 10_000,
    env: Mapping[str, str] | None = None,
) -> CommandResult:
    command = [sys.executable, "-c", code, *arguments]
    return await run_bounded(command, cwd=cwd, env=env, timeout=timeout, max_output=max_output)


def freed(path: Path) -> bool:
    """Wait until whoever held the lock is dead; the test's own time limit bounds it."""
    with FileLock(path) as lock:
        return lock.held


async def test_a_program_gives_its_code_and_both_its_streams(tmp_path: Path) -> None:
    code = "import os, sys; os.write(1, b'out '); os.write(2, b'err'); sys.exit(3)"
    assert await run(code, cwd=tmp_path) == CommandResult(
        exit_code=3,
        signal=None,
        timed_out=False,
        head=b"out err",
        tail=b"",
        dropped_bytes=0,
        total_bytes=7,
        sha256=hashlib.sha256(b"out err").hexdigest(),
    )


async def test_both_ends_of_long_output_are_kept_and_all_of_it_is_hashed(tmp_path: Path) -> None:
    whole = b"".join(b"%07d\n" % number for number in range(50_000))
    code = "import sys; sys.stdout.write(''.join('%07d\\n' % n for n in range(50_000)))"
    found = await run(code, cwd=tmp_path, max_output=17)
    assert (found.head, found.tail) == (whole[:9], whole[-8:])
    assert (found.total_bytes, found.dropped_bytes) == (len(whole), len(whole) - 17)
    assert found.sha256 == hashlib.sha256(whole).hexdigest()
    assert found.text() == "0000000\n0\n[... 399983 bytes left out ...]\n0049999\n"
    assert found.succeeded


@pytest.mark.parametrize("room", [0, 1, 2, 6, 7, 8])
async def test_output_around_the_bound_is_whole_or_said_to_be_cut(tmp_path: Path, room: int) -> None:
    found = await run("print('abcdef')", cwd=tmp_path, max_output=room)
    assert len(found.head) + len(found.tail) == min(room, 7)
    assert found.dropped_bytes == max(0, 7 - room)
    assert b"abcdef\n".startswith(found.head)
    assert b"abcdef\n".endswith(found.tail)
    if room >= 7:
        assert found.text() == "abcdef\n"


async def test_text_that_is_not_utf_8_is_still_text(tmp_path: Path) -> None:
    found = await run("import os; os.write(1, b'a\\xffb')", cwd=tmp_path)
    assert found.text() == "a\ufffdb"


async def test_a_program_has_no_input_and_a_group_and_session_of_its_own(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.stdin.read() == '', os.getpgid(0) == os.getsid(0) == os.getpid())"
    assert (await run(code, cwd=tmp_path)).text() == "True True\n"


@pytest.fixture
def real(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def test_a_program_starts_in_its_folder_with_the_environment_given(tmp_path: Path, real: Path) -> None:
    code = "import os; print(os.getcwd(), sorted(set(os.environ) - {'LC_CTYPE'}))"
    found = await run(code, cwd=tmp_path, env={"ONLY": "this"})
    assert found.text() == f"{real} ['ONLY']\n"


async def test_a_program_that_a_signal_ended_has_no_exit_code(tmp_path: Path) -> None:
    found = await run("import os; os.kill(os.getpid(), 15)", cwd=tmp_path)
    assert (found.exit_code, found.signal, found.succeeded) == (None, signal.SIGTERM, False)


async def test_the_time_limit_kills_the_program_and_its_children(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    found = await run(PARENT, HOLD, str(lock), "stay", "together", cwd=tmp_path, timeout=1.5)
    assert (found.timed_out, found.signal, found.succeeded) == (True, signal.SIGKILL, False)
    assert freed(lock)


async def test_children_left_behind_are_killed_when_the_program_ends(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    found = await run(PARENT, HOLD, str(lock), "go", "together", cwd=tmp_path)
    assert found.succeeded
    assert freed(lock)


async def test_a_child_that_left_the_group_cannot_hold_up_the_caller(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    found = await run(
        PARENT.replace("stdout=subprocess.PIPE, ", "").replace(
            'assert child.stdout.readline() == b"held\\n"', "pass"
        ),
        HOLD,
        str(lock),
        "go",
        "apart",
        cwd=tmp_path,
    )
    assert found.exit_code == 0
    pid = int(found.text().split("pid ")[1].split()[0])
    os.kill(pid, signal.SIGKILL)  # it still lives: that is the limit the module names


async def test_cancellation_kills_the_group_before_it_is_passed_on(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    seen = anyio.Event()
    ended: list[CommandResult] = []

    async def command() -> None:
        ended.append(
            await run_bounded(
                [sys.executable, "-c", PARENT, HOLD, str(lock), "stay", "together"],
                cwd=tmp_path,
                env=None,
                timeout=None,
                max_output=100,
                observe=lambda _chunk: seen.set(),
            )
        )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(command)
        await seen.wait()
        tasks.cancel_scope.cancel()
    assert ended == []
    assert freed(lock)


async def test_an_observer_that_raises_ends_the_program(tmp_path: Path) -> None:
    def observe(_chunk: bytes) -> None:
        msg = "no more"
        raise LookupError(msg)

    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(lock)]
    with pytest.raises(LookupError, match="no more"):
        await run_bounded(command, cwd=tmp_path, env=None, timeout=None, max_output=9, observe=observe)
    assert freed(lock)


async def test_an_observer_that_raises_at_the_last_output_is_heard(tmp_path: Path) -> None:
    def observe(_chunk: bytes) -> None:
        msg = "no more"
        raise LookupError(msg)

    with pytest.raises(LookupError):
        await run_bounded(
            ["/bin/echo", "x"], cwd=tmp_path, env=None, timeout=None, max_output=9, observe=observe
        )


async def test_what_cannot_be_started_says_so(tmp_path: Path) -> None:
    async def start(*command: str) -> None:
        await run_bounded(command, cwd=tmp_path, env=None, timeout=1, max_output=1)

    with pytest.raises(FileNotFoundError):
        await start(str(tmp_path / "missing"))
    with pytest.raises(ValueError, match="empty"):
        await start()
    with pytest.raises(ValueError, match="null byte"):
        await start("/bin/echo", "a\0b")
