"""Programs whose types were checked and found right, so that running one again does not check it again.

A check costs more than everything else about a short program. Models run the same text again: in loops, as
retries after a refused call. The key is all that a check reads; a program that was refused is not kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from toolfabric.protocols import ProgramFault

__all__ = ["CheckedPrograms", "Key"]

_KEPT: Final = 128
_MAX_CHARS: Final = 100_000

Key = tuple[str, str, bool]


class CheckedPrograms:
    """The notes of programs that passed, by (program, stubs, strict arguments); the oldest go first."""

    def __init__(self) -> None:
        # Protects the order, which several programs' threads change.
        self._lock = threading.Lock()
        self._notes: OrderedDict[Key, tuple[ProgramFault, ...]] = OrderedDict()

    def notes(self, key: Key) -> tuple[ProgramFault, ...] | None:
        """The notes of a program that passed before, or ``None``."""
        with self._lock:
            found = self._notes.get(key)
            if found is not None:
                self._notes.move_to_end(key)
            return found

    def passed(self, key: Key, notes: tuple[ProgramFault, ...]) -> None:
        """Remember a program that passed, unless it is too long to be worth it."""
        if len(key[0]) + len(key[1]) > _MAX_CHARS:
            return
        with self._lock:
            self._notes[key] = notes
            if len(self._notes) > _KEPT:
                self._notes.popitem(last=False)
