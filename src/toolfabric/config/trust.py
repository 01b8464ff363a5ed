"""Which projects' configuration files count: a list in the agent dir, bound to each file's content.

A project is known by the real path of its folder. Trust holds for one content of its
``.pi/fabric.json``: once the file changes, it is not parsed until it is trusted again (design 30,
"Paths"). A list that cannot be read trusts nothing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from toolfabric.config.document import MAX_BYTES, parse_document
from toolfabric.config.records import Source, SourceKind
from toolfabric.durable.atomic import make_folders, replace_file
from toolfabric.durable.lock import FileLock
from toolfabric.errors import ConfigError
from toolfabric.protocols import FileOps
from toolfabric.values import Json, JsonObject

__all__ = [
    "content_digest",
    "project_file",
    "read_configuration_file",
    "real_project",
    "revoke_project",
    "trust_project",
    "trusted_projects",
]

_VERSION: Final = 1


def real_project(project: Path) -> Path:
    """The folder's real path: the name under which it is trusted."""
    return Path(os.path.realpath(project))


def project_file(project: Path) -> Path:
    """Where a project keeps its configuration."""
    return project / ".pi" / "fabric.json"


def content_digest(data: bytes) -> str:
    """What trust is bound to."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def read_configuration_file(path: Path) -> bytes | None:
    """Read a configuration file, or ``None`` where there is none. Never more than one byte too many.

    Raises:
        OSError: It is there and cannot be read, or it is not a regular file.
    """
    try:
        # Not blocking: a pipe planted under the name must not hang the host.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as source:
            return source.read(MAX_BYTES + 1)
    finally:
        os.close(fd)


def trusted_projects(agent_dir: Path) -> Mapping[str, str]:
    """The digest of the trusted configuration file for each real path of a project.

    Raises:
        ConfigError: The list is there and is not one.
    """
    path = _list_file(agent_dir)
    try:
        data = read_configuration_file(path)
    except OSError as error:
        raise ConfigError(
            f"the list of trusted projects {str(path)!r} cannot be read: {error.strerror}"
        ) from error
    if data is None:
        return {}
    document = parse_document(data, Source(kind=SourceKind.GLOBAL, path=path))
    projects = document.content.get("projects")
    if (
        document.problems
        or document.content.get("version") != _VERSION
        or not isinstance(projects, dict)
        or not all(isinstance(digest, str) for digest in projects.values())
    ):
        raise ConfigError(f"{str(path)!r} is not a list of trusted projects; move it away, and trust again")
    return cast("dict[str, str]", projects)


def trust_project(project: Path, data: bytes, *, agent_dir: Path, files: FileOps) -> str:
    """Trust exactly this content of a project's configuration file, and give its digest.

    Raises:
        ConfigError: The list of trusted projects cannot be read.
        StorageError: It cannot be written; it then is as it was.
    """
    digest = content_digest(data)
    make_folders(agent_dir, files=files)
    with FileLock(agent_dir / "trust.lock", files=files):
        _write(agent_dir, {**trusted_projects(agent_dir), str(real_project(project)): digest}, files)
    return digest


def revoke_project(project: Path, *, agent_dir: Path, files: FileOps) -> bool:
    """Trust a project no more; say whether it was trusted.

    Raises:
        ConfigError: The list of trusted projects cannot be read.
        StorageError: It cannot be written; it then is as it was.
    """
    name = str(real_project(project))
    if name not in trusted_projects(agent_dir):
        return False
    with FileLock(agent_dir / "trust.lock", files=files):
        listed = trusted_projects(agent_dir)
        _write(agent_dir, {path: digest for path, digest in listed.items() if path != name}, files)
    return True


def _list_file(agent_dir: Path) -> Path:
    return agent_dir / "trust.json"


def _write(agent_dir: Path, projects: Mapping[str, str], files: FileOps) -> None:
    listed: dict[str, Json] = {path: projects[path] for path in sorted(projects)}
    content: JsonObject = {"version": _VERSION, "projects": listed}
    replace_file(_list_file(agent_dir), (json.dumps(content, indent=2) + "\n").encode(), files=files)
