"""``pi.bash``: a shell command in the workspace."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolfabric._base.bounded import bound_text
from toolfabric._base.text import printable
from toolfabric.errors import InvokeError
from toolfabric.providers.pi.arguments import flag_argument, text_argument
from toolfabric.providers.pi.processes import Ended, run_program
from toolfabric.providers.pi.workspace import Workspace
from toolfabric.values import Json, JsonObject

__all__ = ["bash_action"]

_SHELLS: Final = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh")
_TOLD_BYTES: Final = 1_600
"""Whoever tells the failure on keeps the first 2,000 characters; both ends of the output must be in them."""


async def bash_action(workspace: Workspace, args: JsonObject, env: Mapping[str, str] | None = None) -> Json:
    """Run a command to its end.

    Raises:
        InvokeError: It could not be started; or it failed or ran out of time, and ``settle`` is not set.
    """
    command = text_argument(args, "command")
    seconds = args.get("timeout")
    limit = float(seconds) if isinstance(seconds, int | float) else None
    if workspace.gone():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    try:
        ended = await run_program(
            [_shell(), "-c", command],
            cwd=workspace.folder,
            limit=workspace.limits.output_bytes,
            timeout=limit,
            env=env,
        )
    except (ValueError, OSError) as error:
        raise InvokeError(_not_started(error)) from error
    failure = _failure(ended, limit)
    if failure is not None and not flag_argument(args, "settle"):
        told = printable(bound_text(ended.text.rstrip(), _TOLD_BYTES), limit=2 * _TOLD_BYTES)
        raise InvokeError(f"{failure}\n{told}" if told else f"{failure}; it printed nothing")
    return {"ok": failure is None, "output": ended.text, "details": _details(ended)}


def _shell() -> str:
    return next((one for one in _SHELLS if Path(one).exists()), "sh")


def _failure(ended: Ended, limit: float | None) -> str | None:
    """How the command failed, in words, or ``None`` if it did not."""
    if ended.code is None:
        return f"the command ran out of time after {limit:g} s and was killed with all that it had started"
    if ended.code < 0:
        return f"the shell was ended by {_signal_name(-ended.code)}"
    return f"the command ended with exit code {ended.code}" if ended.code else None


def _details(ended: Ended) -> JsonObject:
    """The facts beside the text. A shell that a signal ended gets the exit code that shells give for one."""
    code = ended.code
    details: JsonObject = {"exitCode": 128 - code if code is not None and code < 0 else code}
    if code is None:
        details["timedOut"] = True
    elif code < 0:
        details["signal"] = _signal_name(-code)
    if ended.omitted:
        details["omittedBytes"] = ended.omitted
    return details


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _not_started(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return "the command is longer than the system takes; write it to a file and run that"
    if isinstance(error, OSError):
        return f"the shell could not be started: {error.strerror or type(error).__name__}"
    return "the command holds a NUL character or half of a surrogate pair, which no shell can take"
