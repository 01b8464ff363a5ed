"""Who still uses a mounted provider, so that it is closed once, and only after the last use.

1. A lease is taken in the same step in which an action is found, so no closing can come between.
2. A retired provider gives no new lease; those that are out stay good.
3. ``close`` of the provider is called at most once: when the last lease ends, or when waiting for it
   has taken too long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from toolfabric._base.attempt import Raised, attempt
from toolfabric._base.text import one_line
from toolfabric.protocols import Provider
from toolfabric.registry.bindings import Action, Binding

__all__ = ["Lease", "Mounted", "optional_member"]

CLOSE_SECONDS: Final = 10.0


def optional_member(provider: Provider, name: str) -> Callable[..., Any] | None:
    """One of the members that a provider may have; ``None`` if it has not."""
    member = getattr(provider, name, None)
    return cast("Callable[..., Any]", member) if callable(member) else None


@dataclass(slots=True, kw_only=True, eq=False)
class Mounted:
    """One provider from its mounting to its closing, with the binding that is current."""

    provider: Provider
    binding: Binding
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)  # one listing at a time
    unsubscribe: Callable[[], None] = lambda: None
    refresher: asyncio.Task[None] | None = None
    stale: bool = False
    listed_at: float = 0.0
    problem: str | None = None
    _leases: int = 0
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _closed: bool = False

    def lease(self, action: Action) -> Lease:
        """Take one action into use."""
        self._leases += 1
        self._idle.clear()
        return Lease(action, self._give_back)

    async def close(self, *, patience: float | None) -> str | None:
        """Wait for the last lease, at most ``patience`` seconds, then close the provider.

        Returns:
            What went wrong, if anything did.
        """
        if self._leases:
            await _within(self._idle.wait(), patience)
        if self._closed:
            return None
        self._closed = True
        member = optional_member(self.provider, "close")
        if member is None:
            return None
        try:
            answer = await attempt(member, within=CLOSE_SECONDS)
        except TimeoutError:
            return f"close() did not end within {CLOSE_SECONDS:.0f} seconds"
        return f"close() raised {one_line(repr(answer.error))}" if isinstance(answer, Raised) else None

    def _give_back(self) -> None:
        self._leases -= 1
        if not self._leases:
            self._idle.set()


class Lease:
    """One call's hold on the action it was resolved to."""

    __slots__ = ("_give_back", "action")

    def __init__(self, action: Action, give_back: Callable[[], None]) -> None:
        self.action = action
        self._give_back: Callable[[], None] | None = give_back

    def release(self) -> None:
        """End the hold. Safe to call twice."""
        if self._give_back is not None:
            give_back, self._give_back = self._give_back, None
            give_back()


async def _within(waiting: Any, patience: float | None) -> None:
    try:
        async with asyncio.timeout(patience):
            await waiting
    except TimeoutError:
        return
