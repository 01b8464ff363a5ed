"""Look at the evidence of a transition: run its commands, count what it limits.

Commands are run here and nowhere else, one after another, each in a process group of its own that is dead
when the result is there. Whatever goes wrong with one is its result, never an exception.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Final, Protocol

import anyio
from msgspec import UNSET

from toolfabric._base.text import printable
from toolfabric.durable.processes import CommandResult, run_bounded
from toolfabric.errors import StateError
from toolfabric.state.complexity import measure_files
from toolfabric.state.records import (
    ComplexityLimit,
    EvidenceCommand,
    EvidenceResult,
    EvidenceStatus,
    Reason,
    ReasonCode,
)

__all__ = ["MAX_OUTPUT_BYTES", "RunCommand", "complexity_reasons", "run_command", "run_commands"]

MAX_OUTPUT_BYTES: Final = 64 * 1024


class RunCommand(Protocol):
    """What runs a command, as ``run_command`` does; a test may count instead."""

    def __call__(self, command: EvidenceCommand, /, *, workspace: Path) -> Awaitable[EvidenceResult]:
        """Run one command in the workspace and judge it."""
        ...


async def run_commands(
    commands: Sequence[EvidenceCommand], *, workspace: Path, run: RunCommand
) -> tuple[EvidenceResult, ...]:
    """Run all commands in order, also after one that was not confirmed."""
    return tuple([await run(command, workspace=workspace) for command in commands])


async def run_command(command: EvidenceCommand, /, *, workspace: Path) -> EvidenceResult:
    """Run one command in the workspace, with the host's environment and no input, and judge it."""
    try:
        ended = await run_bounded(
            (command.command, *command.args),
            cwd=workspace,
            env=None,
            timeout=command.timeout_ms / 1_000,
            max_output=MAX_OUTPUT_BYTES,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return EvidenceResult(
            name=command.name, status=EvidenceStatus.ERROR, detail=f"it could not be started: {reason}"
        )
    status, detail = _judged(ended, command.timeout_ms)
    return EvidenceResult(
        name=command.name,
        status=status,
        detail=detail,
        exit_code=UNSET if ended.exit_code is None or ended.timed_out else ended.exit_code,
        output=printable(ended.text(), limit=2 * MAX_OUTPUT_BYTES),
        output_bytes=ended.total_bytes,
        output_sha256=ended.sha256,
    )


async def complexity_reasons(limits: Sequence[ComplexityLimit], *, workspace: Path) -> tuple[Reason, ...]:
    """Why files do not keep the limits on their decision points; nothing when all do."""
    return tuple(
        [
            reason
            for limit in limits
            if (reason := await anyio.to_thread.run_sync(_over, limit, workspace)) is not None
        ]
    )


def _over(limit: ComplexityLimit, workspace: Path) -> Reason | None:
    try:
        [found] = measure_files(workspace, [limit.path])
    except StateError as error:
        return Reason(code=ReasonCode.COMPLEXITY_UNKNOWN, detail=str(error))
    if not found.clean:
        detail = f"{limit.path} does not parse cleanly, so its decision points cannot be told"
        return Reason(code=ReasonCode.COMPLEXITY_UNKNOWN, detail=detail)
    if found.decisions <= limit.at_most:
        return None
    detail = f"{limit.path} has {found.decisions} decision points, and at most {limit.at_most} are allowed"
    return Reason(code=ReasonCode.TOO_COMPLEX, detail=detail)


def _judged(ended: CommandResult, timeout_ms: int) -> tuple[EvidenceStatus, str]:
    if ended.timed_out:
        return EvidenceStatus.ERROR, f"it did not end within {timeout_ms} ms and was killed"
    if ended.signal is not None:
        return EvidenceStatus.ERROR, f"signal {ended.signal} ended it"
    if ended.exit_code:
        return EvidenceStatus.NONCONFIRMED, f"it ended with exit code {ended.exit_code}"
    return EvidenceStatus.CONFIRMED, "it ended with exit code 0"
