"""Starting is cheap: what a person waits for at every command is not loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = frozenset(
    (
        "hypothesis",
        "jsonschema_rs",
        "pathspec",
        "pydantic_monty",
        "pygments",
        "pytest",
        "rich",
        "sqlite3",
        "yaml",
    )
)


def loaded(*arguments: str, cwd: Path) -> set[str]:
    """The top-level modules that a fresh interpreter loads.

    The interpreter itself tells them, one a line, since a command may end the process on the spot.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
    )
    told = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in told}


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    modules = loaded("-c", "import toolfabric", cwd=tmp_path)
    assert modules & (HEAVY | {"anyio", "asyncio", "click", "msgspec", "platformdirs"}) == set()
    assert "toolfabric" in modules


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["exec", "--help"], ["tools", "--help"]])
def test_asking_for_help_loads_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    modules = loaded("-m", "toolfabric", *arguments, cwd=tmp_path)
    assert modules & HEAVY == set()
    assert "click" in modules
