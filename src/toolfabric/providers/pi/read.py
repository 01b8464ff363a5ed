"""``pi.read``: lines of a text file, a note about anything else.

A file is read once, in pieces, and never further than the answer needs, save for counting its lines.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Final

from toolfabric.errors import InvokeError
from toolfabric.providers.pi.arguments import integer_argument, text_argument
from toolfabric.providers.pi.images import HEADER_BYTES, identify_image
from toolfabric.providers.pi.workspace import PiLimits, Stopped, Workspace
from toolfabric.values import Json, JsonObject

__all__ = ["binary_reason", "read_action"]

_BLOCK: Final = 1024 * 1024
_SAMPLE: Final = 8 * 1024
_ODD_SHARE: Final = 0.3
"""The share of undecodable and control characters from which on a file does not count as text."""

_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))
_MARKS: Final = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


def read_action(workspace: Workspace, args: JsonObject, stopped: Stopped) -> Json:
    """Read a file as the arguments say.

    Raises:
        PathError: The path may not be used, or is no regular file.
        InvokeError: The offset is beyond the end, or the call was cancelled.
        OSError: The file cannot be read.
    """
    with workspace.confined.place(text_argument(args, "path")) as place:
        name = workspace.name_of(place.parts)
        with os.fdopen(place.open_file(), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            answer: JsonObject = {"path": name, "kind": "text", "text": "", "lines": 0, "bytes": size}
            special = _special(file, size)
            if special is not None:
                return {**answer, **special, "truncated": False}
            return {**answer, **_lines(file, args, workspace.limits, stopped)}


def binary_reason(sample: bytes) -> str | None:
    """Why a file that begins so is not text, or ``None`` if it is.

    A NUL decides; so does a sample of which a third is not UTF-8 or is control characters. A few odd bytes do
    not: a text in an old encoding is still worth reading.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return f"it is {name} text; convert it first, e.g. with iconv"
    if b"\0" in sample:
        return "it holds NUL bytes"
    text = sample.decode("utf-8", "replace")
    odd = text.count("\ufffd") + len(sample) - len(sample.translate(None, _CONTROLS))
    return "much of it is not UTF-8" if odd > _ODD_SHARE * len(text) else None


def _special(file: BufferedReader, size: int) -> JsonObject | None:
    head = os.pread(file.fileno(), HEADER_BYTES, 0)
    image = identify_image(head)
    if image is not None:
        pixels = "" if image.size is None else f", {image.size[0]} x {image.size[1]} pixels"
        return {
            "kind": "image",
            "note": f"{image.type} image{pixels}, {size} bytes; its content is not shown",
        }
    reason = binary_reason(head[:_SAMPLE])
    if reason is None:
        return None
    return {"kind": "binary", "note": f"binary file of {size} bytes: {reason}; its content is not shown"}


@dataclass(slots=True)
class _Window:
    """The lines taken so far, and what must be told about them."""

    pieces: list[str] = field(default_factory=list[str])
    size: int = 0
    cut: int = 0
    odd: int = 0

    def notes(self, line_chars: int) -> list[str]:
        told: list[str] = []
        if self.cut:
            told.append(f"{self.cut} long lines were cut to {line_chars} characters")
        if self.odd:
            told.append(f"{self.odd} lines hold bytes that are not UTF-8, shown as \ufffd")
        if self.pieces and self.pieces[0].startswith("\ufeff"):
            told.append("the text begins with a byte order mark")
        return told


def _lines(file: BufferedReader, args: JsonObject, limits: PiLimits, stopped: Stopped) -> JsonObject:
    first = max(1, integer_argument(args, "offset", 1))
    wanted = min(integer_argument(args, "limit", limits.read_lines), limits.read_lines)
    _skip(file, first - 1, stopped)
    window = _Window()
    while len(window.pieces) < wanted and (line := _line(file, window, limits, stopped)) is not None:
        window.pieces.append(line)
    count = len(window.pieces)
    more = bool(file.peek(1))
    answer: JsonObject = {"text": "".join(window.pieces), "lines": count, "truncated": more or window.cut > 0}
    rest = _count_rest(file, limits, stopped) if more else 0
    if rest is not None:
        answer["totalLines"] = first - 1 + count + rest
    if more:
        answer["nextOffset"] = first + count
    notes = window.notes(limits.line_chars)
    if notes:
        answer["note"] = "; ".join(notes)
    return answer


def _line(file: BufferedReader, window: _Window, limits: PiLimits, stopped: Stopped) -> str | None:
    """The next line, cut if it is long; ``None`` at the end and when the answer is full."""
    if window.size >= limits.read_bytes:
        return None
    _check(stopped)
    most = limits.line_chars * 4  # no UTF-8 character takes more bytes
    raw = file.readline(most)
    if not raw:
        return None
    left_out = 0
    ended = raw.endswith(b"\n")
    if not ended and len(raw) == most:
        left_out, ended = _finish_line(file, stopped)
    line = raw.removesuffix(b"\n").decode("utf-8", "replace")
    if "\ufffd" in line[: limits.line_chars] and b"\xef\xbf\xbd" not in raw:
        window.odd += 1
    if len(line) > limits.line_chars or left_out:
        window.cut += 1
        hidden = left_out + len(line[limits.line_chars :].encode())
        line = f"{line[: limits.line_chars]}…[{hidden} more bytes in this line]"
    window.size += len(line) + 1
    return f"{line}\n" if ended else line


def _finish_line(file: BufferedReader, stopped: Stopped) -> tuple[int, bool]:
    """Go to the end of a line: how many bytes that was, and whether a line end was there."""
    passed = 0
    while piece := file.readline(_BLOCK):
        _check(stopped)
        passed += len(piece)
        if piece.endswith(b"\n"):
            return passed - 1, True
    return passed, False


def _skip(file: BufferedReader, lines: int, stopped: Stopped) -> None:
    """Go to the line after so many.

    Raises:
        InvokeError: The file has no more lines than these.
    """
    left = lines
    unended = False
    while left:
        _check(stopped)
        block = file.read(_BLOCK)
        if not block:
            break
        unended = not block.endswith(b"\n")
        ends = block.count(b"\n")
        if ends >= left:
            file.seek(_after(block, left) - len(block), os.SEEK_CUR)
            ends = left
        left -= ends
    if lines and not file.peek(1):
        total = lines - left + (unended if left else 0)
        msg = f"offset {lines + 1} is beyond the end: the file has {total} lines"
        raise InvokeError(msg)


def _after(block: bytes, lines: int) -> int:
    """Where in a block the line after so many begins."""
    at = 0
    for _ in range(lines):
        at = block.index(b"\n", at) + 1
    return at


def _count_rest(file: BufferedReader, limits: PiLimits, stopped: Stopped) -> int | None:
    """How many lines follow, or ``None`` when that would take too long to find out."""
    if os.fstat(file.fileno()).st_size - file.tell() > limits.count_bytes:
        return None
    lines = 0
    last = b"\n"
    while block := file.read(_BLOCK):
        _check(stopped)
        lines += block.count(b"\n")
        last = block[-1:]
    return lines + (last != b"\n")


def _check(stopped: Stopped) -> None:
    if stopped():
        msg = "the call was cancelled"
        raise InvokeError(msg)
