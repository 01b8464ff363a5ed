"""A clock and ids that can be foreseen, and a folder for sessions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.sessions.writer import SessionWriter


class TickingClock:
    """Each reading is a millisecond and a half after the one before."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 30, 20, 2, 13, 309_400, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(microseconds=1_500)
        return self._now

    def monotonic(self) -> float:
        return 0.0


class CountedIds:
    """``00000001``, ``00000002``, and so on; sessions count on their own."""

    def __init__(self) -> None:
        self._entries = 0
        self._sessions = 0

    def session(self) -> str:
        self._sessions += 1
        return f"01a22e0c-febc-7192-8457-{self._sessions:012d}"

    def entry(self) -> str:
        self._entries += 1
        return f"{self._entries:08x}"


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def ids() -> CountedIds:
    return CountedIds()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "agent" / "sessions" / "--work--"


@pytest.fixture
def create(folder: Path, clock: TickingClock, ids: CountedIds) -> Callable[[], SessionWriter]:
    """Begins a session in the folder."""
    return lambda: SessionWriter.create(folder, cwd=Path("/work"), files=RealFiles(), clock=clock, ids=ids)


@pytest.fixture
def reopen(clock: TickingClock, ids: CountedIds) -> Callable[[Path], SessionWriter]:
    """Continues a session."""
    return lambda path: SessionWriter.open(path, files=RealFiles(), clock=clock, ids=ids)
