"""``fabric trust``: let one content of a project's configuration file count, or stop that."""

from __future__ import annotations

import json
from pathlib import Path

import click

from toolfabric.cli import output
from toolfabric.config.load import agent_folder, environment, examine_bytes
from toolfabric.config.parse import Parsed
from toolfabric.config.records import Source, SourceKind
from toolfabric.config.trust import (
    content_digest,
    project_file,
    read_configuration_file,
    real_project,
    revoke_project,
    trust_project,
    trusted_projects,
)
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import ConfigError
from toolfabric.values import Json

__all__ = ["command"]


@click.command("trust")
@click.argument("folder", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default=Path())
@click.option("--revoke", is_flag=True, help="Trust the project no more.")
@click.option("--list", "listing", is_flag=True, help="List what is trusted, and whether it changed since.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: Path, *, revoke: bool, listing: bool, as_json: bool) -> int:
    """Trust the configuration file of the project in DIR (default: here), as it is now.

    What the file sets is shown. When the file changes, it stops counting until it is trusted again.
    """
    if revoke and listing:
        raise click.UsageError("--revoke and --list do not go together")
    agent_dir, _source = agent_folder(environment())
    if listing:
        return _list(agent_dir, as_json=as_json)
    if revoke:
        return _revoke(real_project(folder), agent_dir, as_json=as_json)
    return _trust(real_project(folder), agent_dir, as_json=as_json)


def _trust(project: Path, agent_dir: Path, *, as_json: bool) -> int:
    path = project_file(project)
    try:
        data = read_configuration_file(path)
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    if data is None:
        raise click.UsageError(f"{output.printable(str(path))} does not exist; there is nothing to trust")
    # The bytes that are shown are the bytes that are trusted: the file is read once.
    parsed = examine_bytes(data, Source(kind=SourceKind.PROJECT, path=path))
    if parsed.problems:
        wrong = "\n".join(map(str, parsed.problems))
        raise ConfigError(f"the project was not trusted, because its file is wrong:\n{wrong}")
    digest = trust_project(project, data, agent_dir=agent_dir, files=RealFiles())
    _show(project, digest, parsed, as_json=as_json)
    return output.Exit.OK


def _show(project: Path, digest: str, parsed: Parsed, *, as_json: bool) -> None:
    for warning in parsed.warnings:
        output.note(f"note: {warning}")
    if as_json:
        settings: list[Json] = [{"path": leaf.path, "value": leaf.value} for leaf in parsed.leaves]
        output.emit_json({"project": str(project), "trusted": True, "digest": digest, "settings": settings})
        return
    name = output.printable(str(project))
    output.emit_text(f"Trusted {name} with this content of .pi/fabric.json ({digest}). It sets:")
    output.emit_table(
        ("setting", "value"),
        [(leaf.path, json.dumps(leaf.value, ensure_ascii=False)) for leaf in parsed.leaves]
        or [("(nothing)", "")],
    )


def _revoke(project: Path, agent_dir: Path, *, as_json: bool) -> int:
    was = revoke_project(project, agent_dir=agent_dir, files=RealFiles())
    if as_json:
        output.emit_json({"project": str(project), "trusted": False, "was": was})
    else:
        now = "is not trusted any more" if was else "was not trusted"
        output.emit_text(f"{output.printable(str(project))} {now}.")
    return output.Exit.OK


def _list(agent_dir: Path, *, as_json: bool) -> int:
    listed = [
        (project, digest, _state(Path(project), digest))
        for project, digest in trusted_projects(agent_dir).items()
    ]
    if as_json:
        output.emit_json(
            [{"project": project, "digest": digest, "state": state} for project, digest, state in listed]
        )
    elif listed:
        output.emit_table(("project", "state"), [(project, state) for project, _digest, state in listed])
    else:
        output.note("No project is trusted.")
    return output.Exit.OK


def _state(project: Path, digest: str) -> str:
    try:
        data = read_configuration_file(project_file(project))
    except OSError:
        return "unreadable"
    if data is None:
        return "gone"
    return "trusted" if content_digest(data) == digest else "changed"
