"""The command line's only way out: what is printed where, and with which exit code the process ends.

Answers go to standard output and nothing else does; remarks go to standard error. Text may come from
tools, files and servers that nobody trusts, so everything printed passes ``printable``, which leaves
no character that could steer a terminal or reorder a line. Each emission is flushed, so that answers
and remarks stand in the order in which they were made.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Final, NoReturn, TextIO

import click

from toolfabric.errors import StorageError
from toolfabric.values import Json

__all__ = [
    "Exit",
    "emit_json",
    "emit_table",
    "emit_text",
    "is_interactive",
    "is_terminal",
    "leave",
    "note",
    "printable",
    "read_source",
]


class Exit(IntEnum):
    """The exit codes; each means one thing in every command."""

    OK = 0
    FAILED = 1  # the program or the call failed, or something could not be stored
    USAGE = 2  # wrong use, or input that cannot be read
    CONFIG = 3  # the configuration is wrong
    TIMED_OUT = 124  # as timeout(1)
    INTERRUPTED = 130  # as a shell says of SIGINT
    CLOSED = 141  # nobody reads standard output any more; as a shell says of SIGPIPE
    TERMINATED = 143  # as a shell says of SIGTERM


# Control characters, separators that some programs take for line ends, lone surrogates, and the marks that
# show text in another order than it has (CVE-2021-42574). A carriage return before a newline is harmless.
_STEERING: Final = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
    r"\ud800-\udfff"
)
_UNSAFE_IN_TEXT: Final = re.compile(rf"[{_STEERING}]|\r(?!\n)")
_UNSAFE_IN_LINE: Final = re.compile(rf"[{_STEERING}\t\n\r]")


def printable(text: str, *, lines: bool = False) -> str:
    """Escape what could steer a terminal, as Python would write it in a string.

    Args:
        text: Untrusted text.
        lines: Whether tabs and line ends stay; without it the answer is one line.
    """
    return (_UNSAFE_IN_TEXT if lines else _UNSAFE_IN_LINE).sub(_escaped, text)


def emit_text(text: str) -> None:
    """Print an answer; a newline is added where it does not end with one.

    Raises:
        BrokenPipeError: Nobody reads any more.
        StorageError: Standard output took no more.
    """
    _emit(printable(text, lines=True))


def emit_json(value: Json) -> None:
    """Print an answer as indented JSON with keys in their own order; what steers terminals is escaped.

    Raises:
        BrokenPipeError: Nobody reads any more.
        StorageError: Standard output took no more.
        ValueError: The value is not JSON (NaN, an infinity).
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # Outside strings JSON has only ASCII without controls, so each match stands in a string.
    _emit(_UNSAFE_IN_TEXT.sub(_json_escaped, text))


def emit_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows in aligned columns; nothing at all where there are no rows.

    On a terminal cells are wrapped to its width. Elsewhere each row is one line, nothing is cut, and
    two spaces or more part the columns.

    Raises:
        BrokenPipeError: Nobody reads any more.
        StorageError: Standard output took no more.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    if not cells:
        return
    heads = [printable(header) for header in headers]
    _emit(_drawn(heads, cells) if _is_terminal(sys.stdout) else _aligned([heads, *cells]))


def note(text: str) -> None:
    """Print a remark on standard error. One that cannot be printed has no reader, and is dropped."""
    with contextlib.suppress(OSError, ValueError):  # closed, or full: there is nowhere to say so
        _print(printable(text, lines=True), sys.stderr)


def is_terminal() -> bool:
    """Whether remarks are read on a terminal as they come."""
    return _is_terminal(sys.stderr)


def is_interactive() -> bool:
    """Whether a person can be asked: remarks reach a terminal. Standard input may hold the program."""
    return is_terminal()


def read_source(text: str) -> str:
    """Read standard input for ``-`` and a file for ``@FILE``, as UTF-8 with or without a byte-order mark.

    Raises:
        click.UsageError: It cannot be read, or it is not UTF-8.
    """
    name = "standard input" if text == "-" else text.removeprefix("@")
    try:
        data = sys.stdin.buffer.read() if text == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"cannot read {printable(name)}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{printable(name)} is not UTF-8 (byte {error.start} is wrong)") from error


def leave(code: int) -> NoReturn:
    """End the process with an exit code, quietly even where nobody reads any more."""
    for stream in (sys.stdout, sys.stderr):
        if _is_open(stream):
            try:
                stream.flush()
            except (OSError, ValueError):
                _discard(stream)
    sys.exit(code)


def _emit(text: str) -> None:
    try:
        _print(text, sys.stdout)
    except BrokenPipeError:
        # Without an errno: click would take EPIPE for its own and end the process with 1.
        raise BrokenPipeError("nobody reads standard output any more") from None
    except OSError as error:
        raise StorageError(f"could not write to standard output: {error.strerror}") from error


def _print(text: str, stream: TextIO | None) -> None:
    if stream is None:  # the process was started without it
        raise BrokenPipeError
    encoding = stream.encoding or "utf-8"
    shown = text.encode(encoding, "backslashreplace").decode(encoding)
    print(shown, end="" if shown.endswith("\n") else "\n", file=stream, flush=True)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def _json_escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def _drawn(heads: list[str], cells: list[list[str]]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(Text(head), overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    console = Console(file=sys.stdout)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def _is_open(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _discard(stream: TextIO) -> None:
    """Point a stream at nothing, so that the interpreter's own last flush has nothing to complain of."""
    from toolfabric.durable.fileops import RealFiles

    files = RealFiles()
    with contextlib.suppress(OSError, ValueError):
        nothing = files.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        files.close(nothing)
