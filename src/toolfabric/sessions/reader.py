"""Read session files, Pi's own and ours: one record a line, whatever else the file may hold.

A line that is torn, too long, not UTF-8 or not a JSON object is passed over, never an error: files come
from crashed processes and other versions. Records of unknown types are handed on as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NoReturn, cast

from toolfabric.durable.lines import read_lines
from toolfabric.errors import StorageError
from toolfabric.sessions.paths import SPOOL_SUFFIX
from toolfabric.sessions.records import SessionHeader, SessionSummary
from toolfabric.values import Json, JsonObject

__all__ = ["MAX_LINE_BYTES", "list_sessions", "parse_line", "read_entries", "read_header"]

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""Pi keeps images inside lines; a longer line than this is nobody's record."""
_BOM: Final = b"\xef\xbb\xbf"
_TITLE_ENTRIES: Final = 24
_TITLE_CHARS: Final = 200


def parse_line(line: bytes) -> JsonObject | None:
    """One line as a JSON object, or ``None``. White space around it is allowed, NaN is not."""
    try:
        value: Json = json.loads(line.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_entries(path: Path) -> Iterator[JsonObject]:
    """Yield every record of a session file in file order, the header included.

    Holds one line at a time. A byte order mark is allowed at the start of the file only.

    Raises:
        StorageError: The file cannot be opened or read.
    """
    for number, line in enumerate(read_lines(path, max_line_bytes=MAX_LINE_BYTES)):
        entry = parse_line(line.removeprefix(_BOM) if number == 0 else line)
        if entry is not None:
            yield entry


def read_header(path: Path) -> SessionHeader | None:
    """The header of a session file, or ``None`` if its first record is none.

    Raises:
        StorageError: The file cannot be opened or read.
    """
    return _header(next(read_entries(path), None))


def list_sessions(folder: Path) -> list[SessionSummary]:
    """The sessions directly in a folder, newest first; a folder that is not there has none.

    A file that cannot be read is left out: it must not hide the others.
    """
    try:
        paths = [path for path in folder.iterdir() if _may_be_session(path)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        msg = f"could not list {str(folder)!r}: {error.strerror}"
        raise StorageError(msg) from error
    found = [one for one in map(_summary, paths) if one is not None]
    return sorted(found, key=lambda one: (one.timestamp, one.path.name), reverse=True)


def _may_be_session(path: Path) -> bool:
    return path.suffix == ".jsonl" and not path.name.endswith(SPOOL_SUFFIX) and path.is_file()


def _summary(path: Path) -> SessionSummary | None:
    try:
        entries = list(islice(read_entries(path), _TITLE_ENTRIES))
        size = path.stat().st_size
    except (StorageError, OSError):
        return None
    header = _header(entries[0] if entries else None)
    if header is None:
        return None
    return SessionSummary(
        path=path,
        session_id=header.session_id,
        timestamp=header.timestamp,
        cwd=header.cwd,
        size=size,
        title=next((title for title in map(_user_text, entries) if title), ""),
    )


def _header(entry: JsonObject | None) -> SessionHeader | None:
    match entry:
        case {
            "type": "session",
            "version": int(version),
            "id": str(key),
            "timestamp": str(time),
            "cwd": str(cwd),
        }:
            parent = entry.get("parentSession")
            return SessionHeader(
                version=version,
                session_id=key,
                timestamp=time,
                cwd=cwd,
                parent_session=parent if isinstance(parent, str) else None,
            )
        case _:
            return None


def _user_text(entry: JsonObject) -> str:
    match entry.get("message"):
        case {"role": "user", "content": str(text)}:
            return text[:_TITLE_CHARS]
        case {"role": "user", "content": list(blocks)}:
            texts = [block.get("text") for block in cast("list[Json]", blocks) if isinstance(block, dict)]
            return next((text[:_TITLE_CHARS] for text in texts if isinstance(text, str)), "")
        case _:
            return ""


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
