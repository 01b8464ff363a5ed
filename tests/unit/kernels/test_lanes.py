"""Threads for programs."""

from __future__ import annotations

import threading

import pytest

from toolfabric.kernels.lanes import Lanes


def test_no_more_jobs_run_at_once_than_there_are_lanes() -> None:
    lanes: Lanes[int] = Lanes(2, "test")
    running, most = 0, 0
    lock, gate = threading.Lock(), threading.Event()

    def job() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(5)
        with lock:
            running -= 1
        return 1

    futures = [lanes.submit(job) for _job in range(6)]
    gate.set()
    assert sum(future.result(5) for future in futures) == 6
    assert most <= 2
    assert lanes.close(within=5)


def test_an_error_is_the_futures_and_the_lane_goes_on() -> None:
    lanes: Lanes[int] = Lanes(1, "test")

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        lanes.submit(fail).result(5)
    assert lanes.submit(lambda: 2).result(5) == 2
    lanes.close(within=5)
    with pytest.raises(RuntimeError, match="closed"):
        lanes.submit(lambda: 3)
