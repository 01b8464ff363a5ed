"""The command line as a host: opens Fabric for a command and takes signals.

An interrupt or a termination cancels what runs; the record is sealed before the process ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from toolfabric.cli import output
from toolfabric.cli.ask import TerminalApprover
from toolfabric.cli.exits import Terminated
from toolfabric.cli.live import Watch
from toolfabric.config.load import agent_folder as find_agent_folder
from toolfabric.config.load import environment, load_config
from toolfabric.config.records import Loaded
from toolfabric.policy.approvers import NobodyToAsk
from toolfabric.protocols import Approver
from toolfabric.runtime import Fabric, Options
from toolfabric.values import Json, Risk

__all__ = [
    "agent_folder",
    "approvals",
    "chosen_approver",
    "configuration",
    "folder",
    "in_fabric",
    "risks",
    "unrecorded",
]

_T = TypeVar("_T")


def in_fabric(
    work: Callable[[Fabric], Awaitable[_T]],
    *,
    cwd: Path,
    config: Mapping[str, Json] | None = None,
    options: Options | None = None,
) -> _T:
    """Open Fabric, do the work, close it.

    Raises:
        KeyboardInterrupt: The person interrupted.
        Terminated: The process got SIGTERM or SIGHUP.
        FabricError: As the work raised it.
    """
    return asyncio.run(_main(work, cwd, config, options))


async def _main(
    work: Callable[[Fabric], Awaitable[_T]],
    cwd: Path,
    config: Mapping[str, Json] | None,
    options: Options | None,
) -> _T:
    ended: list[signal.Signals] = []
    _catch(ended)
    try:
        async with Fabric.open(cwd, config, options=options) as fabric:
            told = fabric.warnings
            _tell(told)
            try:
                return await work(fabric)
            finally:
                _tell([warning for warning in fabric.warnings if warning not in told])
    except asyncio.CancelledError:
        if ended:
            raise Terminated from None
        raise


def _tell(warnings: Iterable[str]) -> None:
    for warning in warnings:
        output.note(f"fabric: {warning}")


def _catch(ended: list[signal.Signals]) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def stop(number: signal.Signals) -> None:
        ended.append(number)
        if task is not None:
            task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        with suppress(NotImplementedError, ValueError):
            loop.add_signal_handler(number, stop, number)


def approvals(allowed: tuple[Risk, ...]) -> dict[str, Json]:
    """The configuration overrides that allow these risks for one run."""
    return {"approvals": {str(risk): "allow" for risk in allowed}} if allowed else {}


def risks(words: tuple[str, ...]) -> tuple[Risk, ...]:
    """Read risks as people write them: apart, with commas, or ``all``.

    Raises:
        ValueError: A word is no risk; the message lists them.
    """
    found: list[Risk] = []
    for word in (part for text in words for part in text.split(",") if part):
        if word == "all":
            return tuple(Risk)
        if word not in tuple(Risk):
            raise ValueError(f"{word!r} is not a risk; use {', '.join(Risk)} or all")
        found.append(Risk(word))
    return tuple(dict.fromkeys(found))


def chosen_approver(watch: Watch) -> Approver:
    """Ask on the terminal where there is one; else refuse and say how to allow."""
    return TerminalApprover(watch.paused) if output.is_interactive() else NobodyToAsk()


def agent_folder() -> Path:
    """Where this user's records and global configuration are."""
    return find_agent_folder(environment())[0]


def configuration(cwd: Path) -> Loaded:
    """The effective configuration of a workspace.

    Raises:
        ConfigError: A file cannot be read or a value is wrong.
    """
    return load_config(cwd, environ=environment())


def unrecorded() -> Options:
    """Options for a probe that leaves no session."""
    return Options(record=False)


def folder(given: str | None) -> Path:
    """The folder to work in.

    Raises:
        FileNotFoundError: The current folder was removed.
    """
    return Path(os.path.realpath(given)) if given else Path.cwd()
