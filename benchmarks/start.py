"""What starting the command costs, next to starting Python with nothing to do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from measure import Row, interleaved

ROUNDS = 15


def run() -> list[Row]:
    """Start each command ``ROUNDS`` times in turn."""
    with tempfile.TemporaryDirectory() as made:
        program = Path(made) / "one.py"
        program.write_text("return 1\n", encoding="utf-8")
        environment = {"FABRIC_AGENT_DIR": str(Path(made) / "agent"), "PATH": "/usr/bin:/bin"}

        def start(*arguments: str) -> None:
            subprocess.run(
                [sys.executable, *arguments], check=True, capture_output=True, cwd=made, env=environment
            )

        commands = {
            "python -c pass": ("-c", "pass"),
            "fabric --help": ("-m", "toolfabric", "--help"),
            "fabric exec, one line": ("-m", "toolfabric", "exec", str(program)),
            "import click": ("-c", "import click"),
        }
        jobs = {name: partial(start, *given) for name, given in commands.items()}
        found = interleaved(jobs, rounds=ROUNDS)
    base = found.pop("python -c pass")
    return [
        Row(what=name, seconds=seconds, baseline="python -c pass", baseline_seconds=base)
        for name, seconds in found.items()
    ]
