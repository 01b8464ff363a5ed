"""``pi.grep``: the lines that match, in the order of the walk.

A file is searched in blocks; at a block's end as many lines are held back as must be shown around a
match, so that a file of any size is searched in the memory of a few blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Final

from toolfabric.errors import InvokeError
from toolfabric.providers.pi.arguments import flag_argument, integer_argument, text_argument
from toolfabric.providers.pi.patterns import Globs, LinePattern, line_pattern
from toolfabric.providers.pi.read import binary_reason
from toolfabric.providers.pi.walk import Walker
from toolfabric.providers.pi.workspace import PiLimits, Stopped, Workspace, json_name
from toolfabric.values import Json, JsonObject

__all__ = ["grep_action"]

_SAMPLE: Final = 8 * 1024
_BLOCK: Final = 1024 * 1024
_LONGEST: Final = 16 * _BLOCK
"""A line longer than this is searched in pieces of this size."""


def grep_action(workspace: Workspace, args: JsonObject, stopped: Stopped) -> Json:
    """Search a file, or the files below a folder.

    Raises:
        PathError: The path may not be used.
        InvokeError: The pattern is not valid, or the call was cancelled.
        OSError: The path is missing or cannot be read.
    """
    pattern = line_pattern(
        text_argument(args, "pattern"),
        literal=flag_argument(args, "literal"),
        ignore_case=flag_argument(args, "ignoreCase"),
    )
    glob = text_argument(args, "glob")
    search = _Search(
        pattern=pattern,
        globs=Globs([glob]) if glob else None,
        context=integer_argument(args, "context", 0),
        most=min(
            integer_argument(args, "limit", workspace.limits.grep_matches), workspace.limits.grep_matches
        ),
        limits=workspace.limits,
        stopped=stopped,
    )
    walker = Walker(workspace=workspace, stopped=stopped)
    with workspace.confined.place(text_argument(args, "path", ".")) as place:
        found = place.stat()
        if found is None or not stat.S_ISDIR(found.st_mode):
            _search_file(search, workspace.name_of(place.parts), place.open_file())
        else:
            folder = place.open_folder()
            try:
                _search_folder(search, walker, folder, place.parts)
            finally:
                os.close(folder)
    return search.answer(walker)


@dataclass(slots=True, kw_only=True)
class _Search:
    """What is looked for, and what was found so far."""

    pattern: LinePattern
    globs: Globs | None
    context: int
    most: int
    limits: PiLimits
    stopped: Stopped
    matches: list[Json] = field(default_factory=list[Json])
    files: int = 0
    binary: int = 0
    size: int = 0
    more: bool = False

    def add(self, match: JsonObject, size: int) -> bool:
        """Keep a match; whether there is room for another."""
        if len(self.matches) >= self.most or self.size + size > self.limits.grep_answer_chars:
            self.more = True
            return False
        self.matches.append(match)
        self.size += size
        return True

    def answer(self, walker: Walker) -> JsonObject:
        notes = walker.notes()
        if self.binary:
            notes.append(f"{self.binary} binary files were not searched")
        if self.more:
            notes.append(f"there are more matches than these {len(self.matches)}")
        answer: JsonObject = {
            "matches": self.matches,
            "files": self.files,
            "truncated": self.more or walker.full,
        }
        return {**answer, "note": "; ".join(notes)} if notes else answer


def _search_folder(search: _Search, walker: Walker, folder: int, parts: tuple[str, ...]) -> None:
    for entry in walker.walk(folder, parts):
        if entry.type != "file":
            continue
        if search.globs is not None and not search.globs.accepts(json_name(entry.path)):
            continue
        try:
            fd = entry.open_file()
        except OSError:
            walker.unreadable += 1
            continue
        name = walker.workspace.name_of((*parts, *entry.path.split("/")))
        _search_file(search, name, fd)
        if search.more:
            return


def _search_file(search: _Search, name: str, fd: int) -> None:
    """Search one file and close its descriptor."""
    with os.fdopen(fd, "rb") as file:
        if binary_reason(file.peek(_SAMPLE)[:_SAMPLE]) is not None:
            search.binary += 1
            return
        search.files += 1
        for match, size in _matches(search, file):
            if not search.add({"path": name, **match}, size):
                return


def _matches(
    search: _Search, file: BufferedReader, block_bytes: int = _BLOCK, longest: int = _LONGEST
) -> Iterator[tuple[JsonObject, int]]:
    """Every matching line with the lines around it, and how many characters that is."""
    data = b""
    start = 0  # where the lines begin that were not searched yet
    first = 1  # the number of the line at the beginning of data
    while True:
        block = _block(file, block_bytes, search.stopped)
        data += block
        end = len(data) if not block else max(start, _held_back(data, search.context, longest))
        line = first
        counted = 0
        for at, to in _lines(search.pattern, data, start, end):
            line += data.count(b"\n", counted, at)
            counted = at
            yield _described(search, data, (at, to), line)
        if not block:
            return
        keep = max(_back(data, end, search.context), end - longest)
        first += data.count(b"\n", 0, keep)
        data = data[keep:]
        start = end - keep


def _block(file: BufferedReader, size: int, stopped: Stopped) -> bytes:
    """The next piece of a file, with line ends made one."""
    if stopped():
        msg = "the call was cancelled"
        raise InvokeError(msg)
    block = file.read(size)
    while block.endswith(b"\r") and (more := file.read(1)):
        block += more
    return block.replace(b"\r\n", b"\n")


def _lines(pattern: LinePattern, data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each line with a match begins and ends; ``end`` is the end of a line or of the file."""
    while start < end:
        match = pattern.search(data, start, end)
        if match is None:
            return
        at = data.rfind(b"\n", start, match.start()) + 1 or start
        to = data.find(b"\n", match.start(), end)
        to = end if to < 0 else to
        if at >= end:  # an empty match behind the last line's end
            return
        yield at, to
        start = to + 1


