"""The mesh among real processes: killed at any moment, woken from one another."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import selectors
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.mesh.records import Draft, Limits, Retention
from toolfabric.mesh.sqlite_store import SqliteMesh

OPEN = """
import asyncio, json, os, sys
from pathlib import Path
from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.mesh.records import Draft, Limits, Retention
from toolfabric.mesh.sqlite_store import SqliteMesh

def say(*words):
    os.write(1, (json.dumps(words) + "\\n").encode())

async def opened():
    limits = Limits(retention=Retention(max_events=10**6, max_bytes=10**9))
    machine = {"files": RealFiles(), "clock": SystemClock(), "ids": SystemIds()}
    return await SqliteMesh.open(Path(sys.argv[1]), **machine, limits=limits, busy_seconds=30)
"""

# Says what was acknowledged, after it was, until it is killed.
WRITER = (
    OPEN
    + """
async def append(mesh, name):
    number = 0
    while True:
        number += 1
        event = await mesh.append(Draft(topic="t", kind="k", sender=name, data=number))
        say("event", name, number, event.sequence)

async def swap(mesh, name):
    number = 0
    while True:
        entry = await mesh.get("k")
        number += 1
        swap = await mesh.put("k", [name, number], if_version=entry.version if entry else 0)
        if swap.done:
            say("swap", name, number, swap.version)

async def main():
    mesh, name = await opened(), sys.argv[2]
    async with asyncio.TaskGroup() as tasks:
        for task in range(3):
            tasks.create_task(append(mesh, f"{name}-{task}"))
        tasks.create_task(swap(mesh, name))

asyncio.run(main())
"""
)

# Follows topic "ping" from its beginning and answers each event on "pong".
FOLLOWER = (
    OPEN
    + """
async def main():
    mesh, cursor = await opened(), 0
    say("ready")
    while True:
        page = await mesh.read("ping", cursor=cursor, wait_seconds=3600)
        for event in page.events:
            await mesh.append(Draft(topic="pong", kind="k", sender="follower", data=event.data))
        cursor = page.cursor

asyncio.run(main())
"""
)


@contextlib.contextmanager
def running(code: str, *arguments: str) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE) as child:
        try:
            yield child
        finally:
            child.kill()


async def opened(folder: Path) -> SqliteMesh:
    limits = Limits(retention=Retention(max_events=10**6, max_bytes=10**9))
    return await SqliteMesh.open(
        folder, files=RealFiles(), clock=SystemClock(), ids=SystemIds(), limits=limits
    )


@dataclass
class Worker:
    """A writer, how many acknowledgements it lives for, and what it has said."""

    child: subprocess.Popen[bytes]
    quota: int
    said: bytes = b""

    def lines(self) -> list[list[str | int]]:
        """All whole lines: each was said after an acknowledgement."""
        return [json.loads(line) for line in self.said.split(b"\n")[:-1]]


def crowd(folder: Path, *, size: int, kills: int, seed: int) -> list[Worker]:
    """Keep so many writers alive, kill each after a random number of lines, and at last all of them."""
    dice = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    workers: list[Worker] = []
    with selectors.DefaultSelector() as selector:

        def start() -> None:
            command = [sys.executable, "-c", WRITER, str(folder), f"w{len(workers)}"]
            child = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert child.stdout is not None
            worker = Worker(child=child, quota=dice.randrange(1, 60))
            workers.append(worker)
            selector.register(child.stdout, selectors.EVENT_READ, worker)

        for _ in range(size):
            start()
        while selector.get_map():
            for key, _events in selector.select():
                worker: Worker = key.data
                chunk = os.read(key.fd, 65_536)
                worker.said += chunk
                if not chunk:
                    selector.unregister(key.fileobj)
                    worker.child.communicate()
                    if len(workers) < size + kills:
                        start()
                elif worker.said.count(b"\n") >= worker.quota:
                    worker.child.send_signal(signal.SIGKILL)
    return workers


async def check_crowd(folder: Path, workers: list[Worker]) -> None:
    assert {worker.child.returncode for worker in workers} == {-signal.SIGKILL}
    said = [line for worker in workers for line in worker.lines()]
    async with await opened(folder) as mesh:
        assert await mesh.problems() == ()
        found: dict[int, tuple[str, int]] = {}
        cursor = 0
        while (page := await mesh.read("t", cursor=cursor)).events:
            found |= {event.sequence: (event.sender, event.data) for event in page.events}
            cursor = page.cursor
        entry = await mesh.get("k")
    assert sorted(found) == list(range(1, len(found) + 1))
    for kind, name, number, place in said:
        if kind == "event":
            assert found[int(place)] == (name, number)
    # What each task wrote is there in its order, without gaps, and at most one more than it was told.
    by_task: dict[str, list[int]] = {}
    for sequence in sorted(found):
        by_task.setdefault(found[sequence][0], []).append(found[sequence][1])
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_task.values())
    versions = [int(place) for kind, _name, _number, place in said if kind == "swap"]
    assert len(versions) == len(set(versions))
    assert entry is not None
    assert entry.version >= max(versions)
    assert entry.version <= len(versions) + len(workers)
    last = [[name, number] for kind, name, number, place in said if kind == "swap" and place == entry.version]
    assert last in ([], [entry.value])


@pytest.mark.anyio
async def test_what_was_acknowledged_survives_every_kill(tmp_path: Path) -> None:
    workers = crowd(tmp_path, size=8, kills=10, seed=4)
    await check_crowd(tmp_path, workers)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.anyio
async def test_what_was_acknowledged_survives_a_thousand_kills(tmp_path: Path, seed: int) -> None:
    workers = crowd(tmp_path, size=8, kills=200, seed=seed)
    await check_crowd(tmp_path, workers)


@pytest.mark.anyio
async def test_a_reader_in_another_process_is_woken_at_once(tmp_path: Path) -> None:
    """A reader that only looked for itself, once a second, would need longer than a test may take."""
    with running(FOLLOWER, str(tmp_path)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b'["ready"]\n'
        async with await opened(tmp_path) as mesh:
            for number in range(1, 101):
                await mesh.append(Draft(topic="ping", kind="k", sender="test", data=number))
                page = await mesh.read("pong", cursor=number - 1, wait_seconds=50)
                assert [event.data for event in page.events] == [number]
            bells = tmp_path / "bells"
            assert len(list(bells.iterdir())) == 2
            child.send_signal(signal.SIGKILL)
            await asyncio.to_thread(child.wait)
            await mesh.append(Draft(topic="ping", kind="k", sender="test"))
            while len(list(bells.iterdir())) > 1:  # noqa: ASYNC110 - the ring comes just after the answer
                await asyncio.sleep(0)


MAKER = (
    OPEN
    + """
async def main():
    mesh = await opened()
    say((await mesh.put("k", 1)).version)

asyncio.run(main())
"""
)


def test_several_processes_may_make_the_mesh_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKER, str(tmp_path / "new" / "mesh")]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    said = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * 4
    assert sorted(json.loads(one)[0] for one in said) == [1, 2, 3, 4]
