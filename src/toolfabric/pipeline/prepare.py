"""Step 4: the provider's own reshaping of old argument forms. Its refusal is final.

The provider works on a copy, in a bounded time, and what it gives must be arguments again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from msgspec.structs import replace

from toolfabric._base.attempt import Raised, attempt
from toolfabric._base.json_form import NotJsonError, copy_json, json_size, json_type
from toolfabric._base.text import told
from toolfabric.errors import PrepareError
from toolfabric.pipeline.records import MAX_ARGUMENT_DEPTH, Flight, Services
from toolfabric.policy.budgets import seconds_left
from toolfabric.values import JsonObject, Outcome

__all__ = ["prepare"]


def prepare(flight: Flight, services: Services) -> Flight | Awaitable[Flight]:
    """Let the provider prepare the arguments, if it has anything to prepare.

    Raises:
        PrepareError: It refused, took too long, or gave something that is no arguments.
    """
    member = getattr(flight.found.binding.provider, "prepare_arguments", None)
    if member is None or flight.unfit is not None:
        return flight
    return _prepared(flight, services, member)


async def _prepared(flight: Flight, services: Services, member: Callable[..., Any]) -> Flight:
    ref = flight.ref
    left = seconds_left(flight.context, services.clock)
    own = services.prepare_seconds
    try:
        answer = await attempt(
            member,
            flight.found.spec.name,
            copy_json(flight.args),
            within=own if left is None else min(own, left),
        )
    except TimeoutError as error:
        outcome = Outcome.TIMED_OUT if left is not None and left <= own else Outcome.FAILED
        raise PrepareError(f"{ref}: preparing the arguments did not end in time", outcome=outcome) from error
    if isinstance(answer, Raised):
        raise PrepareError(f"{ref}: {told(answer.error)}") from answer.error
    return replace(flight, args=_checked(ref, answer.value, services.max_args_bytes))


def _checked(ref: str, given: object, max_bytes: int) -> JsonObject:
    if type(given) is not dict:
        raise PrepareError(f"{ref}: the provider prepared {json_type(given)}, not an object of arguments")
    args = cast("JsonObject", given)
    try:
        size = json_size(args, max_depth=MAX_ARGUMENT_DEPTH)
    except NotJsonError as error:
        raise PrepareError(f"{ref}: what the provider prepared is not JSON: {error}") from error
    if size > max_bytes:
        raise PrepareError(f"{ref}: the provider prepared {size} bytes; at most {max_bytes} are taken")
    return args
