"""Read evidence from the lines of a session file: typed traces, and audits beside them.

Only a guarded execution trace V1 is evidence; its audits are read then and never without it. Program
text, messages of exceptions and what an assistant says are not read at all (seed: Evidence and
ingestion). A line that is not JSON, or not a record, is skipped; nothing here raises for foreign bytes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolfabric._base.camel import Record
from toolfabric.entropy.observations import Observations, is_observed
from toolfabric.entropy.records import AuditCall, Operation, Trace, ValueObservation
from toolfabric.trace.reader import parse_trace
from toolfabric.trace.records import Operation as TracedOperation
from toolfabric.trace.records import Trace as ExecutionTrace

__all__ = ["EvidenceReader", "SessionEvidence", "session_evidence"]

_BOM: Final = b"\xef\xbb\xbf"


class SessionEvidence(Record, frozen=True, kw_only=True):
    """What sessions yield: traces, values of calls that succeeded, and verbatim arguments."""

    traces: tuple[Trace, ...]
    value_observations: tuple[ValueObservation, ...]
    audit_calls: tuple[AuditCall, ...]


def session_evidence(lines: Iterable[str | bytes]) -> SessionEvidence:
    """Read one session file's lines, in file order; the first one may begin with a byte-order mark.

    Never raises for what a line says.
    """
    reader = EvidenceReader()
    for line in lines:
        reader.feed(line)
    return reader.evidence()


class EvidenceReader:
    """Reads lines one by one, so that appended ones can be read later with the model that was current.

    ``model`` is ``provider/modelId``, or ``None`` before any was named.
    """

    def __init__(self, *, model: str | None = None, at_start: bool = True) -> None:
        self.model = model
        self._at_start = at_start
        self._traces: list[Trace] = []
        self._audits: list[AuditCall] = []
        self._observations = Observations()

    def feed(self, line: str | bytes) -> None:
        """Take one line, with or without its end."""
        data = _bytes(line)
        if self._at_start:
            data = data.removeprefix(_BOM)
            self._at_start = False
        entry = _read(data)
        if entry is None:
            return
        self.model = entry.model or self.model
        trace = parse_trace(entry.trace) if entry.trace is not None else None
        if trace is not None:
            self._take(trace, entry.audits)

    def evidence(self) -> SessionEvidence:
        """Everything read so far."""
        return SessionEvidence(
            traces=tuple(self._traces),
            value_observations=self._observations.rows(),
            audit_calls=tuple(self._audits),
        )

    def _take(self, trace: ExecutionTrace, audits: object) -> None:
        self._traces.append(
            Trace(
                operations=tuple(_operation(one) for one in trace.operations),
                task_key=trace.phases[0] if trace.phases else UNSET,
                model=self.model or UNSET,
            )
        )
        verbatim = _audits(audits)
        self._audits.extend(AuditCall(ref=one.ref, args=one.args) for one in verbatim)
        for operation, args in _with_verbatim(trace.operations, verbatim):
            if is_observed(operation.ref, operation.outcome):
                self._observations.add_call(operation.ref, args)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Audit:
    ref: str
    args: Any
    sequence: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What one line says: a model that became current, and what may be a trace with its audits."""

    model: str | None = None
    trace: object = None
    audits: object = None


class _Line(msgspec.Struct):
    type: Any = None
    provider: Any = None
    model_id: Any = msgspec.field(default=None, name="modelId")
    details: Raw | UnsetType = UNSET
    message: Raw | UnsetType = UNSET


class _Message(msgspec.Struct):
    role: Any = None
    provider: Any = None
    model: Any = None
    details: Raw | UnsetType = UNSET


class _Details(msgspec.Struct):
    trace: Any = None
    audits: Any = None


def _bytes(line: str | bytes) -> bytes:
    return line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line


def _read(data: bytes) -> _Entry | None:
    try:
        return _read_fast(data)
    except (msgspec.MsgspecError, RecursionError):
        # The fast decoder refuses some JSON: an escaped lone surrogate, a message that is a text.
        return _read_slow(data)


def _read_fast(data: bytes) -> _Entry:
    """Decode only what is needed; the rest is skipped over."""
    line = msgspec.json.decode(data, type=_Line)
    message = _Message()
    if line.message is not UNSET:
        message = msgspec.json.decode(line.message, type=_Message)
    found = line.details if line.details is not UNSET else message.details
    details = msgspec.json.decode(found, type=_Details) if found is not UNSET else _Details()
    changed = _model(line.provider, line.model_id) if line.type == "model_change" else None
    spoken = _model(message.provider, message.model) if message.role == "assistant" else None
    return _Entry(model=changed or spoken, trace=details.trace, audits=details.audits)


def _read_slow(data: bytes) -> _Entry | None:
    try:
        decoded: object = json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(decoded, dict):
        return None
    line = cast("dict[str, object]", decoded)
    message = _object(line.get("message"))
    details = _object(line["details"] if "details" in line else message.get("details"))
    changed = (
        _model(line.get("provider"), line.get("modelId")) if line.get("type") == "model_change" else None
    )
    spoken = (
        _model(message.get("provider"), message.get("model")) if message.get("role") == "assistant" else None
    )
    return _Entry(model=changed or spoken, trace=details.get("trace"), audits=details.get("audits"))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _object(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _model(provider: object, model: object) -> str | None:
    """The stamp of a producing model; a broken one is none, and leaves the current one as it is."""
    if isinstance(provider, str) and isinstance(model, str) and provider and model:
        return f"{provider}/{model}"
    return None


def _operation(traced: TracedOperation) -> Operation:
    return Operation(
        ref=traced.ref,
        args=traced.args,
        outcome=traced.outcome,
        failure_stage=traced.failure_stage,
        normalization=traced.normalization,
    )


def _audits(value: object) -> list[_Audit]:
    """Every audit that names a call and has its arguments."""
    found: list[_Audit] = []
    for entry in cast("list[object]", value) if isinstance(value, list) else []:
        audit = _object(entry)
        ref, sequence = audit.get("ref"), audit.get("sequence")
        if isinstance(ref, str) and ref and "args" in audit:
            order = sequence if isinstance(sequence, int) else None
            found.append(_Audit(ref=ref, args=audit["args"], sequence=order))
    return found


def _with_verbatim(
    operations: Sequence[TracedOperation], audits: Sequence[_Audit]
) -> Iterable[tuple[TracedOperation, object]]:
    """Each operation with its verbatim arguments where an audit has them, else with the projected ones.

    An audit belongs to the operation of its sequence; one without belongs to the next call of its ref.
    """
    numbered = {(audit.sequence, audit.ref): audit for audit in audits if audit.sequence is not None}
    waiting: defaultdict[str, list[_Audit]] = defaultdict(list)
    for audit in reversed(audits):
        if audit.sequence is None:
            waiting[audit.ref].append(audit)
    for operation in operations:
        audit = numbered.get((operation.sequence, operation.ref))
        if audit is None and waiting[operation.ref]:
            audit = waiting[operation.ref].pop()
        yield operation, operation.args if audit is None else audit.args
