"""The table of commands and the exit codes of whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolfabric.cli.main import COMMANDS, fabric
from toolfabric.cli.output import Exit

from .conftest import Run


def start(tmp_path: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "FABRIC_AGENT_DIR": str(tmp_path / "agent")}
    return subprocess.run(
        [sys.executable, "-m", "toolfabric", *arguments],
        input=given,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environ,
        check=False,
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_loads_and_has_help(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert "Usage: " in result.stdout


def test_help_lists_every_command(run: Run) -> None:
    shown = " ".join(run("--help").stdout.split())
    assert all(name in shown and text in shown for name, text in COMMANDS.items())
    assert fabric.name == "fabric"


@pytest.mark.parametrize(
    ("arguments", "given", "code", "told"),
    [
        (("exec", "-"), "return 1", Exit.OK, ""),
        (("exec", "-"), "raise ValueError", Exit.FAILED, "ValueError"),
        (("exec", "-", "--timeout", "0.2"), "while True: pass", Exit.TIMED_OUT, "out of time"),
        (("bogus",), "", Exit.USAGE, "No such command 'bogus'"),
        (("exec", "nowhere.py"), "", Exit.USAGE, "cannot read nowhere.py"),
        (("tools", "call", "pi.read", "pth=x"), "", Exit.FAILED, 'did you mean "path"'),
        (("--version",), "", Exit.OK, ""),
    ],
)
def test_a_process_ends_with_its_documented_exit_code(
    tmp_path: Path, arguments: tuple[str, ...], given: str, code: Exit, told: str
) -> None:
    ended = start(tmp_path, *arguments, given=given)
    assert ended.returncode == code
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_wrong_configuration_has_its_own_exit_code(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "fabric.json").write_text('{"executor": {"timeoutMs": "soon"}}', encoding="utf-8")
    ended = start(tmp_path, "exec", "-", given="return 1")
    assert ended.returncode == Exit.CONFIG
    assert "executor.timeoutMs" in ended.stderr


def test_a_typo_in_the_configuration_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "fabric.json").write_text('{"executor": {"timeoutMss": 5000}}', encoding="utf-8")
    ended = start(tmp_path, "exec", "-", given="return 1")
    assert (ended.returncode, ended.stdout) == (Exit.OK, "1\n")
    assert "timeoutMs" in ended.stderr


def test_an_agent_folder_that_cannot_be_made_stops_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("a file in the way", encoding="utf-8")
    program = 'await pi.write(path="made.txt", content="x")'
    ended = start(tmp_path, "exec", "-", "--yes", "write", given=program)
    assert ended.returncode == Exit.FAILED
    assert str(tmp_path / "agent") in ended.stderr
    assert not (tmp_path / "made.txt").exists()
