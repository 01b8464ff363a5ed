"""Session files as the entropy commands read them: found, read in order, one share of evidence each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from toolfabric.cli import output
from toolfabric.cli.host import agent_folder
from toolfabric.durable.lines import read_lines
from toolfabric.entropy.evidence import SessionEvidence, session_evidence
from toolfabric.entropy.records import Surface
from toolfabric.errors import RecordError
from toolfabric.values import Json

__all__ = ["Share", "find_sessions", "joined", "read_json", "read_sessions", "read_surface"]

_MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_SPOOL: Final = ".spool.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one session file yields."""

    path: Path
    evidence: SessionEvidence


def find_sessions(paths: Sequence[str]) -> list[Path]:
    """The session files that the paths name, oldest first by name; all of this user's own by default.

    Raises:
        click.UsageError: A path does not exist.
    """
    roots = [Path(path) for path in paths] or [agent_folder() / "sessions"]
    found: dict[Path, None] = {}
    for root in roots:
        if root.is_dir():
            found.update(
                dict.fromkeys(path for path in root.rglob("*.jsonl") if not path.name.endswith(_SPOOL))
            )
        elif root.is_file():
            found[root] = None
        elif paths:
            raise click.UsageError(f"there is no file or folder {output.printable(str(root))}")
    return sorted(found, key=lambda path: (path.name, str(path)))


def read_sessions(files: Iterable[Path]) -> Iterator[Share]:
    """Read session files one after the other; lines that are no records are passed over.

    Raises:
        StorageError: A file cannot be read.
    """
    for path in files:
        lines = read_lines(path, max_line_bytes=_MAX_LINE_BYTES)
        yield Share(path=path, evidence=session_evidence(lines))


def joined(shares: Sequence[Share]) -> SessionEvidence:
    """All shares as one."""
    return SessionEvidence(
        traces=tuple(one for share in shares for one in share.evidence.traces),
        value_observations=tuple(one for share in shares for one in share.evidence.value_observations),
        audit_calls=tuple(one for share in shares for one in share.evidence.audit_calls),
    )


def read_json(name: str) -> Json:
    """Read a JSON file, or standard input for ``-``.

    Raises:
        click.UsageError: It cannot be read or is not JSON.
    """
    text = output.read_source("-" if name == "-" else f"@{name}")
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{output.printable(name)} is not JSON: {error}") from error
    return value


def read_surface(name: str) -> Surface:
    """Read an exported surface.

    Raises:
        click.UsageError: It is none.
    """
    try:
        return Surface.from_json(read_json(name))
    except RecordError as error:
        raise click.UsageError(f"{output.printable(name)}: {error}") from error
