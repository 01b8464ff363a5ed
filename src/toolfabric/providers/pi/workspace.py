"""What every action of ``pi`` works with: the confined folder, the file system and the bounds.

Also how places are named in answers, and how the system's errors become sentences.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from toolfabric._base.suggest import near_names
from toolfabric.durable.confine import Confined
from toolfabric.durable.pathnames import parse_path, shown
from toolfabric.errors import InvokeError, PathError
from toolfabric.protocols import FileOps

__all__ = ["PiLimits", "Stopped", "Workspace", "explained", "json_name"]

Stopped: TypeAlias = Callable[[], bool]
"""Says whether the call was cancelled; asked between steps by work that runs in a thread."""

_SIBLINGS: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PiLimits:
    """Bounds on what one call reads, finds, changes or prints. Every cut is told in the answer."""

    read_lines: int = 10_000
    read_bytes: int = 512 * 1024
    line_chars: int = 4_000
    count_bytes: int = 64 * 1024 * 1024
    grep_matches: int = 1_000
    grep_line_chars: int = 500
    grep_answer_chars: int = 512 * 1024
    found_paths: int = 10_000
    listed_entries: int = 10_000
    walked_entries: int = 1_000_000
    walked_depth: int = 100
    changed_bytes: int = 64 * 1024 * 1024
    output_bytes: int = 256 * 1024
    preview_chars: int = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The folder that all actions share.

    ``changes`` protects reading a file, changing the text and replacing the file: two edits of one file
    at the same time must both be in the result.
    """

    confined: Confined
    folder: Path
    files: FileOps
    limits: PiLimits
    changes: threading.Lock = field(default_factory=threading.Lock)

    def gone(self) -> bool:
        """Whether the folder was removed, or another one has its path."""
        try:
            return self.confined.vanished() or not stat.S_ISDIR(self.folder.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # it cannot be seen from here, which says nothing about it
            return False

    def name_of(self, parts: tuple[str, ...]) -> str:
        """How a place below the root is called in answers; the same name leads there again.

        Relative to the workspace, absolute for what is outside it.
        """
        base = self.confined.base
        if parts[: len(base)] == base:
            return json_name("/".join(parts[len(base) :]) or ".")
        return json_name("/" + "/".join(parts))


def json_name(name: str) -> str:
    r"""A file name as JSON text; bytes that are not UTF-8 are spelled ``\xNN``."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def explained(error: Exception, path: str | None, workspace: Workspace) -> InvokeError:
    """Turn what went wrong with a path into a sentence for the caller.

    Args:
        error: A ``PathError``, ``StorageError`` or ``OSError``.
        path: The path of the call, if it has one.
        workspace: Where the names that are near come from.
    """
    if not isinstance(error, OSError):
        return InvokeError(str(error))
    if workspace.gone():
        folder = shown(str(workspace.folder))
        return InvokeError(f"the workspace {folder} is gone or was replaced by another folder; open it again")
    name = "." if path is None else shown(path)
    if error.errno == errno.ENOENT:
        return InvokeError(f"there is no '{name}'{_hint(path, workspace)}")
    reason = error.strerror or type(error).__name__
    return InvokeError(f"'{name}': {reason[:1].lower()}{reason[1:]}")


def _hint(path: str | None, workspace: Workspace) -> str:
    near = () if path is None else _near(path, workspace)
    if near:
        return f"; did you mean {' or '.join(repr(shown(one)) for one in near)}?"
    return "; pi.ls and pi.find show what is there"


def _near(path: str, workspace: Workspace) -> tuple[str, ...]:
    """Existing paths that differ from a missing one in the first part that is missing."""
    try:
        parsed = parse_path(path.removeprefix("@"))
    except PathError:
        return ()
    for at in range(len(parsed.parts) - 1, -1, -1):
        start = "/".join(parsed.parts[:at])
        parent = f"/{start}" if parsed.absolute else start or "."
        with contextlib.suppress(OSError, PathError):
            names = _names(parent, workspace)
            prefix = f"{parent}/" if parent != "." else ""
            return tuple(f"{prefix}{one}" for one in near_names(parsed.parts[at], names))
    return ()


def _names(folder: str, workspace: Workspace) -> tuple[str, ...]:
    with workspace.confined.place(folder) as place:
        fd = place.open_folder()
    try:
        with os.scandir(fd) as entries:
            return tuple(json_name(entry.name) for entry in islice(entries, _SIBLINGS))
    finally:
        os.close(fd)
