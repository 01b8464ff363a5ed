"""Short unified diffs for people: of what was changed, and of what would be."""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import Final

__all__ = ["first_difference", "short_diff"]

_CONTEXT: Final = 3
_COMPARED: Final = 400
"""Changed stretches of more lines than this are shown as taken out and put in, without looking for
what stayed: comparing takes time that grows with the square."""
_HUNK: Final = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def first_difference(old: bytes, new: bytes) -> int:
    """The number of the first line that differs, from 1."""
    return _common(old.splitlines(keepends=True), new.splitlines(keepends=True)) + 1


def short_diff(old: bytes, new: bytes, name: str, *, limit: int) -> str:
    """A unified diff of two contents of one file.

    Args:
        old: What is there.
        new: What would be.
        name: The file's name, fit to be shown.
        limit: How many characters at most; what is cut is said.
    """
    before, after = _lines(old), _lines(new)
    start = _common(before, after)
    shared = _common(before[start:][::-1], after[start:][::-1])
    first = max(0, start - _CONTEXT)
    left = before[first : len(before) - max(0, shared - _CONTEXT)]
    right = after[first : len(after) - max(0, shared - _CONTEXT)]
    if max(len(left), len(right)) > _COMPARED:
        head = [f"@@ -{first + 1},{len(left)} +{first + 1},{len(right)} @@\n"]
        body = [*head, *(f"-{line}" for line in left), *(f"+{line}" for line in right)]
    else:
        body = [_shifted(line, first) for line in unified_diff(left, right, n=_CONTEXT)][2:]
    told = [part for line in body for part in _ended(line)]
    return _bounded([f"--- {name}", f"+++ {name}", *told], limit)


def _lines(data: bytes) -> list[str]:
    """The lines with their ends, which the last one may lack; no other character ends a line."""
    lines = [f"{line}\n" for line in data.decode("utf-8", "replace").split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _common(left: list[str] | list[bytes], right: list[str] | list[bytes]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _shifted(line: str, first: int) -> str:
    """Count a hunk's lines from the beginning of the file, not of the stretch that was compared."""
    found = _HUNK.match(line)
    if found is None:
        return line
    before, after = int(found[1]) + first, int(found[3]) + first
    return f"@@ -{before}{found[2] or ''} +{after}{found[4] or ''} @@\n"


def _ended(line: str) -> tuple[str, ...]:
    if line.endswith("\n"):
        return (line[:-1],)
    return (line, "\\ No newline at end of file")


def _bounded(lines: list[str], limit: int) -> str:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > limit and kept:
            kept.append(f"[{len(lines) - len(kept)} more lines]")
            break
        kept.append(line[:limit])
    return "\n".join(kept)
