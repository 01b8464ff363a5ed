"""Where session files are, and what they and their spools are called: Pi's own scheme."""

from __future__ import annotations

import hashlib
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

__all__ = [
    "SPOOL_SUFFIX",
    "session_file_name",
    "session_folder",
    "session_of_spool",
    "spool_path",
    "wire_time",
]

SPOOL_SUFFIX: Final = ".spool.jsonl"
_SESSION_SUFFIX: Final = ".jsonl"
_LONGEST_NAME: Final = 255
"""Bytes that a folder's name may have on the usual file systems."""
_KEPT_BYTES: Final = 160


def session_folder(agent_dir: Path, cwd: Path) -> Path:
    """The folder of all sessions of one working folder: ``sessions/--home-user-project--``.

    Two folders whose names differ only in ``/`` and ``-`` share it, as they do in Pi; each file's header
    says where it belongs. A name too long for the file system keeps its end and gets a digest.
    """
    slug = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", str(cwd)))
    raw = os.fsencode(slug)
    if len(raw) + len("----") > _LONGEST_NAME:
        digest = hashlib.sha256(raw).hexdigest()[:16]
        slug = f"{digest}-{os.fsdecode(raw[-_KEPT_BYTES:])}"
    return agent_dir / "sessions" / f"--{slug}--"


def session_file_name(moment: datetime, session_id: str) -> str:
    """``2026-11-30T19-49-05-625Z_<id>.jsonl``: sorted by name is sorted by time."""
    return f"{re.sub('[:.]', '-', wire_time(moment))}_{session_id}{_SESSION_SUFFIX}"


def wire_time(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and ``Z``, as every record has it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def spool_path(session: Path) -> Path:
    """The spool beside a session file."""
    return session.with_name(session.name.removesuffix(_SESSION_SUFFIX) + SPOOL_SUFFIX)


def session_of_spool(spool: Path) -> Path:
    """The session file that a spool belongs to."""
    return spool.with_name(spool.name.removesuffix(SPOOL_SUFFIX) + _SESSION_SUFFIX)
