"""The workspace of ``fabric demo``: a small real Git repository in a new temporary folder."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from toolfabric.config.load import environment
from toolfabric.durable.atomic import make_folders, replace_file
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError

__all__ = ["PROGRAM", "PROGRAM_NAME", "make_workspace"]

PROGRAM_NAME: Final = "count_todos.py"
PROGRAM: Final = """\
await workflow.phase("find")
found = await pi.find(pattern="*.py", path="shop")

await workflow.phase("read")
title = await pi.read(Path="README.md", limit="1")  # not as declared: path, and a number
files = await workflow.parallel([pi.read(path=path) for path in found["paths"]])

todos = []
for path, file in zip(found["paths"], files):
    for number, line in enumerate(file["text"].splitlines(), start=1):
        if "TODO" in line:
            todos.append(f"- {path}:{number} {line.strip()}")
print(f"{len(files)} files read, {len(todos)} notes found")

await workflow.phase("write")
await pi.write(path="TODO.md", content="# To do\\n\\n" + "\\n".join(todos) + "\\n")
return {"project": title["text"].strip("# \\n"), "files": len(files), "todos": len(todos)}
"""

_FILES: Final[dict[str, str]] = {
    "README.md": "# Shop\n\nA small shop, made by `fabric demo`.\n",
    ".gitignore": "generated/\n",
    "shop/__init__.py": '"""A small shop."""\n',
    "shop/cart.py": (
        '"""What a customer wants to buy."""\n\n\ndef total(prices):\n'
        "    # TODO: take discounts into account\n    return sum(prices)\n"
    ),
    "shop/stock.py": (
        '"""What there is to sell."""\n\n\ndef left(stock, sold):\n'
        "    # TODO: refuse to sell what is not there\n    return stock - sold\n"
    ),
    "shop/orders.py": (
        '"""What was bought."""\n\n\ndef receipt(order):\n    # TODO: show the currency\n'
        '    return "\\n".join(order)\n'
    ),
    "shop/generated/prices.py": "# TODO: never read, since Git ignores this folder\nPRICES = {}\n",
    PROGRAM_NAME: PROGRAM,
}
_IDENTITY: Final = ("-c", "user.name=Fabric Demo", "-c", "user.email=demo@fabric.invalid")
_QUIET: Final = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "init.defaultBranch=main",
)


def make_workspace() -> Path:
    """Make the folder, its files and one Git commit.

    Raises:
        StorageError: The temporary folder cannot be written, or Git is missing or failed.
    """
    try:
        folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="fabric-demo-")))
    except OSError as error:
        raise StorageError(f"cannot make a temporary folder: {error.strerror}; set TMPDIR to one") from error
    files = RealFiles()
    for name, text in _FILES.items():
        make_folders((folder / name).parent, files=files)
        replace_file(folder / name, text.encode(), files=files, mode=0o644, durable=False)
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "A small shop")):
        _git(folder, *arguments)
    return folder


def _git(folder: Path, *arguments: str) -> None:
    command = ["git", *_IDENTITY, *_QUIET, *arguments]
    # A GIT_DIR of the caller's would send the commit into another repository.
    environ = {key: value for key, value in environment().items() if not key.startswith("GIT_")}
    try:
        ran = subprocess.run(  # noqa: S603 -- fixed arguments to the user's own Git
            command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False
        )
    except FileNotFoundError as error:
        raise StorageError("git is not installed; the demo's workspace is a Git repository") from error
    except subprocess.TimeoutExpired as error:
        raise StorageError(f"git {arguments[0]} did not end within a minute in {folder}") from error
    if ran.returncode:
        raise StorageError(f"git {arguments[0]} failed in {folder}: {ran.stderr.strip()}")
