"""A kernel for the tests of this folder, and a short way to run a program in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from toolfabric.kernels.python_host import PythonKernel
from toolfabric.protocols import Bridge, KernelOutcome, Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge

Run = Callable[..., Awaitable[KernelOutcome]]


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    """Runs a text with the suite's surface; further keywords are those of ``Limits``."""
    kernel = PythonKernel(max_workers=2)

    async def once(
        code: str, *, bridge: Bridge | None = None, program: dict[str, Any] | None = None, **limits: Any
    ) -> KernelOutcome:
        chosen = Limits(**{"timeout_ms": 20_000, **limits})
        given: dict[str, Any] = {"actions": ACTIONS, "payloads": {"k": "v"}, **(program or {})}
        return await kernel.run(Program(code=code, **given), bridge or RecordingBridge(), chosen)

    yield once
    await kernel.close()
