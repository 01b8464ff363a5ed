"""Where a program is, in the lines and columns of its own text.

The sandbox counts bytes of the text that it was fed, and names texts by their number. Guest code that was
fed before the program, and text that the program runs with ``exec``, have lines of their own and are left
out.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_monty import Frame, SourceRange

__all__ = ["Places"]

_Place = tuple[int | None, int | None]


class Places:
    """Turns the sandbox's places into lines and columns from 1, of text number ``number``."""

    def __init__(self, code: str, number: int) -> None:
        self._bytes = code.encode(errors="replace")
        self._file = f"<python-input-{number}>"
        self.mark: int | None = None

    def at(self, position: SourceRange) -> None:
        """Remember a place, if it is in the program."""
        if position.filename == self._file:
            self.mark = position.start

    def last(self) -> _Place:
        """The line and column of the last place that was remembered."""
        return self.place(self.mark)

    def place(self, mark: int | None) -> _Place:
        """The line and column of a remembered ``mark``."""
        if mark is None:
            return None, None
        before = self._bytes[:mark]
        line = before.count(b"\n") + 1
        head = before[before.rfind(b"\n") + 1 :]
        return line, len(head.decode(errors="replace")) + 1

    def innermost(self, frames: Iterable[Frame]) -> _Place:
        """The line and column of the innermost frame that is in the program."""
        own = [frame for frame in frames if frame.filename == self._file]
        return (own[-1].line, own[-1].column) if own else (None, None)

    def parsed(self, frames: Iterable[Frame]) -> _Place:
        """The place that a parser names; it may call the text by another name."""
        found = list(frames)
        return (found[-1].line, found[-1].column) if found else (None, None)
