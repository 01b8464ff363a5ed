"""Ending a run from outside kills the worker that computes for it, and no other process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from toolfabric.kernels.desk import Answer, Desk
from toolfabric.kernels.runs import Ended, Run
from toolfabric.protocols import FaultKind, Limits, Program
from toolfabric.testing.kernel_suite import RecordingBridge

pytestmark = pytest.mark.anyio


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def a_run() -> Run:
    answers: SimpleQueue[Answer | None] = SimpleQueue()
    return Run(Program(code=""), Limits(), {}, Desk(RecordingBridge(), answers), answers)


async def test_stopping_kills_the_worker_and_wakes_the_thread(worker: subprocess.Popen[bytes]) -> None:
    run = a_run()
    with run.holding(worker.pid):
        run.stop(FaultKind.TIME)
        assert await asyncio.to_thread(worker.wait) == -signal.SIGKILL
    assert (run.stopped, run.answers.get_nowait()) == (FaultKind.TIME, None)


async def test_a_worker_that_was_given_back_is_not_killed(worker: subprocess.Popen[bytes]) -> None:
    run = a_run()
    with run.holding(worker.pid):
        pass
    run.stop(FaultKind.TIME)
    assert worker.poll() is None


async def test_the_first_reason_stands_and_a_stopped_run_does_not_begin(
    worker: subprocess.Popen[bytes],
) -> None:
    run = a_run()
    run.stop(FaultKind.CANCELLED)
    run.stop(FaultKind.TIME)
    assert run.stopped is FaultKind.CANCELLED
    with pytest.raises(Ended), run.holding(worker.pid):
        pass
    assert worker.poll() is None


async def test_a_worker_that_ended_by_itself_is_no_trouble(worker: subprocess.Popen[bytes]) -> None:
    run = a_run()
    with run.holding(worker.pid):
        worker.kill()
        worker.wait()
        run.stop(FaultKind.TIME)
    assert run.stopped is FaultKind.TIME
