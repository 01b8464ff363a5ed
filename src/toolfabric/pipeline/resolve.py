"""Step 1: find the action that a ref names, and hold it for as long as the call lasts."""

from __future__ import annotations

from msgspec.structs import replace

from toolfabric.errors import ResolveError
from toolfabric.pipeline.records import Flight, Services

__all__ = ["resolve"]


def resolve(flight: Flight, services: Services) -> Flight:
    """Pin the action. An authored alias counts only for a ref that names nothing itself.

    Raises:
        ResolveError: No action has that name; the message lists near ones.
    """
    try:
        lease = services.registry.lease(flight.ref)
    except ResolveError:
        target = services.repairs.action(flight.ref)
        if target is None or target not in services.registry:
            raise
        lease = services.registry.lease(target)
    return replace(flight, ref=lease.action.ref, action=lease.action, holds=(*flight.holds, lease.release))
