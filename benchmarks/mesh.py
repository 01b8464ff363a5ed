"""What durable appends and swaps cost, in one process and in four, next to bare SQLite with the same pragmas.

Times are per change, over all processes together. "Bare SQLite" is an insert, or a read and an update, each
in a transaction of its own on a connection that does nothing else. "At once" has many tasks in each process,
whose changes the mesh commits in groups. All variants of a round run one after the other, each on a database
of its own.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import apsw
from measure import Row

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.mesh.records import Draft
from toolfabric.mesh.sqlite_store import SqliteMesh

ROUNDS = 3
CHANGES = 320
AT_ONCE = 32
TEXT = "x" * 300
BUSY_MS = 30_000


def run() -> list[Row]:
    """Measure each variant ``ROUNDS`` times in turn."""
    variants = [
        (what, kind, processes)
        for processes in (1, 4)
        for what in ("append", "swap")
        for kind in ("bare", "mesh", "at once")
    ]
    times: dict[tuple[str, str, int], list[float]] = {variant: [] for variant in variants}
    for _round in range(ROUNDS):
        for variant in variants:
            times[variant].append(seconds_per_change(*variant))
    found = {variant: statistics.median(measured) for variant, measured in times.items()}
    return [
        Row(
            what=f"mesh {what}, {'one process' if processes == 1 else f'{processes} processes'}"
            + (f", {AT_ONCE} at once" if kind == "at once" else ""),
            seconds=found[what, kind, processes],
            baseline="bare SQLite, same pragmas and processes",
            baseline_seconds=found[what, "bare", processes],
        )
        for what, kind, processes in variants
        if kind != "bare"
    ]


def seconds_per_change(what: str, kind: str, processes: int) -> float:
    """Start the processes, let them go together, and divide the time until the last one by all changes."""
    with tempfile.TemporaryDirectory() as folder:
        children = [
            subprocess.Popen(
                [sys.executable, __file__, folder, what, kind, f"p{number}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(processes)
        ]
        for child in children:
            assert child.stdout is not None  # noqa: S101 -- it was asked for
            child.stdout.readline()
        spans = [json.loads(said) for said in _let_go(children)]
    changes = CHANGES * processes
    return (max(end for _start, end in spans) - min(start for start, _end in spans)) / changes


def _let_go(children: list[subprocess.Popen[str]]) -> list[str]:
    for child in children:
        assert child.stdin is not None  # noqa: S101 -- it was asked for
        child.stdin.write("go\n")
        child.stdin.flush()
    return [child.communicate()[0] for child in children]


def bare(folder: Path, what: str, name: str) -> None:
    """Make the changes on a plain connection."""
    connection = apsw.Connection(str(folder / "bare.db"))
    connection.set_busy_timeout(BUSY_MS)
    execute = cast("Callable[..., list[tuple[int]]]", connection.execute)  # its stubs need a newer Python
    execute("PRAGMA journal_mode=WAL")
    execute("PRAGMA synchronous=FULL")
    execute("CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY, body TEXT)")
    execute("CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, version INTEGER, value TEXT)")
    execute("INSERT INTO entries VALUES (?, 0, '')", (name,))

    def append() -> None:
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO events (body) VALUES (?)", (TEXT,))
        execute("COMMIT")

    def swap() -> None:
        [(version,)] = list(execute("SELECT version FROM entries WHERE key = ?", (name,)))
        execute("BEGIN IMMEDIATE")
        execute(
            "UPDATE entries SET version = version + 1, value = ? WHERE key = ? AND version = ?",
            (TEXT, name, version),
        )
        execute("COMMIT")

    change = append if what == "append" else swap
    start = _ready()
    for _ in range(CHANGES):
        change()
    _done(start)
    connection.close()


async def through_the_mesh(folder: Path, what: str, name: str, at_once: int) -> None:
    """Make the changes through a handle of the mesh, in so many tasks."""

    async def append(mesh: SqliteMesh, _task: int) -> None:
        await mesh.append(Draft(topic="t", kind="k", sender=name, data=TEXT))

    async def swap(mesh: SqliteMesh, task: int) -> None:
        entry = await mesh.get(f"{name}/{task}")
        await mesh.put(f"{name}/{task}", TEXT, if_version=entry.version if entry else 0)

    change = append if what == "append" else swap

    async def work(mesh: SqliteMesh, task: int) -> None:
        for _ in range(CHANGES // at_once):
            await change(mesh, task)

    opening = SqliteMesh.open(
        folder, files=RealFiles(), clock=SystemClock(), ids=SystemIds(), busy_seconds=30
    )
    async with await opening as mesh:
        start = _ready()
        async with asyncio.TaskGroup() as tasks:
            for task in range(at_once):
                tasks.create_task(work(mesh, task))
        _done(start)


def _ready() -> float:
    print("ready", flush=True)
    sys.stdin.readline()
    return time.perf_counter()


def _done(start: float) -> None:
    print(json.dumps([start, time.perf_counter()]), flush=True)


if __name__ == "__main__":
    folder, what, kind, name = Path(sys.argv[1]), *sys.argv[2:5]
    if kind == "bare":
        bare(folder, what, name)
    else:
        asyncio.run(through_the_mesh(folder, what, name, AT_ONCE if kind == "at once" else 1))
