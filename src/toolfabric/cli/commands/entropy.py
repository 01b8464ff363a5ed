"""``fabric entropy``: how often calls are rejected, and the normal forms that keep them from it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

import click

from toolfabric.cli import output
from toolfabric.values import Json, JsonObject

if TYPE_CHECKING:
    from toolfabric.runtime import Fabric

__all__ = ["command"]

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_cwd = click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False), help="The workspace; default: here."
)
_REPORT = "report"


class _Entropy(click.Group):
    """A group whose unnamed command is the report, so that ``fabric entropy PATH`` works."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the report's name first where no command is named."""
        named = args and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named else [_REPORT, *args])


@click.group("entropy", cls=_Entropy)
def command() -> None:
    """Report how often calls are rejected before they take effect; export, import and compile.

    `fabric entropy [PATH…]` reports on session files or folders of them, by default on this user's own.
    """


@command.command(_REPORT)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option(
    "--surface", "surface_file", metavar="FILE", help="An exported surface: adds freedom and plans."
)
@_json
def report(paths: tuple[str, ...], *, surface_file: str | None, as_json: bool) -> int:
    """Report on recorded sessions: score, worst actions, models, trend, plans, review signals."""
    from toolfabric.cli.corpus import find_sessions, read_sessions, read_surface
    from toolfabric.cli.entropy_view import Findings, show_findings

    surface = None if surface_file is None else read_surface(surface_file)
    files = find_sessions(paths)
    with click.progressbar(
        files, label="reading sessions", file=sys.stderr, hidden=not output.is_terminal()
    ) as bar:
        shares = list(read_sessions(bar))
    findings = Findings.of(shares, surface)
    if as_json:
        output.emit_json(findings.to_json())
    else:
        show_findings(findings)
    return output.Exit.OK


@command.command("export")
@click.argument("path", required=False)
@_json
@_cwd
def export(path: str | None, *, as_json: bool, cwd: str | None) -> int:
    """Write the declared surface, as it is, to PATH or standard output."""
    from toolfabric.cli import host

    async def surface(fabric: Fabric) -> JsonObject:
        return fabric.surface()

    form = host.in_fabric(surface, cwd=host.folder(cwd), options=host.unrecorded())
    return _written(form, path, as_json=as_json, what="the declared surface")


@command.command("export-artifact")
@click.argument("path", required=False)
@_json
def export_artifact(path: str | None, *, as_json: bool) -> int:
    """Write the compiled artifact to PATH or standard output."""
    from toolfabric.cli.host import agent_folder
    from toolfabric.entropy.artifact import load_compiled_surface

    artifact = load_compiled_surface(agent_folder())
    if artifact is None:
        raise click.UsageError("nothing was ever compiled here; `fabric entropy compile` does it")
    return _written(artifact.to_json(), path, as_json=as_json, what="the compiled artifact")


@command.command("import")
@click.argument("file")
@_json
@_cwd
def import_artifact(file: str, *, as_json: bool, cwd: str | None) -> int:
    """Merge an exported artifact FILE; every plan is proved against this surface, or dropped."""
    from toolfabric.cli.corpus import read_json
    from toolfabric.entropy.artifact import load_compiled_surface, save_compiled_surface
    from toolfabric.entropy.merge import import_compiled_surface
    from toolfabric.errors import RecordError

    agent, surface = _agent_and_surface(cwd)
    local = load_compiled_surface(agent)
    try:
        imported = import_compiled_surface(local, read_json(file), surface)
    except RecordError as error:
        raise click.UsageError(f"{output.printable(file)}: {error}") from error
    save_compiled_surface(agent, imported.merged.file)
    if as_json:
        output.emit_json(imported.to_json())
        return output.Exit.OK
    merged = imported.merged
    output.emit_text(f"{len(merged.file.plans)} plans are in the artifact now.")
    dropped = merged.dropped_overlays + merged.dropped_quarantines + merged.dropped_normalizations
    if dropped:
        output.emit_text(
            f"Dropped: {merged.dropped_normalizations} plans, {merged.dropped_overlays} overlays, "
            f"{merged.dropped_quarantines} quarantines."
        )
    output.emit_table(("dropped", "why"), [(one.ref or "(no ref)", one.reason) for one in imported.reasons])
    return output.Exit.OK


@command.command("compile")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@_json
@_cwd
def compile_surface(paths: tuple[str, ...], *, as_json: bool, cwd: str | None) -> int:
    """Measure recorded sessions, derive the surface's plans, and keep them in the artifact."""
    from msgspec import UNSET

    from toolfabric.cli.corpus import find_sessions, joined, read_sessions
    from toolfabric.entropy.artifact import load_compiled_surface, save_compiled_surface
    from toolfabric.entropy.compile import compile_entropy_surface

    agent, surface = _agent_and_surface(cwd)
    evidence = joined(list(read_sessions(find_sessions(paths))))
    outcome = compile_entropy_surface(
        evidence.traces,
        surface,
        value_observations=evidence.value_observations,
        audit_calls=evidence.audit_calls,
        artifact=load_compiled_surface(agent),
    )
    if outcome.artifact is not UNSET:
        save_compiled_surface(agent, outcome.artifact)
    if as_json:
        output.emit_json(outcome.to_json())
        return output.Exit.OK
    plans = () if outcome.artifact is UNSET else outcome.artifact.plans
    output.emit_text(f"{outcome.status}: {len(plans)} plans; score {outcome.report.score:g}")
    output.emit_table(
        ("action", "proven rules"),
        [(plan.ref, ", ".join(f"{rule.kind} {rule.key}" for rule in plan.rules)) for plan in plans],
    )
    return output.Exit.OK


def _agent_and_surface(cwd: str | None):  # noqa: ANN202 -- two values that the callers unpack
    from toolfabric.cli import host

    async def surface(fabric: Fabric) -> JsonObject:
        return fabric.surface()

    agent = host.agent_folder()
    return agent, host.in_fabric(surface, cwd=host.folder(cwd), options=host.unrecorded())


def _written(form: JsonObject, path: str | None, *, as_json: bool, what: str) -> int:
    from pathlib import Path

    from toolfabric._base.canonical import canonical_bytes
    from toolfabric.durable.atomic import replace_file
    from toolfabric.durable.fileops import RealFiles

    if path is None or path == "-":
        output.emit_json(form)
        return output.Exit.OK
    target = Path(path)
    replace_file(target, canonical_bytes(cast("Json", form)) + b"\n", files=RealFiles(), mode=0o644)
    if as_json:
        output.emit_json({"path": str(target)})
    else:
        output.emit_text(f"Wrote {what} to {target}")
    return output.Exit.OK
