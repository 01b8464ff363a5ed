"""Step 7: has somebody allowed exactly this call.

Where a person is asked, the arguments are copied first. What is shown, what the answer is bound to and
what is invoked are then the same, whatever the provider or the approver does to what it was handed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, assert_never, cast

from msgspec.structs import replace

from toolfabric._base.attempt import Raised, attempt
from toolfabric._base.json_form import copy_json
from toolfabric._base.text import one_line, printable, told
from toolfabric.errors import ApproveError
from toolfabric.pipeline.records import Flight, Services
from toolfabric.policy.budgets import seconds_left
from toolfabric.policy.grants import call_digest
from toolfabric.policy.risk import Permission
from toolfabric.protocols import Approval, ApprovalRequest
from toolfabric.values import JsonObject, Outcome, Risk

__all__ = ["approve"]

_PREVIEW_CHARS = 20_000


def approve(flight: Flight, services: Services) -> Flight | Awaitable[Flight]:
    """Apply the risk policy to the action's risks, and ask where it says so.

    Raises:
        ApproveError: A risk is denied, nobody granted the call, or the answer was for another one.
    """
    risks = flight.found.spec.risks
    permission = services.policy.decide(risks)
    match permission:
        case Permission.ALLOW:
            return flight
        case Permission.DENY:
            raise ApproveError(_denied(flight.ref, services.policy.with_permission(risks, Permission.DENY)))
        case Permission.ASK:
            return _asked(flight, services)
        case _:
            assert_never(permission)


async def _asked(flight: Flight, services: Services) -> Flight:
    spec, ref = flight.found.spec, flight.ref
    args = cast("JsonObject", copy_json(flight.args))
    digest = call_digest(flight.found.digest, ref, args)
    request = ApprovalRequest(
        ref=ref,
        risks=spec.risks,
        args=cast("JsonObject", copy_json(args)),
        digest=digest,
        description=spec.description,
        effect=spec.effect,
        preview=await _preview(flight, services, args),
    )
    answer = await _in_time(
        flight, services, services.approval_seconds, "the approver", services.approver.ask, request
    )
    if not isinstance(answer, Approval):
        raise ApproveError(f"{ref} was not allowed: the approver gave no approval")
    if answer.granted is not True:
        raise ApproveError(f"{ref} was not allowed: {one_line(answer.reason, limit=1_000) or 'refused'}")
    if answer.digest != digest:
        raise ApproveError(f"{ref} was not allowed: the answer was for another call")
    return replace(flight, args=args, approval=answer)


async def _preview(flight: Flight, services: Services, args: JsonObject) -> str | None:
    member = getattr(flight.found.binding.provider, "preview", None)
    if member is None:
        return None
    name, copy = flight.found.spec.name, copy_json(args)
    shown = await _in_time(flight, services, services.preview_seconds, "the preview", member, name, copy)
    if shown is not None and not isinstance(shown, str):
        raise ApproveError(f"{flight.ref} was not allowed: its preview is not text")
    return None if shown is None else printable(shown, limit=_PREVIEW_CHARS)


async def _in_time(
    flight: Flight, services: Services, own: float, who: str, member: Callable[..., Any], *args: object
) -> object:
    """Ask code that is not ours; not answering in time refuses, as does any exception."""
    left = seconds_left(flight.context, services.clock)
    try:
        answer = await attempt(member, *args, within=own if left is None else min(own, left))
    except TimeoutError as error:
        outcome = Outcome.TIMED_OUT if left is not None and left <= own else Outcome.FAILED
        raise ApproveError(
            f"{flight.ref} was not allowed: {who} did not answer in time", outcome=outcome
        ) from error
    if isinstance(answer, Raised):
        raise ApproveError(
            f"{flight.ref} was not allowed: {who} failed: {told(answer.error)}"
        ) from answer.error
    return answer.value


def _denied(ref: str, risks: Sequence[Risk]) -> str:
    names = " and ".join(risks)
    settings = ", ".join(f"approvals.{risk}" for risk in risks)
    return f'{ref} is not allowed: the configuration denies {names}; set {settings} to "ask" or "allow"'
