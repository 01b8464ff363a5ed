"""``fabric tools``: what a program can call, and one call by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import click

from toolfabric.cli import output
from toolfabric.values import Json, JsonObject

if TYPE_CHECKING:
    from toolfabric.runtime import Fabric

__all__ = ["command"]

_cwd = click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False), help="The workspace; default: here."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("tools")
def command() -> None:
    """List, search, describe and call actions."""


@command.command("list")
@click.argument("provider", required=False)
@_json
@_cwd
def list_actions(provider: str | None, *, as_json: bool, cwd: str | None) -> int:
    """List all actions, or those of one PROVIDER."""
    args: JsonObject = {} if provider is None else {"provider": provider}
    return _ask("list", args, _table, as_json=as_json, cwd=cwd)


@command.command("search")
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True)
@_json
@_cwd
def search(query: str, *, limit: int, as_json: bool, cwd: str | None) -> int:
    """Find actions whose name or description fits QUERY, best first."""
    return _ask("search", {"query": query, "limit": limit}, _table, as_json=as_json, cwd=cwd)


@command.command("describe")
@click.argument("name")
@_json
@_cwd
def describe(name: str, *, as_json: bool, cwd: str | None) -> int:
    """Show one action: a ref, or a bare action name where it is unique."""
    return _ask("describe", {"name": name}, _description, as_json=as_json, cwd=cwd)


@command.command("call")
@click.argument("ref")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE|KEY:=JSON]…")
@click.option(
    "--args", "given", metavar="JSON", help="All arguments as one JSON object; @FILE reads a file, - stdin."
)
@click.option(
    "--yes", multiple=True, metavar="RISK…", help="Allow read, write, execute, network, agent, or all."
)
@_json
@_cwd
def call(
    ref: str,
    arguments: tuple[str, ...],
    *,
    given: str | None,
    yes: tuple[str, ...],
    as_json: bool,
    cwd: str | None,
) -> int:
    """Make one call through the whole pipeline, and record it.

    KEY=VALUE gives a string, KEY:=JSON any other value.
    """
    from toolfabric.cli import host
    from toolfabric.cli.live import Watch
    from toolfabric.runtime import Options

    args: Json = {**_object(given), **_pairs(arguments)} if given is None or arguments else _object(given)
    try:
        overrides = host.approvals(host.risks(yes))
    except ValueError as error:
        raise click.UsageError(f"--yes: {error}") from error

    async def run(fabric: Fabric) -> Json:
        return await fabric.call(ref, args)

    options = Options(approver=host.chosen_approver(Watch()))
    value = host.in_fabric(run, cwd=host.folder(cwd), config=overrides, options=options)
    if as_json or not isinstance(value, str):
        output.emit_json(value)
    else:
        output.emit_text(value)
    return output.Exit.OK


def _object(text: str | None) -> JsonObject:
    if text is None:
        return {}
    source = output.read_source(text) if text == "-" or text.startswith("@") else text
    try:
        value: Json = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--args is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError("--args must be one JSON object")
    return value


def _pairs(pairs: tuple[str, ...]) -> JsonObject:
    found: JsonObject = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{output.printable(pair)}: write KEY=VALUE, or KEY:=JSON")
        if key.endswith(":"):
            try:
                found[key[:-1]] = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise click.UsageError(
                    f"{output.printable(pair)}: what follows := is not JSON: {error}"
                ) from error
        else:
            found[key] = text
    return found


def _ask(
    question: str, args: JsonObject, show: Callable[[Json], None], *, as_json: bool, cwd: str | None
) -> int:
    from toolfabric.cli import host

    async def run(fabric: Fabric) -> Json:
        return fabric.discover(question, args)

    answer = host.in_fabric(run, cwd=host.folder(cwd))
    if as_json:
        output.emit_json(answer)
    else:
        show(answer)
    return output.Exit.OK


def _table(answer: Json) -> None:
    rows = cast("list[dict[str, Json]]", answer)
    if not rows:
        output.note("No action fits.")
    output.emit_table(
        ("ref", "risk", "description"),
        [
            (
                str(row["ref"]),
                " ".join(cast("list[str]", row["risk"])),
                _first_sentence(str(row["description"])),
            )
            for row in rows
        ],
    )


def _description(answer: Json) -> None:
    view = cast("dict[str, Json]", answer)
    output.emit_text(f"{view['ref']}  ({', '.join(cast('list[str]', view['risk']))})")
    output.emit_text(str(view["description"]))
    if "effect" in view:
        output.emit_text(f"Effect: {view['effect']}")
    for title, key in (("Arguments", "inputSchema"), ("Result", "outputSchema")):
        if key in view:
            output.emit_text(f"\n{title}:\n{json.dumps(view[key], indent=2, ensure_ascii=False)}")


def _first_sentence(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line.partition(". ")[0].removesuffix(".") + "." if line else ""
