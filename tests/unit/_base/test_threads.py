"""Threads that are used again, and that nothing waits for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from toolfabric._base.threads import run_in_thread


def run(jobs: int) -> set[threading.Thread]:
    """Run jobs one after the other, and give the threads that they ran in."""
    used: set[threading.Thread] = set()
    for _job in range(jobs):
        done = threading.Event()

        def job(done: threading.Event = done) -> None:
            used.add(threading.current_thread())
            done.set()

        run_in_thread(job)
        assert done.wait(30)
    return used


def test_an_idle_thread_is_used_again() -> None:
    assert len(run(200)) < 100


def test_jobs_that_block_each_get_a_thread_of_their_own() -> None:
    everybody = threading.Barrier(50)
    done = threading.Semaphore(0)

    def job() -> None:
        everybody.wait(30)
        done.release()

    for _job in range(50):
        run_in_thread(job)
    assert all(done.acquire(timeout=30) for _job in range(50))


def test_of_many_threads_a_few_stay() -> None:
    program = (
        "import threading, time; from toolfabric._base.threads import run_in_thread as r\n"
        "everybody = threading.Barrier(80)\n"
        "for _ in range(80):\n"
        "    r(lambda: everybody.wait() and None)\n"
        "while threading.active_count() > 33:\n"
        "    time.sleep(0.001)\n"
        "print('few')"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "few\n"


def test_the_interpreter_ends_while_a_job_still_runs() -> None:
    program = (
        "import threading; from toolfabric._base.threads import run_in_thread as r; "
        "s = threading.Event(); r(lambda: (s.set(), threading.Event().wait())); s.wait(); print('end')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert (ran.stdout, ran.stderr) == ("end\n", "")


def test_a_forked_child_starts_threads_of_its_own() -> None:
    program = (
        "import os, threading; from toolfabric._base.threads import run_in_thread as r\n"
        "def once():\n"
        "    done = threading.Event(); r(done.set); assert done.wait(20)\n"
        "once(); once()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    once(); os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    environ = {**os.environ, "PYTHONWARNINGS": "ignore"}  # a newer Python warns of forking with threads
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, env=environ
    )
    assert ran.stdout == "7\n"
