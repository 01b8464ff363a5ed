"""The verbatim side of the record: what calls were really given and gave back, within bounds.

Audits go into the session beside the trace and are evidence for trials, so an argument object is kept whole
or not at all: half of one would be a call that nobody made. They are the first to be cut when ``details``
grows too large. An entry is ``{sequence, ref, args?, outcome?, failureStage?, result?, error?, omitted?}``;
``omitted`` names what was left out for its size, and a missing sequence is an entry left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from toolfabric.trace.bounds import ENVELOPE_BYTES, bound_text, encode, excess
from toolfabric.trace.project import project_phase
from toolfabric.trace.records import Trace
from toolfabric.values import Json, JsonObject, Outcome, Stage

__all__ = ["DETAILS_BYTES", "MAX_VALUE_LEVELS", "VALUE_BYTES", "AuditLog", "details_json"]

DETAILS_BYTES: Final = 2 * ENVELOPE_BYTES
"""All of ``details``: 1 MiB, half of it for the trace."""
VALUE_BYTES: Final = 64 * 1024
MAX_VALUE_LEVELS: Final = 128
_ERROR_BYTES: Final = 4 * 1024
_FAILURE_BYTES: Final = 64 * 1024
_PHASES_BYTES: Final = 64 * 1024
_ENTRY_BYTES: Final = 128
"""What an entry costs beside its values: punctuation, names of keys, numbers."""


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One call; values are held as the JSON they were at that moment."""

    sequence: int
    ref: str
    args: bytes | None = None
    outcome: Outcome | None = None
    stage: Stage | None = None
    result: bytes | None = None
    error: str | None = None
    omitted: list[str] = field(default_factory=list[str])

    def to_json(self) -> JsonObject:
        form: JsonObject = {"sequence": self.sequence, "ref": self.ref}
        if self.args is not None:
            form["args"] = json.loads(self.args)
        if self.outcome is not None:
            form["outcome"] = self.outcome.value
        if self.stage is not None:
            form["failureStage"] = self.stage.value
        if self.result is not None:
            form["result"] = json.loads(self.result)
        if self.error is not None:
            form["error"] = self.error
        if self.omitted:
            form["omitted"] = cast("list[Json]", list(self.omitted))
        return form


class AuditLog:
    """The audits of one execution, in the order in which their calls were made.

    Memory is bounded however many calls come: arguments and results each share ``DETAILS_BYTES``.
    """

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._args_room = DETAILS_BYTES
        self._results_room = DETAILS_BYTES

    def add(
        self,
        *,
        sequence: int,
        ref: str,
        args: Json,
        outcome: Outcome | None = None,
        stage: Stage | None = None,
        result: Json = None,
        error: str | None = None,
    ) -> None:
        """Keep what a call was given; ``outcome`` is for a call that has ended already."""
        if self._args_room < 0:
            return
        entry = _Entry(sequence=sequence, ref=ref)
        entry.args = _snapshot(args)
        self._args_room -= _ENTRY_BYTES + len(ref) + len(entry.args or b"")
        if self._args_room < 0:
            return
        if entry.args is None:
            entry.omitted.append("args")
        self._entries[sequence] = entry
        if outcome is not None:
            self.settle(sequence, outcome, stage=stage, result=result, error=error)

    def settle(
        self,
        sequence: int,
        outcome: Outcome,
        *,
        stage: Stage | None = None,
        result: Json = None,
        error: str | None = None,
    ) -> None:
        """Keep how a call ended; the first time counts, and a call that has no entry is passed over."""
        entry = self._entries.get(sequence)
        if entry is None or entry.outcome is not None:
            return
        entry.outcome = outcome
        entry.stage = stage
        if error is not None:
            entry.error = bound_text(error.encode("utf-8", "replace").decode(), _ERROR_BYTES)[0]
        if result is not None:
            self._keep_result(entry, result)

    def to_json(self, budget_bytes: int) -> list[JsonObject]:
        """The entries as one JSON list of at most so many bytes.

        Results go first, from the last call backwards, then whole entries.
        """
        forms = [self._entries[sequence].to_json() for sequence in sorted(self._entries)]
        sizes = [len(encode(form)) + 1 for form in forms]
        over = sum(sizes) + 1 - budget_bytes
        for at in range(len(forms) - 1, -1, -1):
            if over <= 0:
                break
            if "result" in forms[at]:
                _omit_result(forms[at])
                smaller = len(encode(forms[at])) + 1
                over -= sizes[at] - smaller
                sizes[at] = smaller
        while over > 0 and forms:
            forms.pop()
            over -= sizes.pop()
        return forms

    def _keep_result(self, entry: _Entry, result: Json) -> None:
        kept = _snapshot(result)
        if kept is None or len(kept) > self._results_room:
            entry.omitted.append("result")
            return
        self._results_room -= len(kept)
        entry.result = kept


def details_json(
    *, success: bool, trace: Trace, audits: AuditLog, phases: Sequence[str], error: str | None
) -> JsonObject:
    """What a tool result keeps of one execution, at most ``DETAILS_BYTES`` of JSON.

    ``error`` is the failure text that the caller was given; it is not part of the trace.
    """
    details: JsonObject = {
        "success": success,
        "trace": trace.to_json(),
        "audits": [],
        "phases": _bounded_phases(phases),
    }
    if error is not None:
        details["error"] = bound_text(error.encode("utf-8", "replace").decode(), _FAILURE_BYTES)[0]
    room = DETAILS_BYTES - len(encode(details))
    details["audits"] = cast("list[Json]", audits.to_json(room))
    return details


def _bounded_phases(phases: Sequence[str]) -> list[Json]:
    kept: list[Json] = []
    room = _PHASES_BYTES
    for phase in phases:
        name, _lost = project_phase(phase)
        room -= len(encode(name)) + 1
        if name is None or room < 0:
            continue
        kept.append(name)
    return kept


def _omit_result(form: JsonObject) -> None:
    del form["result"]
    omitted = form.get("omitted")
    form["omitted"] = [*omitted, "result"] if isinstance(omitted, list) else ["result"]


def _snapshot(value: Json) -> bytes | None:
    """The JSON of a value now, or ``None`` when it is too large or no JSON."""
    if excess(value, levels=MAX_VALUE_LEVELS, size=VALUE_BYTES) is not None:
        return None
    return encode(value)
