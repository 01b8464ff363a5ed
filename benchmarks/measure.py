"""How the benchmarks measure: interleaved rounds, medians, and a baseline in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured thing next to its baseline. Values are seconds."""

    what: str
    seconds: float
    baseline: str
    baseline_seconds: float

    @property
    def ratio(self) -> float:
        """How many times the baseline it takes."""
        return self.seconds / self.baseline_seconds


def interleaved(jobs: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Time each job once a round, in turn, so that a busy machine slows all of them; medians in seconds."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _round in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


async def interleaved_async(
    jobs: Mapping[str, Callable[[], Awaitable[object]]], *, rounds: int
) -> dict[str, float]:
    """As ``interleaved``, for coroutines."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _round in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            await job()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def spelled(seconds: float) -> str:
    """A time as people read it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
