"""The checks behind ``fabric doctor``: each looks at one thing and says what its absence costs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from toolfabric._version import __version__
from toolfabric.cli import host, output
from toolfabric.errors import FabricError
from toolfabric.runtime import Fabric
from toolfabric.values import Json

__all__ = ["Finding", "examine"]

Level = Literal["good", "limited", "missing"]
_SIGNS: Final[dict[Level, str]] = {"good": "ok", "limited": "--", "missing": "!!"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. ``cost`` says what does not work because of it."""

    what: str
    level: Level
    found: str
    cost: str = ""

    @property
    def sign(self) -> str:
        """Two characters that a reader can scan for."""
        return _SIGNS[self.level]

    def to_json(self) -> Json:
        """The form that ``fabric doctor --json`` prints."""
        return {"what": self.what, "level": self.level, "found": self.found, "cost": self.cost}


def examine(cwd: Path) -> list[Finding]:
    """Look at the machine, the configuration and the workspace; nothing is changed but one probe run."""
    findings = [_python(), _git(), _shell(), *_libraries(), _agent_folder(), *_configuration(cwd)]
    return [*findings, *_host(cwd)]


def _python() -> Finding:
    return Finding(
        what="Python", level="good", found=f"{platform.python_version()}; toolfabric {__version__}"
    )


def _git() -> Finding:
    return _program("git", "`fabric demo` cannot make its workspace; file transactions know no Git state")


def _shell() -> Finding:
    return _program("bash", "pi.bash uses sh, where bash syntax fails")


def _program(name: str, cost: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(what=name, level="limited", found="not found on PATH", cost=cost)
    try:
        ran = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603 -- a fixed argument to a program from PATH
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(what=name, level="limited", found=f"does not run: {type(error).__name__}", cost=cost)
    first = (ran.stdout or ran.stderr).splitlines()[:1]
    return Finding(what=name, level="good", found=output.printable(first[0] if first else path))


def _libraries() -> Iterator[Finding]:
    for name, cost in (
        ("pydantic-monty", "no Python program can run"),
        ("jsonschema-rs", "no call can be validated"),
    ):
        try:
            yield Finding(what=name, level="good", found=metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(what=name, level="missing", found="not installed", cost=cost)


def _agent_folder() -> Finding:
    folder = host.agent_folder()
    nearest = next(one for one in (folder, *folder.parents) if one.exists())
    if os.access(nearest, os.W_OK | os.X_OK):
        return Finding(what="agent folder", level="good", found=str(folder))
    return Finding(
        what="agent folder",
        level="missing",
        found=f"{folder} cannot be written",
        cost="no run can be recorded, so none starts; set FABRIC_AGENT_DIR to a folder of yours",
    )


def _configuration(cwd: Path) -> Iterator[Finding]:
    try:
        loaded = host.configuration(cwd)
    except FabricError as error:
        yield Finding(
            what="configuration", level="missing", found=str(error), cost="nothing runs until it is mended"
        )
        return
    for warning in loaded.warnings:
        yield Finding(
            what="configuration", level="limited", found=str(warning), cost="that part has no effect"
        )
    if not loaded.warnings:
        yield Finding(what="configuration", level="good", found="no problem")


def _host(cwd: Path) -> Iterator[Finding]:
    async def probe(fabric: Fabric) -> list[Finding]:
        result = await fabric.execute("return 6 * 7")
        ran = Finding(what="a program", level="good", found="runs")
        if result.value != 42:  # noqa: PLR2004 -- six times seven
            ran = Finding(
                what="a program", level="missing", found=result.error or "wrong", cost="nothing can run"
            )
        providers = ", ".join(f"{one.name} ({len(one.actions)})" for one in fabric.providers())
        return [ran, Finding(what="providers", level="good", found=providers), *_plugins(fabric)]

    try:
        yield from host.in_fabric(probe, cwd=cwd, options=host.unrecorded())
    except FabricError as error:
        yield Finding(what="a program", level="missing", found=str(error), cost="nothing can run")


def _plugins(fabric: Fabric) -> Iterator[Finding]:
    for warning in fabric.warnings:
        yield Finding(what="start", level="limited", found=output.printable(str(warning)), cost="told above")
