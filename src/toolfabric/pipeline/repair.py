"""Step 3: rename argument keys by authored aliases, each proved against the live schema. Never fails."""

from __future__ import annotations

from msgspec.structs import replace

from toolfabric.pipeline.records import Flight, Services

__all__ = ["repair"]


def repair(flight: Flight, services: Services) -> Flight:
    """Rename what has one meaning; arguments without such a key stay the same object."""
    renamed = services.repairs.keys(flight.ref, flight.found.spec.input_schema, flight.args)
    if not renamed:
        return flight
    return replace(flight, args={renamed.get(key, key): value for key, value in flight.args.items()})
