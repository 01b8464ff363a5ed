"""The compiled surface as a file: one guarded reader, one careful writer.

Damage is never authority and never silence: a missing file means "never compiled", anything that cannot
be read as an artifact is an error that is shown, and it is not overwritten (seed: Compiler and artifact
contract). What an artifact claims is proved again by whoever uses it.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from toolfabric._base.canonical import canonical_bytes
from toolfabric._base.text import one_line
from toolfabric.durable.atomic import make_folders, replace_file, storage_errors
from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lock import FileLock
from toolfabric.entropy.forms import is_text
from toolfabric.entropy.records import ARTIFACT_VERSION, MAX_APPLIED, CompiledSurface
from toolfabric.errors import RecordError
from toolfabric.protocols import FileOps

__all__ = [
    "artifact_bytes",
    "compiled_surface_path",
    "load_compiled_surface",
    "parse_compiled_surface",
    "read_compiled_surface",
    "save_compiled_surface",
    "trusted_artifact",
]

MAX_BYTES: Final = 64 * 1024 * 1024
_REAL_FILES: Final = RealFiles()


def compiled_surface_path(agent_dir: Path) -> Path:
    """Where the artifact of an agent directory lives."""
    return agent_dir / "fabric" / "entropy" / "compiled.json"


def parse_compiled_surface(value: object) -> CompiledSurface | None:
    """Read a foreign JSON value as an artifact, or return ``None``; it never raises."""
    try:
        return read_compiled_surface(value)
    except RecordError:
        return None


def read_compiled_surface(value: object) -> CompiledSurface:
    """Read a foreign JSON value as an artifact.

    Raises:
        RecordError: It is none. The message says why.
    """
    try:
        artifact = CompiledSurface.from_json(value)
    except (RecordError, RecursionError) as error:
        raise RecordError(f"not a compiled surface: {one_line(str(error))}") from None
    reason = _flaw(artifact)
    if reason is not None:
        raise RecordError(f"not a compiled surface: {reason}")
    return artifact


def trusted_artifact(artifact: CompiledSurface | Mapping[str, Any] | None) -> CompiledSurface:
    """An artifact that a caller passes in, read by the guarded reader however it was made.

    Raises:
        ValueError: The guarded reader refuses it.
    """
    try:
        return read_compiled_surface(
            artifact.to_json() if isinstance(artifact, CompiledSurface) else artifact
        )
    except RecordError as error:
        raise ValueError(str(error)) from None


def artifact_bytes(artifact: CompiledSurface) -> bytes:
    """The file's bytes: canonical JSON and a line end; no clock and no chance is in them.

    Raises:
        ValueError: A version 1 overlay in it has no canonical form.
    """
    return canonical_bytes(artifact.to_json()) + b"\n"


def load_compiled_surface(agent_dir: Path) -> CompiledSurface | None:
    """The artifact of an agent directory; ``None`` when nothing was ever compiled there.

    Raises:
        StorageError: The file cannot be read.
        RecordError: It is damaged or no artifact. The message names it and says what to do.
    """
    path = compiled_surface_path(agent_dir)
    data = _content(path)
    return None if data is None else _decode(data, path)


def save_compiled_surface(
    agent_dir: Path, artifact: CompiledSurface | Mapping[str, Any], *, files: FileOps = _REAL_FILES
) -> bool:
    """Put an artifact in place, whole or not at all; whether the file was written.

    Identical bytes are left alone. Processes take turns.

    Raises:
        ValueError: The guarded reader refuses the artifact.
        StorageError: It could not be written; what was there is still there.
        RecordError: What is there is damaged, so it is not overwritten.
    """
    trusted = trusted_artifact(artifact)
    data = artifact_bytes(trusted)
    path = compiled_surface_path(agent_dir)
    make_folders(path.parent, files=files)
    with FileLock(path.with_name(f"{path.name}.lock"), files=files):
        present = _content(path)
        if present is not None:
            _decode(present, path)
        if present == data:
            return False
        replace_file(path, data, files=files)
    return True


def _content(path: Path) -> bytes | None:
    with storage_errors("read", path):
        try:
            with open(path, "rb", opener=_open_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise RecordError(_refusal(path, "it is no regular file"))
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
    if len(data) > MAX_BYTES:
        raise RecordError(_refusal(path, f"it has more than {MAX_BYTES} bytes"))
    return data


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting: a pipe in the place of the file has no writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _decode(data: bytes, path: Path) -> CompiledSurface:
    try:
        value: Any = msgspec.json.decode(data)
        return read_compiled_surface(value)
    except (msgspec.MsgspecError, RecordError, RecursionError) as error:
        raise RecordError(_refusal(path, one_line(str(error)))) from None


def _refusal(path: Path, reason: str) -> str:
    return f"{str(path)!r} is damaged and is left as it is: {reason}; move it away to compile anew"


def _flaw(artifact: CompiledSurface) -> str | None:
    """What the types alone do not say; ``None`` when there is nothing to object to."""
    if not all(map(is_text, _texts(artifact))):
        return "a text is blank, or is no Unicode"
    if not all(_is_score(score) for score in (artifact.gate.before_score, artifact.gate.after_score)):
        return "a score of the gate is no number from 0"
    if artifact.version == ARTIFACT_VERSION:
        return _current_flaw(artifact)
    return "version 1 has no normalizations" if artifact.normalizations else None


def _current_flaw(artifact: CompiledSurface) -> str | None:
    if artifact.actions or artifact.quarantined:
        return "version 2 has no restrictions"
    if not isinstance(artifact.normalizations, tuple):
        return "version 2 needs normalizations"
    if len(artifact.applied) > MAX_APPLIED:
        return f"more than {MAX_APPLIED} entries are applied"
    if len({plan.ref for plan in artifact.normalizations}) < len(artifact.normalizations):
        return "a ref has more than one plan"
    return None


def _texts(artifact: CompiledSurface) -> Iterable[str]:
    yield artifact.evidence_digest
    yield from artifact.gate.reasons
    for legacy in (*artifact.actions, *artifact.quarantined):
        yield from (legacy.ref, legacy.base_schema_digest)
    for entry in artifact.applied:
        yield from (entry.kind, entry.ref, entry.detail)
    for plan in artifact.plans:
        yield plan.ref


def _is_score(score: float) -> bool:
    return math.isfinite(score) and score >= 0
