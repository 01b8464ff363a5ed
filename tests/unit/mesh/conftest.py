"""A clock that only a test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest


class HandClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()
