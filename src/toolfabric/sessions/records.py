"""What is read from session files and told about folded spools. The lines themselves stay plain JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["FoldedExecution", "SessionHeader", "SessionSummary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHeader:
    """The first line of a session file."""

    version: int
    session_id: str
    timestamp: str
    cwd: str
    parent_session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One session as a list shows it. ``title`` is the beginning of its first user message, or empty."""

    path: Path
    session_id: str
    timestamp: str
    cwd: str
    size: int
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedExecution:
    """An execution whose host died, now in its session as an aborted tool result."""

    session: Path
    execution_id: str
    call_id: str
    operations: int
