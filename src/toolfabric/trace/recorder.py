"""Records the calls of one execution while it runs.

A call is recorded when it is issued, before anything can wait, so the sequence is issue order however calls
end. What is kept of it is decided at once and the rest is let go, but for the arguments of a call that is
not yet resolved: an alias may show that another ref's rules apply. All methods are synchronous and belong to
the event loop's thread; ten thousand calls cost ten thousand small steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType

from toolfabric.trace.bounds import ARGS_BYTES, ENVELOPE_BYTES, MAX_OPERATIONS, MAX_PHASES, Cut, encode
from toolfabric.trace.project import Projection, is_ref, project_args, project_phase, project_result
from toolfabric.trace.records import INVALID_REF, Operation, Trace, Witness
from toolfabric.trace.seal import OPEN_CALL, call_error, checked_witness, seal_trace
from toolfabric.values import Json, JsonObject, Outcome, Stage

__all__ = ["TraceRecorder"]


@dataclass(slots=True, kw_only=True)
class _Call:
    """One call that has a place in the envelope. ``outcome`` is ``None`` while it is open."""

    sequence: int
    ref: str
    given: Json
    args: JsonObject = field(default_factory=dict[str, Json])
    cut: Cut = field(default_factory=Cut)
    provider: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    outcome: Outcome | None = None
    stage: Stage | None = None
    result: JsonObject | UnsetType = UNSET
    normalization: Witness | UnsetType = UNSET

    def operation(self, otherwise: Outcome) -> Operation:
        """The call's record; an open one gets the outcome given."""
        failed_at = self.stage if self.outcome is Outcome.FAILED else None
        return Operation(
            type="call",
            sequence=self.sequence,
            ref=self.ref,
            provider=self.provider,
            action=self.action,
            args=self.args,
            outcome=self.outcome or otherwise,
            failure_stage=failed_at or UNSET,
            error=OPEN_CALL if self.outcome is None else call_error(self.outcome, failed_at),
            result=self.result,
            normalization=self.normalization,
        )


class TraceRecorder:
    """The recorder of one execution.

    ``observe`` is given each event as small JSON, for a spool; what it raises reaches the caller, after
    the event was recorded here::

        {"event": "issue", "operation": {"type", "sequence", "ref", "args"}, "counts"?}
        {"event": "settle", "operation": {...}, "counts"?}
        {"event": "phase", "name"?, "counts"?}
        {"event": "dropped"}                                     a call past the bound
    """

    def __init__(self, *, observe: Callable[[JsonObject], None] | None = None) -> None:
        self._observe = observe
        self._calls: list[_Call] = []
        self._issued: list[str] = []
        self._open: set[int] = set()
        self._succeeded: list[int] = []
        self._phases: list[str] = []
        self._lost = Cut()
        self._args_room = ENVELOPE_BYTES
        self._sealed: Trace | None = None

    def issue(self, ref: str, args: Json) -> int:
        """Record that a call was made, and return its sequence, which starts at 1."""
        sequence = len(self._issued) + 1
        known = ref if is_ref(ref) else INVALID_REF
        self._issued.append(known)
        self._open.add(sequence)
        if self._sealed is not None:
            return sequence
        if sequence > MAX_OPERATIONS:
            self._tell({"event": "dropped"})
            return sequence
        call = _Call(sequence=sequence, ref=known, given=args)
        self._calls.append(call)
        self._keep(call, project_args(known, args))
        self._tell(
            {
                "event": "issue",
                "operation": {"type": "call", "sequence": sequence, "ref": known, "args": call.args},
                **_counts(call.cut),
            }
        )
        return sequence

    def resolved(self, sequence: int, *, ref: str, provider: str, action: str) -> None:
        """Say what a call's ref was found to mean; another ref's rules then apply to its arguments."""
        known = ref if is_ref(ref) else INVALID_REF
        self._issued[sequence - 1] = known
        call = self._recorded(sequence)
        if call is None or self._sealed is not None or call.outcome is not None:
            return
        call.provider = provider if is_ref(provider) else UNSET
        call.action = action if is_ref(action) else UNSET
        if known != call.ref:
            call.ref = known
            self._args_room += _size(call.args)
            self._keep(call, project_args(known, call.given))
        call.given = None

    def settle(
        self,
        sequence: int,
        outcome: Outcome,
        *,
        stage: Stage | None = None,
        result: Json = None,
        normalization: Witness | None = None,
    ) -> None:
        """Record how a call ended. The first time counts; later ones, and any after sealing, do not."""
        if sequence not in self._open or self._sealed is not None:
            return
        self._open.discard(sequence)
        if outcome is Outcome.SUCCEEDED:
            self._succeeded.append(sequence)
        call = self._recorded(sequence)
        if call is None:
            return
        kept = project_result(call.ref, result)
        call.outcome, call.stage, call.given = outcome, stage, None
        call.result = UNSET if kept.kept is None else kept.kept
        call.normalization = checked_witness(normalization)
        unfit = normalization is not None and call.normalization is UNSET
        call.cut += kept.cut + Cut(dropped=int(unfit))
        form = call.operation(outcome).to_json()
        self._tell({"event": "settle", "operation": form, **_counts(call.cut)})

    def phase(self, name: str) -> None:
        """Record that the program entered a phase of its own naming."""
        if self._sealed is not None:
            return
        kept, lost = project_phase(name)
        if kept is not None and len(self._phases) >= MAX_PHASES:
            kept, lost = None, Cut(dropped=1)
        self._lost += lost
        if kept is not None:
            self._phases.append(kept)
        told: JsonObject = {} if kept is None else {"name": kept}
        self._tell({"event": "phase", **told, **_counts(lost)})

    def completed(self) -> tuple[str, ...]:
        """The refs of all calls that succeeded, in issue order, those past the bound included."""
        return tuple(self._issued[sequence - 1] for sequence in sorted(self._succeeded))

    def seal(self, outcome: Outcome) -> Trace:
        """Close the record. Calls still open get the execution's outcome; sealing again changes nothing."""
        if self._sealed is None:
            self._sealed = seal_trace(
                [call.operation(outcome) for call in self._calls],
                self._phases,
                outcome,
                cut=sum((call.cut for call in self._calls), self._lost),
                dropped_operations=len(self._issued) - len(self._calls),
            )
        return self._sealed

    def _recorded(self, sequence: int) -> _Call | None:
        return self._calls[sequence - 1] if sequence <= len(self._calls) else None

    def _keep(self, call: _Call, projection: Projection) -> None:
        """Give a call its arguments, unless the envelope has no room for more of them."""
        size = _size(projection.args)
        if size > min(ARGS_BYTES, self._args_room):
            call.args, call.cut = {}, projection.cut + Cut(dropped=len(projection.args))
            return
        self._args_room -= size
        call.args, call.cut = projection.args, projection.cut

    def _tell(self, event: JsonObject) -> None:
        if self._observe is not None:
            self._observe(event)


def _size(args: JsonObject) -> int:
    return len(encode(args)) if args else 0


def _counts(cut: Cut) -> JsonObject:
    if not cut:
        return {}
    return {
        "counts": {
            "droppedValues": cut.dropped,
            "truncatedValues": cut.truncated,
            "redactedValues": cut.redacted,
        }
    }
