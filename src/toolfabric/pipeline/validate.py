"""Step 6: the declared schema, unchanged. The message is for whoever wrote the call.

It names paths, expectations and the nearest declared keys; it never quotes a value.
"""

from __future__ import annotations

from toolfabric.errors import ValidateError
from toolfabric.pipeline.records import Flight, Services

__all__ = ["validate"]

_SHOWN = 8


def validate(flight: Flight, services: Services) -> Flight:  # noqa: ARG001 -- every step takes both
    """Let through what the schema accepts, as it is.

    Raises:
        ValidateError: It does not accept it, or what was given are no arguments at all.
    """
    if flight.unfit is not None:
        raise ValidateError(f"{flight.ref}: {flight.unfit}")
    if flight.accepted is flight.args:
        return flight
    validator = flight.found.validator
    if validator.accepts(flight.args):
        return flight
    found = validator.violations(flight.args, _SHOWN + 1)
    told = "; ".join(map(str, found[:_SHOWN]))
    more = "; and more" if len(found) > _SHOWN else ""
    raise ValidateError(f"{flight.ref}: {told}{more}")
