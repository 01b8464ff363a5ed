"""``fabric certify``: show that the promises hold, offline, check by check."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolfabric.cli import output

if TYPE_CHECKING:
    from toolfabric.entropy.certification import CertificationReport

__all__ = ["command"]


@click.group("certify")
def command() -> None:
    """Run every check of a promise and say what was tried."""


@command.command("entropy")
@click.option(
    "--sessions", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Recorded sessions."
)
@click.option("--surface", "surface_file", metavar="FILE", help="An exported surface; needs --sessions.")
@click.option("--trial", is_flag=True, help="Replay recorded arguments; needs --sessions and --surface.")
@click.option(
    "--artifact", "artifact_file", metavar="FILE", help="The trial's artifact; default: the compiled one."
)
@click.option("--json", "json_file", metavar="FILE", help="Write the report to FILE, - for standard output.")
def entropy(
    *,
    sessions: str | None,
    surface_file: str | None,
    trial: bool,
    artifact_file: str | None,
    json_file: str | None,
) -> int:
    """Check the measure, the normal forms, the artifact, and recorded sessions where they are given.

    Exits with 1 when a check failed, and with 2 on invalid input.
    """
    if surface_file is not None and sessions is None:
        raise click.UsageError("--surface needs --sessions")
    if trial and (sessions is None or surface_file is None):
        raise click.UsageError("--trial needs --sessions and --surface")
    report = _certified(sessions, surface_file, artifact_file, trial=trial)
    if json_file == "-":
        output.emit_json(report.to_json())
    else:
        _show(report)
        if json_file is not None:
            _write(report, Path(json_file))
    return output.Exit.OK if report.passed else output.Exit.FAILED


def _certified(
    sessions: str | None, surface_file: str | None, artifact_file: str | None, *, trial: bool
) -> CertificationReport:
    from toolfabric.cli.corpus import joined, read_json, read_sessions, read_surface
    from toolfabric.cli.host import agent_folder
    from toolfabric.entropy.artifact import load_compiled_surface, read_compiled_surface
    from toolfabric.entropy.certify import certify_entropy
    from toolfabric.errors import RecordError

    evidence = None
    if sessions is not None:
        evidence = joined(list(read_sessions(sorted(Path(sessions).glob("*.jsonl")))))
    artifact = None
    try:
        if artifact_file is not None:
            artifact = read_compiled_surface(read_json(artifact_file))
        elif trial:
            artifact = load_compiled_surface(agent_folder())
        with tempfile.TemporaryDirectory(prefix="fabric-certify-") as folder:
            return certify_entropy(
                Path(folder),
                evidence=evidence,
                surface=None if surface_file is None else read_surface(surface_file),
                artifact=artifact,
                trial=trial,
            )
    except RecordError as error:
        raise click.UsageError(str(error)) from error


def _show(report: CertificationReport) -> None:
    from msgspec import UNSET

    output.emit_table(
        ("", "check", "cases", "what it tries"),
        [
            ("ok" if check.passed else "FAILED", check.name, str(check.cases), check.tries)
            for check in report.checks
        ],
    )
    for check in report.checks:
        for failure in check.failures:
            output.emit_text(f"{check.name}: {failure}")
    if report.trial is not UNSET:
        trial = report.trial
        output.emit_text(
            f"trial: {trial.verdict}; {trial.totals.operations} calls, {trial.totals.both_accept} "
            f"accepted as given, {trial.totals.normalization_win} saved, {trial.totals.both_reject} rejected"
        )
    output.emit_text("certified" if report.passed else "NOT certified")


def _write(report: CertificationReport, path: Path) -> None:
    from toolfabric._base.canonical import canonical_bytes
    from toolfabric.durable.atomic import replace_file
    from toolfabric.durable.fileops import RealFiles

    replace_file(path, canonical_bytes(report.to_json()) + b"\n", files=RealFiles(), mode=0o644)
