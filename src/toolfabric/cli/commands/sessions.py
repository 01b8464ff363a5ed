"""``fabric sessions``: the recorded executions of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolfabric.cli import output
from toolfabric.values import Json, JsonObject

if TYPE_CHECKING:
    from toolfabric.sessions.reader import SessionSummary

__all__ = ["command"]

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_cwd = click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False), help="The workspace; default: here."
)


@click.group("sessions")
def command() -> None:
    """List and show recorded sessions."""


@command.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Sessions of every workspace, not only this one.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@_json
@_cwd
def list_recorded(*, everywhere: bool, limit: int, as_json: bool, cwd: str | None) -> int:
    """List recorded sessions, newest first."""
    found = _summaries(cwd, everywhere=everywhere)[:limit]
    if as_json:
        output.emit_json([_summary_json(one) for one in found])
        return output.Exit.OK
    if not found:
        output.note("No session is recorded here yet; `fabric exec FILE` makes one.")
    output.emit_table(
        ("session", "started", "workspace"), [(one.session_id, one.timestamp, one.cwd) for one in found]
    )
    return output.Exit.OK


@command.command("show")
@click.argument("session", required=False)
@_json
@_cwd
def show(session: str | None, *, as_json: bool, cwd: str | None) -> int:
    """Show one SESSION: a file, or the first characters of an id; default: the newest here."""
    from toolfabric.cli.records_view import executions_of, show_execution

    path = _find(session, cwd)
    executions = list(executions_of(path))
    if as_json:
        output.emit_json({"session": str(path), "executions": [one.to_json() for one in executions]})
        return output.Exit.OK
    output.emit_text(f"Session {path}")
    if not executions:
        output.note("It holds no execution.")
    for one in executions:
        show_execution(one)
    return output.Exit.OK


def _summaries(cwd: str | None, *, everywhere: bool) -> list[SessionSummary]:
    from toolfabric.cli.host import agent_folder, folder
    from toolfabric.sessions.paths import session_folder
    from toolfabric.sessions.reader import list_sessions

    agent = agent_folder()
    if not everywhere:
        return list_sessions(session_folder(agent, folder(cwd)))
    root = agent / "sessions"
    folders = sorted(root.iterdir()) if root.is_dir() else []
    found = [one for each in folders if each.is_dir() for one in list_sessions(each)]
    return sorted(found, key=lambda one: one.timestamp, reverse=True)


def _find(session: str | None, cwd: str | None) -> Path:
    if session is not None and Path(session).is_file():
        return Path(session)
    found = _summaries(cwd, everywhere=session is not None)
    if session is not None:
        found = [one for one in found if one.session_id.startswith(session)]
    if not found:
        raise click.UsageError("no such session; `fabric sessions list --all` lists what there is")
    if session is not None and len(found) > 1:
        raise click.UsageError(f"{len(found)} sessions begin so; give more of the id")
    return found[0].path


def _summary_json(one: SessionSummary) -> Json:
    form: JsonObject = {
        "id": one.session_id,
        "timestamp": one.timestamp,
        "cwd": one.cwd,
        "path": str(one.path),
    }
    return form
