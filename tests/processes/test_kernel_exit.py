"""A host that used the kernel ends: silently, with its own exit code, and at once when interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import asyncio
from toolfabric.kernels.python_host import PythonKernel
from toolfabric.protocols import Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge

class Loud(RecordingBridge):
    def __init__(self):
        super().__init__()
        self.heard = asyncio.Event()

    def log(self, text):
        print(text, end="", flush=True)
        self.heard.set()

async def run(kernel, code, bridge=None):
    program = Program(code=code, actions=ACTIONS)
    return await kernel.run(program, bridge or Loud(), Limits(timeout_ms=50_000))
"""

CLOSED = """
async def main():
    kernel = PythonKernel()
    ended = await run(kernel, "return await pi.echo(value=7)")
    await kernel.close()
    print(ended.value)

asyncio.run(main())
"""

LEFT_OPEN = """
async def main():
    ended = await run(PythonKernel(), "return await pi.echo(value=7)")
    print(ended.value)

asyncio.run(main())
"""

KEPT_BY_A_MODULE = """
kernel = PythonKernel()
print(asyncio.run(run(kernel, "return await pi.echo(value=7)")).value)
"""

CANCELLED = """
async def main():
    bridge = Loud()
    task = asyncio.create_task(run(PythonKernel(), "print('7')\\nwhile True:\\n    pass", bridge))
    await bridge.heard.wait()
    task.cancel()
    await asyncio.wait({task})

asyncio.run(main())
"""

ENDINGS = {"closed": CLOSED, "left open": LEFT_OPEN, "kept": KEPT_BY_A_MODULE, "cancelled": CANCELLED}

INTERRUPTED = """
try:
    asyncio.run(run(PythonKernel(), {code!r}))
except KeyboardInterrupt:
    print("interrupted")
"""


def ended(script: str, cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", RUN + script],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=50,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("script", ENDINGS.values(), ids=ENDINGS)
def test_the_host_ends_silently(script: str, tmp_path: Path) -> None:
    assert {ended(script, tmp_path) for _time in range(10)} == {(0, "7\n", "")}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", ENDINGS.values(), ids=ENDINGS)
def test_the_host_ends_silently_every_time(script: str, tmp_path: Path) -> None:
    assert {ended(script, tmp_path) for _time in range(60)} == {(0, "7\n", "")}


@pytest.mark.parametrize(
    "code",
    ["print('here')\nwhile True:\n    pass", "print('here')\nawait pi.hang()"],
    ids=["computing", "waiting"],
)
def test_an_interrupt_ends_the_host_and_its_worker(code: str, tmp_path: Path) -> None:
    host = subprocess.Popen(
        [sys.executable, "-P", "-W", "error", "-c", RUN + INTERRUPTED.format(code=code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "here\n"
        workers = children(host.pid)
        host.send_signal(signal.SIGINT)
        # The pipes close only once no process holds them, the worker included.
        out, err = host.communicate(timeout=20)
    finally:
        host.kill()
        host.wait()
    assert (host.returncode, out, err) == (0, "interrupted\n", "")
    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def children(pid: int) -> list[str]:
    """The direct children of a process, started by whichever of its threads."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for one in lists for child in one.read_text(encoding="ascii").split()]
