"""``fabric config``: what is in force, where it comes from, and whether the files are right."""

from __future__ import annotations

import json
from pathlib import Path

import click

from toolfabric.cli import output
from toolfabric.config.load import environment, examine_config, load_config
from toolfabric.config.records import Leaf, Problem, Source
from toolfabric.values import Json, JsonObject

__all__ = ["command"]

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_cwd = click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The workspace; default: here.",
)


@click.group("config")
def command() -> None:
    """Show the effective configuration, or check it."""


@command.command("show")
@click.argument("prefix", default="")
@_json
@_cwd
def show(prefix: str, *, as_json: bool, cwd: Path) -> int:
    """Show every setting in force and where it comes from; with PREFIX, only those below it."""
    loaded = load_config(cwd, environ=environment())
    leaves = [leaf for leaf in loaded.explain() if f"{leaf.path}.".startswith(f"{prefix}." if prefix else "")]
    if prefix and not leaves:
        raise click.UsageError(
            f"no setting is below {output.printable(prefix)}; `fabric config show` lists all"
        )
    _remark(loaded.warnings)
    if as_json:
        output.emit_json(
            {
                "agentDir": str(loaded.agent_dir),
                "sources": [_source_json(source) for source in loaded.sources],
                "settings": [_leaf_json(leaf) for leaf in leaves],
                "warnings": [_problem_json(warning) for warning in loaded.warnings],
            }
        )
    else:
        output.emit_table(
            ("setting", "value", "from"),
            [(leaf.path, json.dumps(leaf.value, ensure_ascii=False), str(leaf.source)) for leaf in leaves],
        )
    return output.Exit.OK


@command.command("check")
@_json
@_cwd
def check(*, as_json: bool, cwd: Path) -> int:
    """Check the configuration files; exit code 3 if one is wrong. Remarks alone are no failure."""
    examined = examine_config(cwd, environ=environment())
    loaded, problems = examined.loaded, examined.problems
    if as_json:
        output.emit_json(
            {
                "ok": not problems,
                "sources": [_source_json(source) for source in loaded.sources],
                "problems": [_problem_json(problem) for problem in problems],
                "warnings": [_problem_json(warning) for warning in loaded.warnings],
            }
        )
    else:
        output.emit_table(
            ("source", "file", "state"),
            [(source.kind, str(source.path or ""), source.state) for source in loaded.sources],
        )
        _remark(loaded.warnings)
        for problem in problems:
            output.note(f"wrong: {problem}")
    return output.Exit.CONFIG if problems else output.Exit.OK


def _remark(warnings: tuple[Problem, ...]) -> None:
    for warning in warnings:
        output.note(f"note: {warning}")


def _source_json(source: Source) -> JsonObject:
    return {
        "kind": source.kind.value,
        "path": None if source.path is None else str(source.path),
        "state": source.state.value,
    }


def _leaf_json(leaf: Leaf) -> Json:
    return {
        "path": leaf.path,
        "value": leaf.value,
        "from": leaf.source.kind.value,
        "file": None if leaf.source.path is None else str(leaf.source.path),
        "allowed": leaf.allowed,
    }


def _problem_json(problem: Problem) -> Json:
    return {
        "from": problem.source.kind.value,
        "file": None if problem.source.path is None else str(problem.source.path),
        "path": problem.path,
        "message": problem.message,
    }
