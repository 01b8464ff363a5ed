"""A process that leaves its loop with a program going on ends with its own exit status all the same.

The sandbox's asynchronous client can abort a process at its end (status 134), at random; the kernel does
not use it, and ends its threads while they can still take the interpreter's lock.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

COMMON = """
import asyncio
from toolfabric.kernels.python_host import PythonKernel
from toolfabric.protocols import ActionDeclaration, Limits, Program

class Bridge:
    async def call(self, ref, args):
        await asyncio.sleep(600 if args else 0)
        return 7
    def log(self, text):
        pass

kernel = PythonKernel()
program = lambda code: Program(
    code=code, actions=(ActionDeclaration(ref="pi.read", description="", input_schema={}),)
)

async def main():
    ended = await kernel.run(program("return await pi.read()"), Bridge(), Limits())
    assert ended.value == 7, ended
"""
ENDINGS = {
    "computing": """
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
task = loop.create_task(kernel.run(program("while True:\\n    pass"), Bridge(), Limits()))
loop.call_later(0.05, loop.stop)
loop.run_forever()
task._log_destroy_pending = False
""",
    "waiting": """
loop = asyncio.new_event_loop()
task = loop.create_task(kernel.run(program("await pi.read(x=1)"), Bridge(), Limits()))
loop.call_later(0.2, loop.stop)
loop.run_forever()
task._log_destroy_pending = False
""",
}


def statuses(script: str, times: int, at_once: int) -> Iterator[int]:
    """The exit statuses of a script, run so many times, some at once."""
    for start in range(0, times, at_once):
        group = [
            subprocess.Popen(
                [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            for _one in range(min(at_once, times - start))
        ]
        for process in group:
            with process:
                process.communicate(timeout=50)
                yield process.returncode


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_loop_that_was_left_does_not_keep_the_process(ending: str) -> None:
    assert list(statuses(COMMON + ENDINGS[ending], 10, 4)) == [0] * 10


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ending", ENDINGS)
def test_it_does_so_every_time(ending: str) -> None:
    assert list(statuses(COMMON + ENDINGS[ending], 200, 4)) == [0] * 200


def test_an_error_of_the_script_keeps_its_status() -> None:
    assert set(statuses(COMMON + "asyncio.run(main())\nraise SystemExit(5)", 4, 4)) == {5}
