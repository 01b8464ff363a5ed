"""The live line on a terminal while a program runs, and its printed text as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from toolfabric.cli import output
from toolfabric.execution.records import Activity

if TYPE_CHECKING:
    from rich.status import Status

__all__ = ["Watch"]


class Watch:
    """Shows activities on standard error: a status line on a terminal, only printed text elsewhere."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()
        self._done = 0
        self._phase = ""
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if output.is_terminal():
            from rich.console import Console

            self._status = Console(stderr=True).status("starting …", spinner="dots")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __call__(self, activity: Activity) -> None:
        """Take note of one activity."""
        match activity.kind:
            case "print":
                output.note(activity.text.removesuffix("\n"))
            case "call":
                self._running[activity.text] += 1
            case "settled":
                self._running[activity.text] -= 1
                self._done += 1
            case "phase":
                self._phase = activity.text
                output.note(f"── {activity.text}")
            case _:
                output.note(f"   {activity.text}")
        if self._status is not None:
            self._status.update(self.line())

    @contextmanager
    def paused(self) -> Generator[None]:
        """Take the status line away while something else is on the terminal."""
        if self._status is not None:
            self._status.stop()
        try:
            yield
        finally:
            if self._status is not None:
                self._status.start()

    def line(self) -> str:
        """The status line: phase, calls that ended, calls that run."""
        running = sorted(ref for ref, count in self._running.items() if count > 0)
        head = f"{self._phase}: " if self._phase else ""
        tail = f", running {', '.join(running[:3])}" if running else ""
        return output.printable(f"{head}{self._done} calls done{tail}").replace("[", "(").replace("]", ")")
