"""The values of one execution: what was asked, what came out, and who is told meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from toolfabric.protocols import ProgramFault
from toolfabric.trace.records import Trace
from toolfabric.values import Json, JsonObject, Outcome

__all__ = ["Activity", "ExecArguments", "ExecutionResult", "Observer", "ResultFormat"]


class ResultFormat(StrEnum):
    """How the answer's text spells the value."""

    AUTO = "auto"
    JSON = "json"
    YAML = "yaml"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecArguments:
    """The arguments of ``fabric_exec``, checked (design 10, ``fabric_exec``).

    ``given`` is their JSON form as it goes into the session record.
    """

    code: str
    given: JsonObject
    payloads: Mapping[str, str] = field(default_factory=dict[str, str])
    result_format: ResultFormat | None = None
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One thing to show a person who watches an execution."""

    kind: Literal["print", "call", "settled", "phase", "item", "event", "progress"]
    text: str


Observer = Callable[[Activity], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """What one program came to.

    ``value`` is the whole return value; ``text`` is the bounded answer a model reads, for a failure
    the same as ``error``. ``trace`` is the sealed record, ``details`` what the session keeps of it.
    ``notes`` did not stop the program; ``record_error`` says why the record could not be kept.
    """

    success: bool
    value: Json
    error: str | None
    trace: Trace
    outcome: Outcome
    text: str
    details: JsonObject
    faults: tuple[ProgramFault, ...] = ()
    notes: tuple[ProgramFault, ...] = ()
    activity: str = ""
    output_file: Path | None = None
    session: Path | None = None
    record_error: str | None = None
