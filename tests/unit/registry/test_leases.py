"""A provider lives until its last lease ends, and is closed once."""

from __future__ import annotations

import asyncio

import pytest

from toolfabric.registry.descriptors import bind
from toolfabric.registry.leases import Mounted, optional_member
from toolfabric.values import Origin

from .conftest import Made, action

pytestmark = pytest.mark.anyio


def mounted(provider: Made) -> Mounted:
    binding = bind(provider, provider.actions, origin=Origin.HOST, generation=1)
    return Mounted(provider=provider, binding=binding)


async def test_closing_without_leases_is_immediate_and_happens_once() -> None:
    provider = Made("tool", action("run"))
    held = mounted(provider)
    assert await held.close(patience=None) is None
    assert await held.close(patience=None) is None
    assert provider.closed == 1


async def test_impatient_closing_does_not_wait_for_ever() -> None:
    provider = Made("tool", action("run"))
    held = mounted(provider)
    held.lease(held.binding.actions["run"])
    async with asyncio.timeout(5):
        await held.close(patience=0.01)
    assert provider.closed == 1


def test_only_callable_members_count() -> None:
    provider = Made("tool", action("run"))
    assert optional_member(provider, "close") is not None
    assert optional_member(provider, "preview") is None
    assert optional_member(provider, "name") is None
