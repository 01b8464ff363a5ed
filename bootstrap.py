#!/usr/bin/env python3
"""Set up and run Fabric from a clone with nothing but Python 3.11 or newer, pip and Git.

Usage: ``python3 bootstrap.py demo|check|setup|run TOOL [ARG…]``. The environment lives in ``.venv``
beside this file and is made again only when a constraints file changes. The standard library is all
that this file uses, and it is the only place that knows how the project is installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
RUNTIME = ROOT / "constraints.txt"
DEVELOPMENT = ROOT / "constraints-dev.txt"

CHECKS: tuple[tuple[str, ...], ...] = (
    ("ruff", "format", "--check", "."),
    ("ruff", "check", "."),
    ("lint-imports", "--no-cache"),
    ("codespell", "src", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    ("deptry", "src"),
    ("basedpyright",),
    ("pytest",),
)


def main(arguments: list[str]) -> int:
    """Do what the first argument names and return its exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 -- this file must explain itself to older Pythons
        print(f"Fabric needs Python 3.11 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    match arguments:
        case ["demo", *rest]:
            install(RUNTIME)
            # With the caller's own PATH: the demo prints commands that the caller can repeat.
            return subprocess.run((str(BIN / "fabric"), "demo", *rest), check=False).returncode
        case ["setup"]:
            install(DEVELOPMENT)
            return 0
        case ["check"]:
            install(DEVELOPMENT)
            return check()
        case ["run", tool, *rest]:
            install(DEVELOPMENT)
            return run(tool, *rest)
        case _:
            print(__doc__, file=sys.stderr)
            return 2


def install(pins: Path) -> None:
    """Bring ``.venv`` to the pinned packages, unless it is there already."""
    wanted = hashlib.sha256(b"".join(p.read_bytes() for p in (pins, ROOT / "pyproject.toml"))).hexdigest()
    stamp = VENV / f".{pins.stem}.sha256"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    python = BIN / ("python.exe" if os.name == "nt" else "python")
    if not python.exists():
        print("Making .venv …", file=sys.stderr)
        call(sys.executable, "-m", "venv", str(VENV))
    print(f"Installing what {pins.name} pins …", file=sys.stderr)
    pip = (str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    call(*pip, "--require-hashes", "-r", str(pins))
    call(*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT))
    stamp.write_text(wanted, encoding="utf-8")


def check() -> int:
    """Run every check, cheapest first, and stop at the first that fails."""
    for command in CHECKS:
        print(f"── {' '.join(command)}", flush=True)
        code = run(*command)
        if code:
            return code
    return 0


def run(tool: str, *arguments: str) -> int:
    """Run an installed tool in the project's folder."""
    path = os.pathsep.join((str(BIN), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(VENV)}
    return subprocess.run((str(BIN / tool), *arguments), cwd=ROOT, env=environment, check=False).returncode


def call(*command: str) -> None:
    """Run one set-up step, and end with a sentence where it fails."""
    try:
        subprocess.run(command, check=True)
    except subprocess.CalledProcessError as error:
        hint = " (Debian and Ubuntu: apt install python3-venv)" if "venv" in command else ""
        raise SystemExit(
            f"This step failed with exit code {error.returncode}: {' '.join(command)}{hint}"
        ) from error


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
