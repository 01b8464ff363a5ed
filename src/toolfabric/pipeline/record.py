"""The record's side of a call: what the trace and the audits are told, and when.

Only this module of the pipeline speaks to them. The trace gets the typed outcome and the stage; the
sentence of an error goes to the caller and the audits, never to the trace.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolfabric.errors import CallError
from toolfabric.pipeline.records import Flight
from toolfabric.trace.audit import AuditLog
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import Json, Outcome

__all__ = ["CallRecord"]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call's place in both records, open from its issue to its settling."""

    recorder: TraceRecorder
    audits: AuditLog
    sequence: int

    @classmethod
    def issue(cls, recorder: TraceRecorder, audits: AuditLog, ref: str, args: Json) -> CallRecord:
        """Record that the call was made, verbatim in the audits."""
        sequence = recorder.issue(ref, args)
        audits.add(sequence=sequence, ref=ref, args=args)
        return cls(recorder, audits, sequence)

    def resolved(self, flight: Flight) -> None:
        """Record what the ref was found to mean."""
        action = flight.found
        self.recorder.resolved(
            self.sequence, ref=action.ref, provider=action.binding.name, action=action.spec.name
        )

    def succeeded(self, flight: Flight) -> None:
        """Record the result."""
        self.recorder.settle(
            self.sequence, Outcome.SUCCEEDED, result=flight.value, normalization=flight.normalization
        )
        self.audits.settle(self.sequence, Outcome.SUCCEEDED, result=flight.value)

    def failed(self, flight: Flight, error: CallError) -> None:
        """Record the stage that the error's class stands for."""
        self.recorder.settle(
            self.sequence, error.outcome, stage=error.stage, normalization=flight.normalization
        )
        self.audits.settle(self.sequence, error.outcome, stage=error.stage, error=str(error))

    def ended(self, flight: Flight, outcome: Outcome) -> None:
        """Record a call that was cut off from outside."""
        self.recorder.settle(self.sequence, outcome, normalization=flight.normalization)
        self.audits.settle(self.sequence, outcome)
