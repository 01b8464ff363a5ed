"""One call from its ref to its result. Alone knows the order of the steps."""

from __future__ import annotations

import asyncio
from typing import Final, cast

from toolfabric._base.json_form import NotJsonError, json_size, json_type
from toolfabric.errors import CallError
from toolfabric.pipeline.approve import approve
from toolfabric.pipeline.guard import guard
from toolfabric.pipeline.invoke import invoke
from toolfabric.pipeline.normalize import normalize
from toolfabric.pipeline.prepare import prepare
from toolfabric.pipeline.record import CallRecord
from toolfabric.pipeline.records import MAX_ARGUMENT_DEPTH, Flight, Services, Step
from toolfabric.pipeline.repair import repair
from toolfabric.pipeline.resolve import resolve
from toolfabric.pipeline.validate import validate
from toolfabric.protocols import CallContext
from toolfabric.trace.audit import AuditLog
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import Json, JsonObject, Outcome

__all__ = ["STEPS", "Pipeline"]

STEPS: Final[tuple[Step, ...]] = (
    resolve,
    guard,
    repair,
    prepare,
    normalize,
    validate,
    approve,
    invoke,
)


class Pipeline:
    """Takes calls through the steps; shared by all executions of one host."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def call(
        self, ref: str, args: Json, *, context: CallContext, recorder: TraceRecorder, audits: AuditLog
    ) -> Json:
        """Make one call. It is recorded before anything waits, so in the order in which it was made.

        Raises:
            CallError: It was refused or failed; the class says at which stage.
            asyncio.CancelledError: The caller was cancelled; the call is recorded as aborted.
        """
        record = CallRecord.issue(recorder, audits, ref, args)
        flight = self._begin(ref, args, context)
        try:
            for step in STEPS:
                taken = step(flight, self._services)
                before, flight = flight, taken if isinstance(taken, Flight) else await taken
                if flight.action is not before.action:
                    record.resolved(flight)
        except CallError as error:
            record.failed(flight, error)
            raise
        except asyncio.CancelledError:
            record.ended(flight, Outcome.ABORTED)
            raise
        except BaseException:
            record.ended(flight, Outcome.FAILED)
            raise
        else:
            record.succeeded(flight)
            return flight.value
        finally:
            for give_back in reversed(flight.holds):
                give_back()

    def _begin(self, ref: str, args: Json, context: CallContext) -> Flight:
        given = {} if args is None else args
        unfit = _unfit(given, self._services.max_args_bytes)
        if unfit is not None:
            return Flight(ref=ref, args={}, context=context, unfit=unfit)
        return Flight(ref=ref, args=cast("JsonObject", given), context=context)


def _unfit(given: Json, max_bytes: int) -> str | None:
    """Why a value cannot be looked at as arguments, whatever the action declares."""
    if type(given) is not dict:
        return f"the arguments must be one object of names and values, not {json_type(given)}"
    try:
        size = json_size(given, max_depth=MAX_ARGUMENT_DEPTH)
    except NotJsonError as error:
        return f"the arguments are not JSON that can be taken: {error}"
    if size > max_bytes:
        return f"the arguments have {size} bytes; at most {max_bytes} are taken"
    return None
