"""Find and read the configuration: the agent dir, its file, a trusted project's file, and overrides.

The thin edge around ``parse``. It reads no environment of its own: the caller hands it in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from toolfabric.config.document import parse_document
from toolfabric.config.parse import Parsed, parse
from toolfabric.config.records import Leaf, Loaded, Problem, Source, SourceKind, SourceState
from toolfabric.config.sections import DEFAULT, Layer
from toolfabric.config.trust import (
    content_digest,
    project_file,
    read_configuration_file,
    real_project,
    trusted_projects,
)
from toolfabric.errors import ConfigError
from toolfabric.values import Json, JsonObject

__all__ = [
    "AGENT_DIR_VARIABLE",
    "Examined",
    "agent_folder",
    "environment",
    "examine_bytes",
    "examine_config",
    "load_config",
]

AGENT_DIR_VARIABLE: Final = "FABRIC_AGENT_DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A configuration with everything that is wrong with it; only without ``problems`` may it be used."""

    loaded: Loaded
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    source: Source
    content: JsonObject
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def load_config(
    cwd: Path, *, environ: Mapping[str, str], overrides: Mapping[str, Json] | None = None
) -> Loaded:
    """Give the effective configuration for one working folder.

    Stronger sources win setting by setting: the defaults, ``<agent dir>/fabric.json``,
    ``<cwd>/.pi/fabric.json`` where the project is trusted, and ``overrides``, which have the form of
    the files.

    Raises:
        ConfigError: A file cannot be read or a value is unfit; the message has a line for each.
    """
    examined = examine_config(cwd, environ=environ, overrides=overrides)
    if examined.problems:
        raise ConfigError("\n".join(map(str, examined.problems)))
    return examined.loaded


def examine_config(
    cwd: Path, *, environ: Mapping[str, str], overrides: Mapping[str, Json] | None = None
) -> Examined:
    """As ``load_config``, with all problems as values.

    Raises:
        ConfigError: There is no usable agent dir.
    """
    agent_dir, origin = agent_folder(environ)
    reads = [
        _read_file(agent_dir / "fabric.json", Source(kind=SourceKind.GLOBAL, path=agent_dir / "fabric.json")),
        _read_project(real_project(cwd), agent_dir),
    ]
    if overrides:
        reads.append(_Read(source=Source(kind=SourceKind.COMMAND_LINE), content=dict(overrides)))
    parsed = parse([Layer(source=read.source, content=read.content) for read in reads])
    place = Leaf(
        path="agentDir",
        value=str(agent_dir),
        source=origin,
        allowed=f"an absolute path in {AGENT_DIR_VARIABLE}",
    )
    loaded = Loaded(
        config=parsed.config,
        agent_dir=agent_dir,
        sources=tuple(read.source for read in reads),
        warnings=(*(one for read in reads for one in read.warnings), *parsed.warnings),
        leaves=(place, *parsed.leaves),
    )
    problems = (*(one for read in reads for one in read.problems), *parsed.problems)
    return Examined(loaded=loaded, problems=problems)


def examine_bytes(data: bytes, source: Source) -> Parsed:
    """Say what one file's content alone would set, and what is wrong with it, before it counts."""
    document = parse_document(data, source)
    parsed = parse([Layer(source=source, content=document.content)])
    return Parsed(
        config=parsed.config,
        problems=document.problems + parsed.problems,
        warnings=document.warnings + parsed.warnings,
        leaves=tuple(leaf for leaf in parsed.leaves if leaf.source == source),
    )


def environment() -> Mapping[str, str]:
    """Give the process's environment. Nothing else in Fabric reads it; the rest is handed a mapping."""
    return os.environ


def agent_folder(environ: Mapping[str, str]) -> tuple[Path, Source]:
    """Where Fabric keeps what is the user's, and what said so. It need not exist.

    Raises:
        ConfigError: The variable is set and is not an absolute path.
    """
    given = environ.get(AGENT_DIR_VARIABLE, "")
    if not given:
        return platformdirs.user_data_path("fabric", appauthor=False), DEFAULT
    home = environ.get("HOME", "")
    if home and (given == "~" or given.startswith("~/")):
        given = home + given[1:]
    path = Path(given)
    if not path.is_absolute():
        raise ConfigError(f"{AGENT_DIR_VARIABLE} is {given!r}; allowed: an absolute path")
    return path, Source(kind=SourceKind.ENVIRONMENT)


def _read_file(path: Path, source: Source, *, digest: str | None = None) -> _Read:
    try:
        data = read_configuration_file(path)
    except OSError as error:
        return _Read(source=source, content={}, problems=(_unreadable(source, error),))
    if data is None:
        return _absent(source)
    if digest is not None and content_digest(data) != digest:
        message = "has changed since it was trusted and does not count; look at it, then run `fabric trust`"
        return _passed_over(source, SourceState.CHANGED, message)
    return _parsed(source, data)


def _read_project(project: Path, agent_dir: Path) -> _Read:
    """Read a project's file only if its very content is trusted; without trust it is not even opened."""
    path = project_file(project)
    source = Source(kind=SourceKind.PROJECT, path=path)
    if not os.path.lexists(path):
        return _absent(source)
    try:
        trusted = trusted_projects(agent_dir).get(str(project))
    except ConfigError as error:
        return _passed_over(source, SourceState.UNTRUSTED, f"is passed over: {error}")
    if trusted is None:
        message = "is not trusted and was not read; look at it, then run `fabric trust`"
        return _passed_over(source, SourceState.UNTRUSTED, message)
    return _read_file(path, source, digest=trusted)


def _parsed(source: Source, data: bytes) -> _Read:
    document = parse_document(data, source)
    return _Read(
        source=source, content=document.content, problems=document.problems, warnings=document.warnings
    )


def _absent(source: Source) -> _Read:
    return _Read(source=_in_state(source, SourceState.ABSENT), content={})


def _passed_over(source: Source, state: SourceState, message: str) -> _Read:
    passed = _in_state(source, state)
    return _Read(source=passed, content={}, warnings=(Problem(source=passed, path="", message=message),))


def _unreadable(source: Source, error: OSError) -> Problem:
    return Problem(source=source, path="", message=f"cannot be read: {error.strerror}")


def _in_state(source: Source, state: SourceState) -> Source:
    return Source(kind=source.kind, path=source.path, state=state)
