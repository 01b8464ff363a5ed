from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from toolfabric.durable.lock import FileLock
from toolfabric.state.evidence import MAX_OUTPUT_BYTES, complexity_reasons, run_command, run_commands
from toolfabric.state.records import (
    ComplexityLimit,
    EvidenceCommand,
    EvidenceResult,
    EvidenceStatus,
    Reason,
    ReasonCode,
)

pytestmark = pytest.mark.anyio


def python(code: str, *args: str, timeout_ms: int = 50_000) -> EvidenceCommand:
    return EvidenceCommand(name="n", command=sys.executable, args=("-c", code, *args), timeout_ms=timeout_ms)


async def test_a_command_that_ends_with_0_is_confirmed(tmp_path: Path) -> None:
    found = await run_command(python("import os; print(os.getcwd())"), workspace=tmp_path)
    printed = f"{tmp_path}\n"
    assert found == EvidenceResult(
        name="n",
        status=EvidenceStatus.CONFIRMED,
        detail="it ended with exit code 0",
        exit_code=0,
        output=printed,
        output_bytes=len(printed),
        output_sha256=hashlib.sha256(printed.encode()).hexdigest(),
    )


async def test_another_exit_code_is_not_confirmed(tmp_path: Path) -> None:
    found = await run_command(python("raise SystemExit(3)"), workspace=tmp_path)
    assert (found.status, found.detail, found.exit_code) == (
        EvidenceStatus.NONCONFIRMED,
        "it ended with exit code 3",
        3,
    )


async def test_a_command_that_a_signal_ended_could_not_be_judged(tmp_path: Path) -> None:
    found = await run_command(python("import os; os.kill(os.getpid(), 9)"), workspace=tmp_path)
    assert (found.status, found.detail) == (EvidenceStatus.ERROR, "signal 9 ended it")
    assert "exitCode" not in found.to_json()


async def test_a_command_that_takes_too_long_is_killed_with_what_it_started(tmp_path: Path) -> None:
    hold = "import fcntl, os, sys, time; fd = os.open(sys.argv[1], 66); fcntl.flock(fd, 2); time.sleep(99)"
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], sys.argv[2]])"
    found = await run_command(
        python(start, hold, str(tmp_path / "lock"), timeout_ms=1_000), workspace=tmp_path
    )
    assert (found.status, found.detail) == (
        EvidenceStatus.ERROR,
        "it did not end within 1000 ms and was killed",
    )
    assert "exitCode" not in found.to_json()
    with FileLock(tmp_path / "lock") as lock:
        assert lock.held


@pytest.mark.parametrize(
    ("command", "reason"),
    [("./missing", "No such file or directory"), (".", "Permission denied"), ("a\0b", "embedded null byte")],
)
async def test_a_command_that_cannot_be_started_could_not_be_judged(
    tmp_path: Path, command: str, reason: str
) -> None:
    given = EvidenceCommand(name="n", command=command, args=(), timeout_ms=1_000)
    found = await run_command(given, workspace=tmp_path)
    assert (found.status, found.detail) == (EvidenceStatus.ERROR, f"it could not be started: {reason}")


async def test_no_shell_reads_a_command(tmp_path: Path) -> None:
    given = EvidenceCommand(name="n", command="echo", args=("$HOME; touch x", "`id`"), timeout_ms=9_000)
    found = await run_command(given, workspace=tmp_path)
    assert found.output == "$HOME; touch x `id`\n"
    assert not (tmp_path / "x").exists()


async def test_long_output_is_bounded_and_hashed_whole_and_cannot_steer_a_terminal(tmp_path: Path) -> None:
    code = f"import sys; sys.stdout.write('\\x1b[31m' + 'x' * {3 * MAX_OUTPUT_BYTES})"
    whole = b"\x1b[31m" + b"x" * (3 * MAX_OUTPUT_BYTES)
    found = await run_command(python(code), workspace=tmp_path)
    assert isinstance(found.output, str)
    assert found.output.startswith("\\x1b[31mxxx")
    assert len(found.output) < MAX_OUTPUT_BYTES + 100
    assert f"[... {len(whole) - MAX_OUTPUT_BYTES} bytes left out ...]" in found.output
    assert (found.output_bytes, found.output_sha256) == (len(whole), hashlib.sha256(whole).hexdigest())


async def test_commands_run_in_order_and_all_of_them(tmp_path: Path) -> None:
    append = "import sys; open('log', 'a').write(sys.argv[1]); sys.exit(int(sys.argv[1]))"
    found = await run_commands([python(append, n) for n in "010"], workspace=tmp_path, run=run_command)
    assert [result.status for result in found] == [
        EvidenceStatus.CONFIRMED,
        EvidenceStatus.NONCONFIRMED,
        EvidenceStatus.CONFIRMED,
    ]
    assert (tmp_path / "log").read_text() == "010"


async def test_files_over_their_limit_and_files_that_cannot_be_counted_are_reasons(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1 if a else 2\n")
    (tmp_path / "broken.ts").write_text("if (((\n")
    limits = [
        ComplexityLimit(path="a.py", at_most=1),
        ComplexityLimit(path="a.py", at_most=0),
        ComplexityLimit(path="broken.ts", at_most=9),
        ComplexityLimit(path="a.txt", at_most=9),
    ]
    found = await complexity_reasons(limits, workspace=tmp_path)
    assert found[0] == Reason(
        code=ReasonCode.TOO_COMPLEX, detail="a.py has 1 decision points, and at most 0 are allowed"
    )
    assert [reason.code for reason in found[1:]] == [ReasonCode.COMPLEXITY_UNKNOWN] * 2
    assert "does not parse cleanly" in found[1].detail
    assert "not in '.txt' ones" in found[2].detail
