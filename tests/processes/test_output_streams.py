"""The command line's output at the ends of real pipes and full disks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from toolfabric.cli import output
from toolfabric.errors import StorageError
try:
    for _ in range(int(sys.argv[1])):
        output.emit_text("x" * 1000)
        output.note("remark")
except BrokenPipeError:
    output.leave(output.Exit.CLOSED)
except StorageError as error:
    output.note(str(error))
    output.leave(output.Exit.FAILED)
output.leave(output.Exit.TIMED_OUT)
"""


# Buffered, as it is unless somebody asks otherwise: what could not be written is then still there when
# the interpreter ends, and would make it complain and end with another code.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}


def command(count: int) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(count)]


def test_output_arrives_and_the_exit_code_is_the_one_given() -> None:
    done = subprocess.run(command(3), capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 124
    assert done.stdout == ("x" * 1000 + "\n") * 3
    assert done.stderr == "remark\n" * 3


def test_a_reader_that_goes_away_ends_the_command_without_a_word() -> None:
    with subprocess.Popen(
        command(1_000_000), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.read(10) == b"x" * 10
        child.stdout.close()
        told = child.stderr.read()
        assert child.wait() == 141
    assert set(told.splitlines()) <= {b"remark"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device is Linux's own")
def test_a_full_disk_is_told_once_and_nothing_else() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(3), stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT
        )
    assert done.returncode == 1
    assert done.stderr == "could not write to standard output: No space left on device\n"


def test_streams_that_are_closed_from_the_start_end_the_command_without_a_word(tmp_path: Path) -> None:
    told = tmp_path / "told"
    shell = 'exec "$@" >&- 2>"$TOLD"'
    done = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", *command(3)], env={**ENVIRONMENT, "TOLD": str(told)}, check=False
    )
    assert done.returncode == 141
    assert told.read_text() == ""


def test_answers_stand_among_remarks_where_both_go_to_one_place() -> None:
    done = subprocess.run(
        command(2), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=ENVIRONMENT
    )
    assert done.stdout == ("x" * 1000 + "\nremark\n") * 2
