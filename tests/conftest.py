"""What every test shares: the event loop's backend, and how hard Hypothesis tries."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import HealthCheck, settings

# The wall clock of a busy machine must not decide a test: no deadline, and no complaint that
# generating was slow. The default run draws the same examples every time and keeps no database.
settings.register_profile(
    "default",
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    max_examples=5_000,
    derandomize=False,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)

_SELECTS_SLOW = re.compile(r"(?<!not )\bslow\b")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile: the environment first, then ``-m slow``, which is a soak run."""
    chosen: str = config.getoption("--hypothesis-profile", default=None) or ""
    if not chosen:
        chosen = os.environ.get("HYPOTHESIS_PROFILE", "")
    if not chosen:
        marks: str = config.getoption("-m", default="") or ""
        chosen = "soak" if _SELECTS_SLOW.search(marks) else "default"
    settings.load_profile(chosen)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asyncio alone: nothing here promises to run on another event loop."""
    return "asyncio"
