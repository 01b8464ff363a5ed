"""Asking on a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from toolfabric.cli.ask import question
from toolfabric.protocols import ApprovalRequest
from toolfabric.values import Risk


def test_the_question_shows_the_call_and_cannot_steer_the_terminal() -> None:
    request = ApprovalRequest(
        ref="x.run",
        risks=(Risk.WRITE, Risk.EXECUTE),
        args={},
        digest="d",
        description="Runs\x1b[2J",
        effect="Changes\nall",
        preview="\n".join(f"line {number}" for number in range(100)),
    )
    text = question(request)
    assert text.startswith("x.run asks to write and execute.")
    assert "\x1b" not in text
    assert "Changes\\nall" in text
    assert text.endswith("… and 60 more lines")


@pytest.mark.parametrize(("answer", "written"), [(b"y\n", "x"), (b"n\n", None), (b"\n", None)])
def test_only_a_yes_at_the_prompt_lets_the_call_run(
    tmp_path: Path, answer: bytes, written: str | None
) -> None:
    program = tmp_path / "p.py"
    program.write_text('await pi.write(path="b.txt", content="x")', encoding="utf-8")
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-c",
        (
            "import os, sys; os.setsid(); import fcntl, termios;"
            "fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
            "os.execv(sys.executable, [sys.executable, '-m', 'toolfabric', 'exec', 'p.py'])"
        ),
    ]
    environ = {**os.environ, "FABRIC_AGENT_DIR": str(tmp_path / "agent"), "TERM": "dumb"}
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, env=environ
    ) as process:
        os.close(theirs)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 4_096)
        os.write(ours, answer)
        process.wait(timeout=30)
    os.close(ours)
    assert b"pi.write asks to write" in shown
    made = tmp_path / "b.txt"
    assert (made.read_text(encoding="utf-8") if made.exists() else None) == written
    assert process.returncode == (0 if written else 1)
