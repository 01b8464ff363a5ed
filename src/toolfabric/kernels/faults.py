"""What the sandbox says of an error, as faults in the lines of the user's own program."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from pydantic_monty import MontyRuntimeError, MontySyntaxError, MontyTypingError

from toolfabric._base.suggest import near_names
from toolfabric._base.text import printable
from toolfabric.kernels.names import Namespace
from toolfabric.kernels.stubs import STUB_CLASS
from toolfabric.kernels.subset import raised_hint
from toolfabric.protocols import FaultKind, ProgramFault

__all__ = ["USER_FILE", "is_time_limit", "raised_fault", "syntax_fault", "type_faults"]

USER_FILE: Final = "<python-input-1>"
"""The second text that a session reads; the first is the prelude."""

_MESSAGE_CHARS: Final = 20_000
_OUTSIDE: Final = ("`return` statement outside", "`await` outside", "`await` statement outside", "`yield`")
_OWN: Final = frozenset(
    {
        "call-non-callable",
        "invalid-argument-type",
        "invalid-assignment",
        "invalid-await",
        "invalid-return-type",
        "missing-argument",
        "no-matching-overload",
        "not-iterable",
        "not-subscriptable",
        "non-subscriptable",
        "parameter-already-assigned",
        "too-many-positional-arguments",
        "unknown-argument",
        "unresolved-attribute",
        "unresolved-import",
        "unresolved-reference",
        "unsupported-operator",
    }
)
"""Diagnostics that mean the program is wrong; lints and doubts are left out: they fit right programs too."""

_LIMITS: Final[Mapping[str, tuple[FaultKind, str]]] = {
    "memory limit exceeded": (FaultKind.MEMORY, "it needs more memory than executor.memoryLimitBytes allows"),
    "maximum recursion depth exceeded": (FaultKind.RECURSION, "functions called each other too deep"),
    "suspension limit": (FaultKind.CALLS, "it made more calls than are allowed"),
    "feed time limit exceeded": (FaultKind.TIME, "it computed longer than its time"),
}


def is_time_limit(error: MontyRuntimeError) -> bool:
    """Whether the sandbox ended the program for its time, which no program can catch."""
    return error.display("type-msg").startswith("TimeoutError: feed time limit exceeded")


def raised_fault(error: MontyRuntimeError) -> ProgramFault:
    """An exception that the program did not catch, or a limit that it ran into."""
    text = error.display("type-msg")
    line, column = _place(error)
    kind, _colon, message = text.partition(": ")
    for start, (breach, told) in _LIMITS.items():
        if message.startswith(start):
            return ProgramFault(kind=breach, message=told, line=line, column=column)
    syntax = kind == "NotImplementedError" and "monty syntax parser" in message
    return ProgramFault(
        kind=FaultKind.SYNTAX if syntax else FaultKind.RAISED,
        message=printable(text, limit=_MESSAGE_CHARS),
        line=line,
        column=column,
        hint=raised_hint(text, "parser" if syntax else "raised"),
    )


def syntax_fault(error: MontySyntaxError) -> ProgramFault:
    """A program that is no Python."""
    line, column = _place(error)
    text = error.display("type-msg")
    return ProgramFault(
        kind=FaultKind.SYNTAX,
        message=printable(text, limit=_MESSAGE_CHARS),
        line=line,
        column=column,
        hint=raised_hint(text, "parser"),
    )


def type_faults(
    error: MontyTypingError, names: Mapping[str, Namespace], *, strict_arguments: bool
) -> tuple[tuple[ProgramFault, ...], tuple[ProgramFault, ...]]:
    """The program's own type errors, and complaints about the arguments of tool calls.

    The second are notes unless ``strict_arguments``: the call itself goes to the registry, where it is
    normalized, validated and recorded (design 20, decided readings).
    """
    faults: list[ProgramFault] = []
    notes: list[ProgramFault] = []
    for found in cast("list[dict[str, Any]]", json.loads(error.display())):
        code, message = str(found.get("code")), str(found.get("message"))
        fault = _type_fault(found, message)
        if code == "invalid-syntax":
            if not message.startswith(_OUTSIDE):
                faults.append(replace(fault, kind=FaultKind.SYNTAX))
        elif STUB_CLASS in message:
            (faults if strict_arguments else notes).append(fault)
        elif code in _OWN:
            faults.append(_with_near_name(fault, message, names) if code == "unresolved-reference" else fault)
    return tuple(faults), tuple(notes)


def _type_fault(found: dict[str, Any], message: str) -> ProgramFault:
    place = cast("dict[str, int]", found.get("location") or {})
    return ProgramFault(
        kind=FaultKind.TYPES,
        message=printable(re.sub(rf"{STUB_CLASS}\d+\.?", "", message).replace("``", "a tool"), limit=2_000),
        line=place.get("row"),
        column=place.get("column"),
    )


def _with_near_name(fault: ProgramFault, message: str, names: Mapping[str, Namespace]) -> ProgramFault:
    name = message.split("`")[1] if message.count("`") > 1 else ""
    near = near_names(name, names)
    there = ", ".join(sorted(names))
    return replace(fault, hint=f"did you mean {near[0]}?" if near else f"a program can name: {there}")


def _place(error: MontyRuntimeError | MontySyntaxError) -> tuple[int | None, int | None]:
    own = [frame for frame in error.traceback() if frame.filename == USER_FILE]
    return (own[-1].line, own[-1].column) if own else (None, None)
