"""What the sandbox says of an error, as faults in the lines of the user's own program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic_monty import MontyRuntimeError, MontySyntaxError

from toolfabric._base.text import printable
from toolfabric.kernels.places import Places
from toolfabric.kernels.subset import raised_hint
from toolfabric.protocols import FaultKind, ProgramFault

__all__ = ["is_time_limit", "raised_fault", "syntax_fault"]

_MESSAGE_CHARS: Final = 20_000
_PARSER_KINDS: Final = ("NotImplementedError", "ImportError")
_LIMITS: Final[Mapping[str, tuple[FaultKind, str]]] = {
    "memory limit exceeded": (FaultKind.MEMORY, "it needs more memory than executor.memoryLimitBytes allows"),
    "maximum recursion depth exceeded": (FaultKind.RECURSION, "functions called each other too deep"),
    "suspension limit": (FaultKind.CALLS, "it made more calls than are allowed"),
    "feed time limit exceeded": (FaultKind.TIME, "it computed longer than its time"),
}


def is_time_limit(error: MontyRuntimeError) -> bool:
    """Whether the sandbox ended the program for its time, which no program can catch."""
    return error.display("type-msg").startswith("TimeoutError: feed time limit exceeded")


def raised_fault(error: MontyRuntimeError, places: Places) -> ProgramFault:
    """An exception that the program did not catch, or a limit that it ran into."""
    text = error.display("type-msg")
    frames = error.traceback()
    line, column = places.innermost(frames)
    kind, _colon, message = text.partition(": ")
    for start, (breach, told) in _LIMITS.items():
        if message.startswith(start):
            return ProgramFault(kind=breach, message=told, line=line, column=column)
    # The parser's own refusals have no function and may name the text otherwise.
    syntax = len(frames) == 1 and frames[0].function_name is None and kind in _PARSER_KINDS
    if syntax:
        line, column = places.parsed(frames)
    return ProgramFault(
        kind=FaultKind.SYNTAX if syntax else FaultKind.RAISED,
        message=printable(text, limit=_MESSAGE_CHARS),
        line=line,
        column=column,
        hint=raised_hint(text, "parser" if syntax else "raised"),
    )


def syntax_fault(error: MontySyntaxError, places: Places) -> ProgramFault:
    """A program that is no Python."""
    line, column = places.parsed(error.traceback())
    text = error.display("type-msg")
    return ProgramFault(
        kind=FaultKind.SYNTAX,
        message=printable(text, limit=_MESSAGE_CHARS),
        line=line,
        column=column,
        hint=raised_hint(text, "parser"),
    )
