"""Whole processes: interrupted, terminated, killed, and with streams that are closed or full."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolfabric.trace.reader import parse_trace

SLOW = 'print("started")\nawait pi.bash(command="echo $$ > pid; sleep 600")'
BUSY = 'print("started")\nwhile True:\n    pass'


def begin(folder: Path, program: str, **more: Any) -> subprocess.Popen[str]:
    """Start one program and wait until it has printed its first line."""
    (folder / "p.py").write_text(program, encoding="utf-8")
    environ = {**os.environ, "FABRIC_AGENT_DIR": str(folder / "agent")}
    process = subprocess.Popen(
        [sys.executable, "-m", "toolfabric", "exec", "p.py", "--yes", "execute"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environ,
        **more,
    )
    assert process.stderr is not None
    while "started" not in process.stderr.readline():
        assert process.poll() is None
    return process


def outcomes(folder: Path) -> list[str]:
    """The outcomes of all recorded executions, every one with a trace that the guard accepts."""
    found: list[str] = []
    for path in sorted((folder / "agent" / "sessions").rglob("*.jsonl")):
        assert ".spool." not in path.name
        for line in path.read_text(encoding="utf-8").splitlines():
            message = json.loads(line).get("message", {})
            if message.get("role") == "toolResult":
                trace = parse_trace(message["details"]["trace"])
                assert trace is not None
                found.append(trace.outcome)
    return found


@pytest.mark.parametrize("program", [SLOW, BUSY], ids=["waiting", "computing"])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_signal_ends_the_run_and_leaves_a_sealed_record(
    tmp_path: Path, program: str, number: signal.Signals, code: int
) -> None:
    with begin(tmp_path, program) as process:
        process.send_signal(number)
        _out, error = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in error
    assert outcomes(tmp_path) == ["aborted"]


def test_an_interrupted_command_of_the_program_is_gone(tmp_path: Path) -> None:
    with begin(tmp_path, SLOW) as process:
        pid_file = tmp_path / "pid"
        while not (pid_file.exists() and pid_file.read_text().strip()):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_a_killed_host_is_recorded_as_aborted_at_the_next_start_and_only_once(tmp_path: Path) -> None:
    with begin(tmp_path, SLOW) as process:
        process.kill()
        process.communicate(timeout=30)
    environ = {**os.environ, "FABRIC_AGENT_DIR": str(tmp_path / "agent")}
    for _again in range(2):
        ended = subprocess.run(
            [sys.executable, "-m", "toolfabric", "exec", "-"],
            input="return 1",
            text=True,
            capture_output=True,
            cwd=tmp_path,
            env=environ,
            check=True,
        )
        assert ended.stdout == "1\n"
    assert sorted(outcomes(tmp_path)) == ["aborted", "succeeded", "succeeded"]


def test_a_reader_that_went_away_is_no_error(tmp_path: Path) -> None:
    environ = {**os.environ, "FABRIC_AGENT_DIR": str(tmp_path / "agent")}
    command = f"{sys.executable} -m toolfabric exec - | true; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", command],
        input='return "x" * 40000',
        text=True,
        capture_output=True,
        cwd=tmp_path,
        env=environ,
        check=True,
    )
    assert (ended.stdout.strip(), ended.stderr) == ("141", "")
    assert outcomes(tmp_path) == ["succeeded"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_answer_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    environ = {**os.environ, "FABRIC_AGENT_DIR": str(tmp_path / "agent")}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "toolfabric", "exec", "-"],
            input="return 1",
            text=True,
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environ,
            check=False,
        )
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
