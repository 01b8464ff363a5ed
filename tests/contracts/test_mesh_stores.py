"""Every backend of the mesh against the one public suite."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric.durable.fileops import RealFiles
from toolfabric.mesh.records import Limits
from toolfabric.mesh.sqlite_store import SqliteMesh
from toolfabric.mesh.store import MeshStore
from toolfabric.testing.mesh import MemoryData, MemoryMesh
from toolfabric.testing.mesh_suite import MeshCheck, OpenHandle, mesh_checks

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def on_sqlite(folder: Path) -> AsyncGenerator[OpenHandle]:
    async with AsyncExitStack() as handles:

        async def open_handle(limits: Limits) -> MeshStore:
            opening = SqliteMesh.open(
                folder / "mesh", files=RealFiles(), clock=SystemClock(), ids=SystemIds(), limits=limits
            )
            return await handles.enter_async_context(await opening)

        yield open_handle


@asynccontextmanager
async def in_memory(_folder: Path) -> AsyncGenerator[OpenHandle]:
    data = MemoryData()

    async def open_handle(limits: Limits) -> MeshStore:
        return MemoryMesh(data, clock=SystemClock(), limits=limits)

    yield open_handle


Opened = Callable[[Path], AbstractAsyncContextManager[OpenHandle]]


@pytest.mark.parametrize("check", mesh_checks(), ids=str)
@pytest.mark.parametrize("opened", [on_sqlite, in_memory])
async def test_a_backend_keeps_the_promise(check: MeshCheck, opened: Opened, tmp_path: Path) -> None:
    async with opened(tmp_path) as open_handle:
        await check.run(open_handle)
