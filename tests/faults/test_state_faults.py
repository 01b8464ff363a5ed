"""The state on a real mesh, with the process killed at every single write and sync of the database."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StateError
from toolfabric.mesh.sqlite_store import SqliteMesh
from toolfabric.state.control import State
from toolfabric.state.records import Move, Moved

pytestmark = pytest.mark.anyio

# Loads everything once, then forks a child for each number, which is killed at the call of that number.
NURSERY = """
import asyncio, json, os, signal, sys
from pathlib import Path
import apsw
from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.mesh.sqlite_store import SqliteMesh
from toolfabric.state.control import State
from toolfabric.state.records import EvidenceCommand, Move

TRUE = EvidenceCommand(name="true", command="/bin/true", args=(), timeout_ms=60_000)

class Disk(apsw.VFS):
    def __init__(self, kill_at):
        self.calls, self.kill_at = 0, kill_at
        super().__init__("deadly", "")
    def enter(self):
        self.calls += 1
        if self.calls == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    def xOpen(self, name, flags):
        return File(name, flags, self)

class File(apsw.VFSFile):
    def __init__(self, name, flags, disk):
        self.disk = disk
        super().__init__("", name, flags)
    def xWrite(self, data, offset):
        self.disk.enter()
        super().xWrite(data, offset)
    def xSync(self, flags):
        self.disk.enter()
        super().xSync(flags)

async def work(folder, verb, armed):
    ids, clock = SystemIds(), SystemClock()
    mesh = await SqliteMesh.open(folder / "mesh", files=RealFiles(), clock=clock, ids=ids, vfs="deadly")
    state = State(mesh, clock=clock, ids=ids, actor="h", workspace=folder)
    await state.transition(Move(to="old", summary="", if_version=0, commands=(TRUE,)))
    if verb == "verify":
        await state.verify(1)
    armed()
    if verb == "transition":
        await state.transition(Move(to="new", summary="", if_version=1, commands=(TRUE,)))
    else:
        await state.verify(1)
    os.write(1, json.dumps(["done"]).encode() + b"\\n")
    await mesh.close()

def child(folder, verb, number):
    disk = Disk(None)
    def armed():
        disk.calls, disk.kill_at = 0, number
    asyncio.run(work(folder, verb, armed))
    os._exit(0)

root, verb = Path(sys.argv[1]), sys.argv[2]
number = 1
while True:
    folder = root / str(number)
    folder.mkdir()
    pid = os.fork()
    if pid == 0:
        child(folder, verb, number)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(1, json.dumps([number, code]).encode() + b"\\n")
    if code == 0:
        break
    number += 1
"""


def killed(root: Path, verb: str) -> list[tuple[int, bool]]:
    """The numbers at which a child was killed, and whether it had been answered before."""
    command = [sys.executable, "-c", NURSERY, str(root), verb]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[tuple[int, bool]] = []
    answered = False
    for line in child.stdout.splitlines():
        said = json.loads(line)
        if said == ["done"]:
            answered = True
            continue
        number, code = said
        assert code in {0, -9}
        if code == -9:
            found.append((number, answered))
        answered = False
    return found


async def reopened(folder: Path) -> SqliteMesh:
    return await SqliteMesh.open(folder / "mesh", files=RealFiles(), clock=SystemClock(), ids=SystemIds())


def over(mesh: SqliteMesh, folder: Path) -> State:
    return State(
        mesh, clock=SystemClock(), ids=SystemIds(), actor="after", workspace=folder, patience_seconds=0
    )


async def test_a_transition_killed_at_any_write_leaves_the_old_head_or_the_new(tmp_path: Path) -> None:
    seen: set[tuple[str, bool]] = set()
    numbers = killed(tmp_path, "transition")
    assert len(numbers) > 8
    for number, answered in numbers:
        folder = tmp_path / str(number)
        async with await reopened(folder) as mesh:
            assert await mesh.problems() == ()
            state = over(mesh, folder)
            view = (await state.get()).view
            assert view.damage is None
            assert view.current is not None
            seen.add((view.current.to, view.pending is not None))
            if answered:
                assert view.current.to == "new"
            if view.pending is not None:
                with pytest.raises(StateError, match="fabric state discard"):
                    await state.transition(_next(view.version))
                await state.discard_pending(view.pending.transition_id, reason="killed")
            assert isinstance(await state.transition(_next(view.version)), Moved)
    assert seen >= {("old", False), ("old", True), ("new", False)}


async def test_a_verification_killed_at_any_write_leaves_the_head_and_a_true_certificate_or_none(
    tmp_path: Path,
) -> None:
    seen: set[bool] = set()
    numbers = killed(tmp_path, "verify")
    assert len(numbers) > 4
    for number, answered in numbers:
        folder = tmp_path / str(number)
        async with await reopened(folder) as mesh:
            assert await mesh.problems() == ()
            state = over(mesh, folder)
            status = await state.get()
            assert (status.view.damage, status.view.pending, status.view.version) == (None, None, 1)
            assert status.certificate is not None or not answered
            seen.add(status.certificate is not None)
            assert (await state.verify(1)).certificate is not None
    assert seen == {False, True}


def _next(version: int) -> Move:
    return Move(to="next", summary="", if_version=version)
