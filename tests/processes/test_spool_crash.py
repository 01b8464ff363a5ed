"""Hosts are killed for real, at random points; the next start tells each of their executions once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import IO, Any, cast

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.sessions.reader import list_sessions, read_entries
from toolfabric.sessions.records import FoldedExecution
from toolfabric.sessions.spool import fold_spools
from toolfabric.sessions.writer import SessionWriter
from toolfabric.trace.reader import read_trace
from toolfabric.trace.seal import OPEN_CALL
from toolfabric.values import Outcome

HOST = r"""
import sys
from pathlib import Path
from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.sessions.spool import Spool
from toolfabric.sessions.writer import SessionWriter
from toolfabric.trace.audit import AuditLog, details_json
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import Outcome

folder, executions = Path(sys.argv[1]), int(sys.argv[2])

def tell(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()

writer = SessionWriter.create(folder, cwd=Path.cwd(), files=RealFiles(), clock=SystemClock(), ids=SystemIds())
spool = Spool.open(writer.path, files=RealFiles())
for number in range(executions):
    call = f"call_{number}"
    spool.begin(call, call_id=call, name="fabric_exec", arguments={"code": "x" * 2000})
    tell(f"begun {call}")
    writer.assistant_tool_call(call_id=call, name="fabric_exec", arguments={"code": "x" * 2000})
    recorder = TraceRecorder(observe=lambda event: spool.event(call, event))
    for step in range(4):
        sequence = recorder.issue("pi.bash", {"command": "y" * 3000})
        tell("step")
        recorder.settle(sequence, Outcome.SUCCEEDED)
    trace = recorder.seal(Outcome.SUCCEEDED)
    details = details_json(success=True, trace=trace, audits=AuditLog(), phases=(), error=None)
    writer.tool_result(call_id=call, name="fabric_exec", text="done", details=details, is_error=False)
    tell(f"done {call}")
    spool.end(call)
tell("waiting")
sys.stdin.read()
"""
FOLD = r"""
import sys
from pathlib import Path
from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.sessions.spool import fold_spools

folded = fold_spools(Path(sys.argv[1]), files=RealFiles(), clock=SystemClock(), ids=SystemIds())
sys.stdout.write(f"{len(folded)}\n")
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def output_of(host: subprocess.Popen[str]) -> IO[str]:
    return cast("IO[str]", host.stdout)


def killed_after(folder: Path, lines: int) -> list[str]:
    """Start a host, kill it when it has told so many lines, and return all that it told."""
    with start(HOST, folder, 1_000) as host:
        told = [output_of(host).readline() for _ in range(lines)]
        host.send_signal(signal.SIGKILL)
        told += output_of(host).readlines()
    assert host.returncode == -signal.SIGKILL
    return [line.strip() for line in told]


def fold(folder: Path) -> list[FoldedExecution]:
    return fold_spools(folder, files=RealFiles(), clock=SystemClock(), ids=SystemIds())


def of_role(path: Path, role: str) -> list[dict[str, Any]]:
    found: list[Any] = [entry.get("message") for entry in read_entries(path)]
    return [message for message in found if message and message["role"] == role]


def check(folder: Path, told: list[str]) -> None:
    """Every execution that was begun is in the session once; what was done is told as done."""
    (session,) = list_sessions(folder)
    before = len(of_role(session.path, "toolResult"))
    folded = fold(folder)
    outcomes = {
        result["toolCallId"]: read_trace(result["details"]["trace"]).outcome
        for result in of_role(session.path, "toolResult")
    }
    answered = Counter(result["toolCallId"] for result in of_role(session.path, "toolResult"))
    called = Counter(message["content"][0]["id"] for message in of_role(session.path, "assistant"))
    begun = {line.removeprefix("begun ") for line in told if line.startswith("begun ")}
    done = {line.removeprefix("done ") for line in told if line.startswith("done ")}
    assert set(answered.values()) | set(called.values()) == {1}
    assert answered == called
    assert begun <= set(answered)
    assert all(outcomes[call] is Outcome.SUCCEEDED for call in done)
    aborted = [call for call, outcome in outcomes.items() if outcome is Outcome.ABORTED]
    assert aborted == [one.call_id for one in folded]
    assert len(outcomes) == before + len(folded)
    ids = [entry["id"] for entry in read_entries(session.path)][1:]
    assert [entry["parentId"] for entry in list(read_entries(session.path))[1:]] == [None, *ids[:-1]]
    content = session.path.read_bytes()
    assert fold(folder) == []
    assert session.path.read_bytes() == content
    assert [path for path in folder.iterdir() if path.name.endswith(".spool.jsonl")] == []


@pytest.mark.parametrize("seed", range(8))
def test_a_host_killed_at_a_random_point_has_each_execution_told_once(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311 -- where to stop, not whose secret
    check(tmp_path, killed_after(tmp_path, chance.randrange(1, 200)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_hosts_killed_at_random_points_have_each_execution_told_once(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311 -- as above
    check(tmp_path, killed_after(tmp_path, chance.randrange(1, 2_000)))


def test_a_call_open_at_the_kill_is_in_the_aborted_trace(tmp_path: Path) -> None:
    with start(HOST.replace('tell("step")', 'tell("step"); sys.stdin.read()'), tmp_path, 1) as host:
        for line in output_of(host):
            if line == "step\n":
                break
        host.send_signal(signal.SIGKILL)
    (folded,) = fold(tmp_path)
    (result,) = of_role(folded.session, "toolResult")
    trace = read_trace(result["details"]["trace"])
    assert trace.outcome is Outcome.ABORTED
    assert [one.to_json() for one in trace.operations] == [
        {
            "type": "call",
            "sequence": 1,
            "ref": "pi.bash",
            "args": {"command": "y" * 3_000},
            "outcome": "aborted",
            "error": OPEN_CALL,
        }
    ]


def test_a_live_hosts_spool_is_left_alone_until_it_dies(tmp_path: Path) -> None:
    with start(
        HOST.replace('tell(f"done {call}")', "tell('waiting'); sys.stdin.read()"), tmp_path, 1
    ) as host:
        for line in output_of(host):
            if line == "step\n":
                break
        (session,) = list_sessions(tmp_path)
        spool = session.path.with_name(session.path.name.removesuffix(".jsonl") + ".spool.jsonl")
        assert fold(tmp_path) == []
        assert spool.exists()
        for line in output_of(host):
            if line == "waiting\n":
                break
        host.send_signal(signal.SIGKILL)
    assert fold(tmp_path) == []  # the result had been written; only the spool was left
    assert not spool.exists()
    assert [one["isError"] for one in of_role(session.path, "toolResult")] == [False]


def test_several_starts_at_once_fold_each_execution_once(tmp_path: Path) -> None:
    for _ in range(4):
        killed_after(tmp_path, 9)
    starts = [start(FOLD, tmp_path) for _ in range(4)]
    counted = 0
    for one in starts:
        with one:
            counted += int(output_of(one).read())
        assert one.returncode == 0
    counted += len(fold(tmp_path))  # what two of them left to each other
    told = [one for session in list_sessions(tmp_path) for one in of_role(session.path, "toolResult")]
    aborted = [one for one in told if one["details"]["trace"]["outcome"] == "aborted"]
    assert counted == len(aborted)
    for session in list_sessions(tmp_path):
        answered = Counter(result["toolCallId"] for result in of_role(session.path, "toolResult"))
        assert set(answered.values()) == {1}
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".spool.jsonl")] == []


def test_a_session_is_written_by_one_process_until_that_ends(tmp_path: Path) -> None:
    with start(HOST, tmp_path, 1) as host:
        for line in output_of(host):
            if line == "waiting\n":
                break
        (session,) = list_sessions(tmp_path)
        attempt = SessionWriter.try_open(
            session.path, files=RealFiles(), clock=SystemClock(), ids=SystemIds()
        )
        assert attempt is None
        host.send_signal(signal.SIGKILL)
    with SessionWriter.open(session.path, files=RealFiles(), clock=SystemClock(), ids=SystemIds()) as writer:
        writer.user("go on")