def _held_back(data: bytes, context: int, longest: int) -> int:
    """Where the lines end that can be searched now: as many whole lines stay as are shown after one.

    When what would stay is too much, all is searched, wherever its last line is cut.
    """
    end = len(data)
    for _ in range(context + 1):
        end = data.rfind(b"\n", 0, end)
        if end < 0:
            break
    return len(data) if len(data) - end > longest else end + 1


def _back(data: bytes, end: int, lines: int) -> int:
    """Where the last lines before a line begin."""
    for _ in range(lines + 1):
        end = data.rfind(b"\n", 0, end)
        if end < 0:
            return 0
    return end + 1


def _described(search: _Search, data: bytes, span: tuple[int, int], line: int) -> tuple[JsonObject, int]:
    at, to = span
    found = search.pattern.search(data, at, to)
    text = _clipped(data[at:to], 0 if found is None else found.start() - at, search.limits)
    described: JsonObject = {"line": line, "text": text}
    size = len(text)
    if search.context:
        before = _split(data[_back(data, at, search.context) : at])
        after = _split(data[to + 1 : _forward(data, to, search.context)])
        for name, lines in (("before", before), ("after", after)):
            shown: list[Json] = [_clipped(one, 0, search.limits) for one in lines]
            described[name] = shown
            size += sum(len(str(one)) for one in shown)
    return described, size


def _forward(data: bytes, end: int, lines: int) -> int:
    """Where the lines after a line end, the last line's end included."""
    for _ in range(lines):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return len(data)
    return end + 1


def _split(raw: bytes) -> list[bytes]:
    return raw.removesuffix(b"\n").split(b"\n") if raw else []


def _clipped(raw: bytes, at: int, limits: PiLimits) -> str:
    """A line as text, cut around byte ``at`` when it is long."""
    most = limits.grep_line_chars
    if len(raw) <= most:
        return raw.decode("utf-8", "replace")
    start = max(0, at - most // 4)
    text = raw[start : start + 4 * most].decode("utf-8", "replace").strip("\ufffd")[:most]
    left = "…" if start else ""
    right = "…" if start + len(text.encode()) < len(raw) else ""
    return f"{left}{text}{right}"
