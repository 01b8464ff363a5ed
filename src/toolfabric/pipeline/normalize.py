"""Step 5: bring the arguments into the declared form, where the action's plan proves how. Never fails.

It runs after the provider's own preparation, which has precedence, and before the declared schema, which
judges whatever comes out (seed: Preservation laws).
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from toolfabric.entropy.apply import apply_normal_form_plan
from toolfabric.pipeline.records import Flight, Services
from toolfabric.values import JsonObject

__all__ = ["normalize"]


def normalize(flight: Flight, services: Services) -> Flight:
    """Apply the plan; arguments that the schema accepts stay the same object, and are judged once."""
    plan = services.plans.get(flight.ref)
    if plan is None or flight.unfit is not None:
        return flight
    action = flight.found
    if action.validator.accepts(flight.args):
        return replace(flight, accepted=flight.args)
    result = apply_normal_form_plan(flight.ref, action.spec.input_schema, flight.args, plan)
    if result.witness is None:
        return flight
    return replace(flight, args=cast("JsonObject", result.args), normalization=result.witness)
