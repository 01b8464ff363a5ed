"""``fabric doctor``: what is installed, what is missing, and what each missing thing costs."""

from __future__ import annotations

import click

from toolfabric.cli import output

__all__ = ["command"]


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--cwd", type=click.Path(exists=True, file_okay=False), help="The workspace; default: here.")
def command(*, as_json: bool, cwd: str | None) -> int:
    """Check this machine, this configuration and this workspace.

    Exits with 1 when something is missing that programs cannot run without.
    """
    from toolfabric.cli.checkup import examine
    from toolfabric.cli.host import folder

    findings = examine(folder(cwd))
    if as_json:
        output.emit_json([finding.to_json() for finding in findings])
    else:
        output.emit_table(
            ("", "what", "found", "what it costs"),
            [(finding.sign, finding.what, finding.found, finding.cost) for finding in findings],
        )
    return output.Exit.FAILED if any(finding.level == "missing" for finding in findings) else output.Exit.OK
