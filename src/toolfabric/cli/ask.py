"""Asks a person on the terminal whether one call may run, after showing what it would do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from toolfabric.cli import output
from toolfabric.protocols import Approval, ApprovalRequest

__all__ = ["TerminalApprover", "question"]

_PREVIEW_LINES = 40
_TERMINAL: Final = "/dev/tty"


def question(request: ApprovalRequest) -> str:
    """The text that is shown for one request; untrusted parts cannot steer the terminal."""
    risks = " and ".join(request.risks)
    lines = [f"{request.ref} asks to {risks}.", f"  {output.printable(request.description)}"]
    if request.effect:
        lines.append(f"  Effect: {output.printable(request.effect)}")
    if request.preview:
        shown = request.preview.splitlines()
        lines += [f"  │ {output.printable(line)}" for line in shown[:_PREVIEW_LINES]]
        if len(shown) > _PREVIEW_LINES:
            lines.append(f"  │ … and {len(shown) - _PREVIEW_LINES} more lines")
    return "\n".join(lines)


class TerminalApprover:
    """Shows one call at a time and takes ``y`` for yes; anything else refuses."""

    def __init__(self, pause: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._pause = pause
        # Two prompts at once could be answered for each other.
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Ask about one call."""
        async with self._one_at_a_time:
            try:
                terminal = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
            except OSError:
                return Approval(granted=False, digest=request.digest, reason="there is no terminal to ask on")
            try:
                with self._pause():
                    text = f"\n{question(request)}\nAllow this one call? [y/N] "
                    os.write(terminal, text.encode("utf-8", "replace"))
                    answer = await _line(terminal)
            finally:
                os.close(terminal)
        granted = answer.strip().lower() in ("y", "yes")
        return Approval(
            granted=granted, digest=request.digest, reason="" if granted else "refused at the prompt"
        )


async def _line(terminal: int) -> str:
    """Wait for one line without a thread, so that an interrupt ends the wait at once."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        data = os.read(terminal, 1_024)
        if not ready.done():
            ready.set_result(data.decode("utf-8", "replace"))

    loop.add_reader(terminal, read)
    try:
        return await ready
    finally:
        loop.remove_reader(terminal)
