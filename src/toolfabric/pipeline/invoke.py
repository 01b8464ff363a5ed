"""Step 8: run the provider. The only step whose failure may leave an effect.

Cancellation and the deadline reach the provider, and neither it nor its exception reaches the host. What
it returns must be JSON as it is, and is bounded with a mark where something was left out.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from msgspec.structs import replace

from toolfabric._base.attempt import Raised, attempt, is_async
from toolfabric._base.bounded import bound_json
from toolfabric._base.json_form import NotJsonError
from toolfabric._base.text import told
from toolfabric.errors import ApproveError, InvokeError
from toolfabric.pipeline.records import Flight, Services
from toolfabric.policy.budgets import check_time, seconds_left
from toolfabric.policy.grants import call_digest
from toolfabric.protocols import CallContext
from toolfabric.values import Json, Outcome

__all__ = ["invoke"]


async def invoke(flight: Flight, services: Services) -> Flight:
    """Call the provider with the arguments that were validated and allowed.

    Raises:
        GuardError: The time was over, or the execution cancelled, before it began.
        ApproveError: The arguments are not those that were allowed.
        InvokeError: The provider failed, ran out of time, or returned what is not JSON.
    """
    check_time(flight.context, services.clock)
    _check_grant(flight)
    provider = flight.found.binding.provider
    context, stop = _told_to_stop(flight.context, provider.invoke)
    left = seconds_left(flight.context, services.clock)
    try:
        answer = await attempt(
            provider.invoke, flight.found.spec.name, flight.args, context, within=left, stop=stop
        )
    except TimeoutError as error:
        raise InvokeError(
            f"{flight.ref}: the execution's time was over before it ended; it may have had an effect",
            outcome=Outcome.TIMED_OUT,
        ) from error
    if isinstance(answer, Raised):
        raise InvokeError(f"{flight.ref}: {told(answer.error)}") from answer.error
    return replace(flight, value=_result(flight.ref, answer.value, services.max_result_bytes))


def _check_grant(flight: Flight) -> None:
    approval = flight.approval
    if approval is None:
        return
    if call_digest(flight.found.digest, flight.ref, flight.args) != approval.digest:
        raise ApproveError(f"{flight.ref} was not run: its arguments are not those that were allowed")


def _told_to_stop(
    context: CallContext, function: Callable[..., object]
) -> tuple[CallContext, Callable[[], None]]:
    """A plain function runs in a thread, which learns of cancellation only by asking."""
    if is_async(function):
        return context, lambda: None
    stopped = threading.Event()
    asked = context.cancelled
    return dataclasses.replace(context, cancelled=lambda: stopped.is_set() or asked()), stopped.set


def _result(ref: str, value: Json, max_bytes: int) -> Json:
    try:
        return bound_json(value, max_bytes).value
    except NotJsonError as error:
        raise InvokeError(f"{ref}: it ran, but its result is not JSON: {error}") from error
