"""``fabric demo``: a real program on a real workspace, and what to try next."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolfabric.cli import output

if TYPE_CHECKING:
    from toolfabric.execution.records import ExecutionResult

__all__ = ["command"]


@click.command("demo")
@click.option(
    "--json", "as_json", is_flag=True, help="Print {workspace, success, value, error, trace, session}."
)
def command(*, as_json: bool) -> int:
    """Make a small Git workspace, run a program that fans out over it, and show what was recorded.

    The workspace is a new temporary folder and stays there, so that you can go on in it.
    """
    from toolfabric.cli.demo_workspace import PROGRAM, make_workspace
    from toolfabric.cli.records_view import result_json

    workspace = make_workspace()
    if not as_json:
        output.emit_text(f"1. A Git workspace of six files: {workspace}\n")
        output.emit_text(f"2. A program for it, as a model would write it:\n\n{_indented(PROGRAM)}\n")
    result = _run(workspace, PROGRAM)
    if as_json:
        output.emit_json({"workspace": str(workspace), **result_json(result)})
    else:
        _tell(workspace, result)
    return output.Exit.OK if result.success else output.Exit.FAILED


def _run(workspace: Path, program: str) -> ExecutionResult:
    from toolfabric.cli import host
    from toolfabric.cli.live import Watch
    from toolfabric.runtime import Fabric, Options
    from toolfabric.values import Risk

    watch = Watch()

    async def run(fabric: Fabric) -> ExecutionResult:
        await fabric.compiled()
        with watch:
            return await fabric.execute(program, observe=watch)

    # The demo writes one file into its own folder; that is what its program is for.
    allowed = host.approvals((Risk.WRITE,))
    return host.in_fabric(run, cwd=workspace, config=allowed, options=Options(plugins=False))


def _tell(workspace: Path, result: ExecutionResult) -> None:
    from toolfabric.cli.records_view import show_trace, show_witnesses

    if not result.success:
        output.note(result.text)
        return
    output.emit_text(f"\n3. What it returned:\n\n{_indented(result.text)}\n")
    output.emit_text("4. What was recorded: every call, in the order in which it was made.\n")
    show_trace(result.trace)
    output.emit_text(f"\n   kept in {result.session}\n")
    output.emit_text("5. What normal forms saved: calls that the declared schema would have rejected.\n")
    show_witnesses(result.trace)
    output.emit_text("\n6. What to try next:\n")
    fabric = _command_name()
    for line in (
        f"cd {shlex.quote(str(workspace))}",
        "cat TODO.md",
        f"{fabric} exec count_todos.py --yes write",
        f"{fabric} exec count_todos.py            # without --yes it asks, or refuses where nobody is there",
        f"{fabric} tools list",
        f"{fabric} tools describe pi.edit",
        f"{fabric} tools call pi.grep pattern=TODO",
        f"{fabric} sessions show",
        f"{fabric} entropy",
        f"{fabric} certify entropy",
        f"{fabric} doctor",
    ):
        output.emit_text(f"   {line}")
    output.emit_text("\nOn your own project: cd to it, write a program, run it with `exec`.")


def _command_name() -> str:
    """How the reader can call this command from any folder."""
    if shutil.which("fabric"):
        return "fabric"
    here = Path(sys.argv[0])
    if here.name == "fabric" and here.exists():
        return shlex.quote(str(here.absolute()))
    return f"{shlex.quote(sys.executable)} -m toolfabric"


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" if line else "" for line in text.splitlines())
