"""The text of a failure: what failed, at which line, and which calls had already completed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from toolfabric.protocols import FaultKind, KernelOutcome, Limits, ProgramFault
from toolfabric.values import Outcome

__all__ = ["describe_failure", "describe_fault", "describe_note"]

_SHOWN_REFS = 20
_HEADS: Final[dict[FaultKind, str]] = {
    FaultKind.SYNTAX: "The program could not be read",
    FaultKind.TYPES: "The program has type errors; no call was made",
    FaultKind.RAISED: "The program raised",
    FaultKind.TIME: "The program ran out of time",
    FaultKind.MEMORY: "The program ran out of memory",
    FaultKind.RECURSION: "The program called itself too deep",
    FaultKind.OUTPUT: "The program printed too much",
    FaultKind.CALLS: "The program made too many calls",
    FaultKind.VALUE: "The program's value cannot be handed over",
    FaultKind.CANCELLED: "The program was cancelled",
    FaultKind.SANDBOX: "The sandbox failed",
}
_NO_FAULT: Final[dict[Outcome, str]] = {
    Outcome.ABORTED: "The program was cancelled.",
    Outcome.TIMED_OUT: "The program ran out of time.",
    Outcome.FAILED: "The program failed.",
    Outcome.SUCCEEDED: "",
}


def describe_failure(ended: KernelOutcome, completed: Sequence[str], limits: Limits) -> str:
    """Tell a caller what happened, for every fault, with the calls that had taken effect."""
    lines = [describe_fault(fault) for fault in ended.faults] or [_NO_FAULT[ended.outcome]]
    if ended.outcome is Outcome.TIMED_OUT:
        lines.append(f"The limit is {limits.timeout_ms / 1_000:g} seconds (executor.timeoutMs).")
    lines.append(_completed(completed))
    return "\n".join(lines)


def describe_fault(fault: ProgramFault) -> str:
    """One fault as a sentence with its place and, where known, what to write instead."""
    return f"{_HEADS[fault.kind]}{_place(fault)}: {fault.message}{_hint(fault)}"


def describe_note(note: ProgramFault) -> str:
    """One remark that did not stop the program, with its place."""
    return f"note{_place(note)}: {note.message}{_hint(note)}"


def _place(fault: ProgramFault) -> str:
    if fault.line is None:
        return ""
    return f" at line {fault.line}" + (f", column {fault.column}" if fault.column is not None else "")


def _hint(fault: ProgramFault) -> str:
    return f"\n  hint: {fault.hint}" if fault.hint else ""


def _completed(refs: Sequence[str]) -> str:
    if not refs:
        return "No call had completed."
    counts = Counter(refs)
    shown = [ref if count == 1 else f"{ref} ({count} times)" for ref, count in counts.items()]
    more = len(shown) - _SHOWN_REFS
    tail = f" and {more} other actions" if more > 0 else ""
    return f"Calls that had completed: {', '.join(shown[:_SHOWN_REFS])}{tail}."
