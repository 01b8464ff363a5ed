"""Session records as a person reads them: one block an execution, one row an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec

from toolfabric.cli import output
from toolfabric.execution.records import ExecutionResult
from toolfabric.sessions.reader import read_entries
from toolfabric.trace.reader import parse_trace
from toolfabric.trace.records import Operation, Trace
from toolfabric.values import Json, JsonObject

__all__ = [
    "RecordedExecution",
    "executions_of",
    "result_json",
    "show_execution",
    "show_trace",
    "show_witnesses",
]

_ROWS = 60
_ARGS_CHARS = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExecution:
    """One execution of a session: its tool result with the guarded trace in it."""

    call_id: str
    tool: str
    is_error: bool
    text: str
    trace: Trace

    def to_json(self) -> Json:
        """The form that ``fabric sessions show --json`` prints."""
        return {
            "callId": self.call_id,
            "tool": self.tool,
            "isError": self.is_error,
            "text": self.text,
            "trace": self.trace.to_json(),
        }


def result_json(result: ExecutionResult) -> JsonObject:
    """What ``fabric exec --json`` prints of a result: success, value, error, trace, session."""
    return {
        "success": result.success,
        "value": result.value,
        "error": result.error,
        "trace": result.trace.to_json(),
        "session": None if result.session is None else str(result.session),
    }


def executions_of(path: Path) -> Iterator[RecordedExecution]:
    """Read the executions of one session file; what is no execution is passed over."""
    for entry in read_entries(path):
        message = entry.get("message")
        if not isinstance(message, dict) or message.get("role") != "toolResult":
            continue
        details = message.get("details")
        trace = parse_trace(details.get("trace")) if isinstance(details, dict) else None
        if trace is not None:
            yield RecordedExecution(
                call_id=str(message.get("toolCallId", "")),
                tool=str(message.get("toolName", "")),
                is_error=message.get("isError") is True,
                text=_text(message),
                trace=trace,
            )


def show_execution(one: RecordedExecution) -> None:
    """Print one execution: outcome, phases, operations, answer."""
    output.emit_text(f"\n{one.tool} {one.call_id}: {one.trace.outcome}")
    show_trace(one.trace)
    answer = one.text.strip()
    if answer:
        shown = answer if len(answer) <= 400 else answer[:400] + " …"  # noqa: PLR2004 -- one short paragraph
        output.emit_text("  answer: " + shown.replace("\n", "\n          "))


def show_trace(trace: Trace) -> None:
    """Print the operations of a trace as a table, and what was cut from it."""
    rows = [_row(operation) for operation in trace.operations[:_ROWS]]
    output.emit_table(("#", "action", "arguments kept", "outcome"), rows)
    if len(trace.operations) > _ROWS:
        output.emit_text(f"  … and {len(trace.operations) - _ROWS} more operations (--json has all)")


def show_witnesses(trace: Trace) -> None:
    """Print what each normalized call was changed by, from its witness; no value is in it."""
    for operation in trace.operations:
        witness = operation.normalization
        if witness is not msgspec.UNSET:
            rules = ", ".join(f"{rule.kind} of {rule.key}" for rule in witness.rules)
            schema, before, after = witness.base_schema_digest, witness.before_shape, witness.after_shape
            output.emit_text(f"   #{operation.sequence} {operation.ref}: {rules}")
            output.emit_text(f"      schema {schema[:12]}…, shape {before[:12]}… became {after[:12]}…")


def _row(operation: Operation) -> tuple[str, str, str, str]:
    args = " ".join(f"{key}={_short(value)}" for key, value in operation.args.items())
    stage = operation.failure_stage
    ended = f"{operation.outcome}" if stage is msgspec.UNSET else f"{operation.outcome} at {stage}"
    saved = ", normalized" if operation.normalization is not msgspec.UNSET else ""
    return str(operation.sequence), operation.ref, args[:_ARGS_CHARS], ended + saved


def _short(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text(message: JsonObject) -> str:
    content = message.get("content")
    blocks = cast("list[Json]", content) if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
