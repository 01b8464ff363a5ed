"""A small Git workspace for the documents' commands, and the documents themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WORDS = '''"""Count words."""


def count(text: str) -> int:
    # TODO: empty lines
    return len(text.split())
'''
MAIN = '''"""The command."""

from words import count

# TODO: read standard input
print(count("one two"))
'''
FILES = {
    "README.md": "# Words\n\nCounts words.\n",
    "src/words.py": WORDS,
    "src/main.py": MAIN,
    "notes.txt": "first line\nsecond line\n",
    ".gitignore": "build/\nexamples/\n",
    "build/made.py": "# TODO: never seen\n",
}


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top folder."""
    return ROOT


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """An environment in which nothing of this machine's user is seen, and ``fabric`` is on the path."""
    here = str(Path(sys.executable).parent)
    agent, home = tmp_path / "agent", tmp_path / "home"
    home.mkdir()
    return {
        "PATH": os.pathsep.join((here, "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "FABRIC_AGENT_DIR": str(agent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


@pytest.fixture
def workspace(tmp_path: Path, environment: Mapping[str, str]) -> Path:
    """A Git repository with a few files and one commit; this project's ``examples`` are there and ignored."""
    folder = tmp_path / "words"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    author = ("-c", "user.name=Docs", "-c", "user.email=docs@example.org")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*author, "commit", "-q", "-m", "Start")):
        subprocess.run(("git", *command), cwd=folder, env=environment, check=True)
    return folder


@pytest.fixture
def shell(workspace: Path, environment: Mapping[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run one command in the workspace, as a reader of the documents would."""

    def run(*command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=workspace,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=50,
        )

    return run
