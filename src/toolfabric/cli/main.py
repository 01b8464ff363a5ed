"""The ``fabric`` command: a table of subcommands, each loaded only when it is used."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final, NoReturn, cast

import click

from toolfabric._version import __version__
from toolfabric.cli import output
from toolfabric.cli.exits import Terminated
from toolfabric.errors import ConfigError, FabricError

__all__ = ["COMMANDS", "entry", "fabric"]

COMMANDS: Final[dict[str, str]] = {
    "exec": "Run a program from a file or standard input.",
    "tools": "List, search, describe and call actions.",
    "sessions": "List and show recorded sessions.",
    "entropy": "Report how often calls are rejected; export, import, compile normal forms.",
    "certify": "Run every check of a promise, offline, and say what was tried.",
    "config": "Show the effective configuration, or check it.",
    "trust": "Trust a project's configuration file, or stop.",
    "doctor": "Say what is installed, what is missing and what that costs.",
    "demo": "Make a small workspace and show Fabric at work in it.",
}
"""Every command with its one line of help, in the order in which help lists them."""


class _Lazy(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """All names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"toolfabric.cli.commands.{cmd_name}")
        return cast("click.Command", module.command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="fabric %(version)s")
def fabric() -> None:
    """One programmable tool over a registry that checks and records every call.

    Answers go to standard output, everything else to standard error. Exit codes: 0 done, 1 the
    program or call failed, 2 wrong use or input, 3 wrong configuration, 124 out of time, 130
    interrupted, 143 terminated.
    """


def entry() -> NoReturn:
    """Run the command line and end the process with its documented exit code."""
    code = _run(sys.argv[1:])
    output.leave(code)


def _run(arguments: list[str]) -> int:
    try:
        result: object = fabric.main(args=arguments, prog_name="fabric", standalone_mode=False)
    except (click.exceptions.Exit, click.ClickException, FabricError) as error:
        return _said(error)
    except (click.Abort, KeyboardInterrupt):
        return output.Exit.INTERRUPTED
    except Terminated:
        return output.Exit.TERMINATED
    except BrokenPipeError:
        return output.Exit.CLOSED
    return result if isinstance(result, int) else output.Exit.OK


def _said(error: click.exceptions.Exit | click.ClickException | FabricError) -> int:
    """Tell the person what was wrong, and choose the exit code."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            output.note(_usage(error))
            return output.Exit.USAGE
        case ConfigError():
            output.note(f"fabric: {error}")
            return output.Exit.CONFIG
        case _:
            output.note(f"fabric: {error}")
            return output.Exit.FAILED


def _usage(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    help_line = "" if context is None else f"{context.get_usage()}\nTry '{context.command_path} --help'.\n\n"
    return f"{help_line}Error: {error.format_message()}"
