"""Closing a record: the envelope's bounds, the fixed sentences, and what is cut when it is too large.

Over its bound, an envelope first loses kept arguments, from the last call backwards, and only then calls:
how often calls were rejected is what the record is for. Whatever comes out passes ``reader``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolfabric.errors import RecordError
from toolfabric.trace.bounds import (
    ENVELOPE_BYTES,
    MAX_INTEGER,
    MAX_OPERATIONS,
    MAX_PHASES,
    Cut,
    encode,
)
from toolfabric.trace.project import is_ref, project_args, project_phase, project_result
from toolfabric.trace.records import INVALID_REF, KIND, VERSION, Counts, Operation, Trace, Witness
from toolfabric.values import Json, JsonObject, Outcome, Stage

__all__ = ["OPEN_CALL", "call_error", "checked_witness", "seal_trace", "trace_from_events"]

OPEN_CALL: Final = "The execution ended before this call did."
_STAGES: Final = {
    Stage.RESOLVE: "No such action.",
    Stage.GUARD: "A guard refused the call.",
    Stage.PREPARE: "The provider could not read the arguments.",
    Stage.VALIDATE: "The arguments do not fit the declared schema.",
    Stage.APPROVE: "The call was not approved.",
    Stage.INVOKE: "The provider failed.",
}
_CALLS: Final = {
    Outcome.SUCCEEDED: UNSET,
    Outcome.FAILED: "The call failed.",
    Outcome.ABORTED: "The call was aborted.",
    Outcome.TIMED_OUT: "The call ran out of time.",
}
_EXECUTIONS: Final = {
    Outcome.SUCCEEDED: UNSET,
    Outcome.FAILED: "The execution failed.",
    Outcome.ABORTED: "The execution was aborted.",
    Outcome.TIMED_OUT: "The execution ran out of time.",
}
_PHASES_BYTES: Final = 64 * 1024
_NO_RECORD: Final = (RecordError, UnicodeEncodeError)
"""The decoder says the second of a lone surrogate where it expects a known word."""


def call_error(outcome: Outcome, stage: Stage | None) -> str | UnsetType:
    """The fixed sentence for how a call ended; none for success."""
    if outcome is Outcome.FAILED and stage is not None:
        return _STAGES[stage]
    return _CALLS[outcome]


def checked_witness(witness: Witness | None) -> Witness | UnsetType:
    """A witness that a reader will accept, or none."""
    if witness is None:
        return UNSET
    try:
        return Witness.from_json(witness.to_json())
    except _NO_RECORD:
        return UNSET


def seal_trace(
    operations: Iterable[Operation],
    phases: Iterable[str],
    outcome: Outcome,
    *,
    cut: Cut | None = None,
    dropped_operations: int = 0,
) -> Trace:
    """Make the envelope of one execution, within its bounds.

    Args:
        operations: Projected calls in issue order, sequences rising.
        phases: Names that ``project_phase`` kept.
        outcome: How the execution ended.
        cut: What was left out before.
        dropped_operations: Calls left out before.
    """
    given = list(operations)
    kept = given[:MAX_OPERATIONS]
    names, lost = _within_phases(list(phases))
    kept, stripped = _within_envelope(kept, sum(len(encode(name)) + 1 for name in names))
    total = (cut or Cut()) + lost + stripped
    return Trace(
        kind=KIND,
        version=VERSION,
        outcome=outcome,
        phases=tuple(names),
        operations=tuple(kept),
        counts=Counts(
            dropped_values=min(total.dropped, MAX_INTEGER),
            truncated_values=min(total.truncated, MAX_INTEGER),
            redacted_values=min(total.redacted, MAX_INTEGER),
            dropped_operations=min(dropped_operations + len(given) - len(kept), MAX_INTEGER),
        ),
        error=_EXECUTIONS[outcome],
    )


def _within_phases(phases: list[str]) -> tuple[list[str], Cut]:
    kept: list[str] = []
    room = _PHASES_BYTES
    for name in phases[:MAX_PHASES]:
        room -= len(encode(name)) + 1
        if room < 0:
            break
        kept.append(name)
    return kept, Cut(dropped=len(phases) - len(kept))


def _within_envelope(operations: list[Operation], phases_bytes: int) -> tuple[list[Operation], Cut]:
    room = ENVELOPE_BYTES - _SHELL_BYTES - phases_bytes
    sizes = [_size(operation) for operation in operations]
    excess = sum(sizes) - room
    cut = Cut()
    for at in range(len(operations) - 1, -1, -1):
        if excess <= 0:
            break
        if not operations[at].args:
            continue
        bare = replace(operations[at], args={})
        cut += Cut(dropped=len(operations[at].args))
        excess -= sizes[at] - _size(bare)
        operations[at], sizes[at] = bare, _size(bare)
    while excess > 0:
        operations.pop()
        excess -= sizes.pop()
    return operations, cut


def _size(operation: Operation) -> int:
    return len(encode(operation.to_json())) + 1


def _shell_bytes() -> int:
    """Bytes of an envelope without phases and operations, every number as long as it can be."""
    counts = Counts(
        dropped_values=MAX_INTEGER,
        truncated_values=MAX_INTEGER,
        redacted_values=MAX_INTEGER,
        dropped_operations=MAX_INTEGER,
    )
    empty = Trace(
        kind=KIND, version=VERSION, outcome=Outcome.SUCCEEDED, phases=(), operations=(), counts=counts
    )
    errors = [len(encode(error)) + len(',"error":') for error in _EXECUTIONS.values() if error is not UNSET]
    return len(encode(empty.to_json())) + max(errors)


_SHELL_BYTES: Final = _shell_bytes()


# --- what a killed host left ---------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Folded:
    """What the events have told so far. Later events of one call replace earlier ones."""

    operations: dict[int, Operation] = field(default_factory=dict[int, Operation])
    settled: set[int] = field(default_factory=set[int])
    cuts: dict[int, Cut] = field(default_factory=dict[int, Cut])
    phases: list[str] = field(default_factory=list[str])
    lost: Cut = field(default_factory=Cut)
    dropped_operations: int = 0

    def add(self, event: JsonObject) -> None:
        match event.get("event"):
            case "issue":
                self.operation(event, settled=False)
            case "settle":
                self.operation(event, settled=True)
            case "phase":
                self.phase(event)
            case "dropped":
                self.dropped_operations += 1
            case _:
                return

    def operation(self, event: JsonObject, *, settled: bool) -> None:
        given = event.get("operation")
        operation = _read_operation(given, settled=settled) if isinstance(given, dict) else None
        if operation is None or operation.sequence in self.settled:
            return
        if settled:
            self.settled.add(operation.sequence)
        self.operations[operation.sequence] = operation
        self.cuts[operation.sequence] = _read_cut(event.get("counts"))

    def phase(self, event: JsonObject) -> None:
        self.lost += _read_cut(event.get("counts"))
        name = event.get("name")
        kept, lost = project_phase(name) if isinstance(name, str) else (None, Cut())
        self.lost += lost
        if kept is not None:
            self.phases.append(kept)


def trace_from_events(events: Iterable[JsonObject]) -> Trace:
    """Fold the spooled events of an execution whose host died into an aborted trace.

    Events that do not have their form are passed over: the last one may be torn, and a file may hold
    anything. Arguments are projected again, so the result is as bounded as any other trace.
    """
    folded = _Folded()
    for event in events:
        folded.add(event)
    return seal_trace(
        [folded.operations[sequence] for sequence in sorted(folded.operations)],
        folded.phases,
        Outcome.ABORTED,
        cut=sum(folded.cuts.values(), folded.lost),
        dropped_operations=folded.dropped_operations,
    )


def _read_operation(given: JsonObject, *, settled: bool) -> Operation | None:
    form: JsonObject = given if settled else {**given, "outcome": Outcome.ABORTED.value, "error": OPEN_CALL}
    try:
        found = Operation.from_json(form)
    except _NO_RECORD:
        return None
    ref = found.ref if is_ref(found.ref) else INVALID_REF
    stage = None if found.failure_stage is UNSET else found.failure_stage
    kept = project_result(ref, found.result if settled and found.result is not UNSET else None).kept
    return replace(
        found,
        ref=ref,
        provider=_name(found.provider),
        action=_name(found.action),
        args=project_args(ref, cast("JsonObject", found.args)).args,
        error=call_error(found.outcome, stage) if settled else OPEN_CALL,
        result=UNSET if kept is None else kept,
    )


def _name(text: str | UnsetType) -> str | UnsetType:
    return text if text is not UNSET and is_ref(text) else UNSET


def _read_cut(counts: Json) -> Cut:
    if not isinstance(counts, dict):
        return Cut()
    values: Sequence[int] = [
        value
        if isinstance(value := counts.get(key), int) and not isinstance(value, bool) and value > 0
        else 0
        for key in ("droppedValues", "truncatedValues", "redactedValues")
    ]
    return Cut(dropped=values[0], truncated=values[1], redacted=values[2])
