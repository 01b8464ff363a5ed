"""A provider is closed once, after the last use or after enough patience."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolfabric.registry.descriptors import bind
from toolfabric.registry.leases import Mounted, optional_member
from toolfabric.values import Origin

from .conftest import Listed, spec

pytestmark = pytest.mark.anyio


def mounted(provider: Listed) -> Mounted:
    return Mounted(provider=provider, binding=bind(provider, [spec("a")], origin=Origin.HOST, generation=1))


async def test_closing_waits_for_every_lease() -> None:
    provider = Listed()
    one = mounted(provider)
    leases = [one.lease(one.binding.actions["a"]) for _number in range(3)]
    async with asyncio.TaskGroup() as group:
        group.create_task(one.close(patience=None))
        for lease in leases:
            await asyncio.sleep(0)
            assert provider.closed == 0
            lease.release()
    assert provider.closed == 1


async def test_patience_ends() -> None:
    provider = Listed()
    one = mounted(provider)
    lease = one.lease(one.binding.actions["a"])
    assert await one.close(patience=0.01) is None
    assert provider.closed == 1
    lease.release()
    assert await one.close(patience=None) is None
    assert provider.closed == 1


async def test_a_provider_without_close_needs_none() -> None:
    class Bare:
        name, description = "bare", "Bare."

        def list(self) -> Any:
            return []

        close = "not a function"

    assert optional_member(Bare(), "close") is None  # pyright: ignore[reportArgumentType] -- as a plug-in might be
    assert optional_member(Bare(), "list") is not None  # pyright: ignore[reportArgumentType] -- as a plug-in might be
