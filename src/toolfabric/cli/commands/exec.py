"""``fabric exec``: run one program and print what it returns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolfabric.cli import output
from toolfabric.values import Json, Outcome, Risk

if TYPE_CHECKING:
    from toolfabric.execution.records import ExecutionResult

__all__ = ["command", "split_words"]

_EXITS: Final = {
    Outcome.SUCCEEDED: output.Exit.OK,
    Outcome.FAILED: output.Exit.FAILED,
    Outcome.TIMED_OUT: output.Exit.TIMED_OUT,
    Outcome.ABORTED: output.Exit.INTERRUPTED,
}


@click.command("exec")
@click.argument("words", metavar="FILE|-", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print {success, value, error, trace, session}.")
@click.option(
    "--payload", "payloads", multiple=True, metavar="KEY=TEXT", help="payloads[KEY]; KEY=@FILE reads a file."
)
@click.option(
    "--timeout", type=click.FloatRange(min=0.001, max=86_400), metavar="SECONDS", help="For the whole run."
)
@click.option(
    "--yes", multiple=True, metavar="RISK…", help="Allow read, write, execute, network, agent, or all."
)
@click.option(
    "--result-format", type=click.Choice(["auto", "json", "yaml", "text"]), help="How the result is spelled."
)
@click.option("--model", metavar="PROVIDER/ID", help="The model that wrote the program, for the record.")
@click.option("--cwd", type=click.Path(exists=True, file_okay=False), help="The workspace; default: here.")
def command(
    words: tuple[str, ...],
    *,
    as_json: bool,
    payloads: tuple[str, ...],
    timeout: float | None,
    yes: tuple[str, ...],
    result_format: str | None,
    model: str | None,
    cwd: str | None,
) -> int:
    """Run the program in FILE, or from standard input for `-`.

    The program's return value is printed on standard output; what it prints goes to standard error.
    """
    source, allowed = split_words(words, yes)
    arguments: dict[str, Json] = {
        "code": output.read_source("-" if source == "-" else f"@{source}"),
        "payloads": {**_payloads(payloads)},
    }
    if source != "-":
        arguments["display"] = {"name": Path(source).name}
    if result_format:
        arguments["resultFormat"] = result_format
    overrides: dict[str, Json] = {}
    if allowed:
        overrides["approvals"] = {str(risk): "allow" for risk in allowed}
    if timeout is not None:
        overrides["executor"] = {"timeoutMs": max(1, round(timeout * 1_000))}
    return _execute(arguments, overrides, as_json=as_json, model=_model(model), cwd=cwd)


def split_words(words: tuple[str, ...], yes: tuple[str, ...]) -> tuple[str, tuple[Risk, ...]]:
    """Tell the program's name from risks that follow or precede it after ``--yes``.

    Raises:
        click.UsageError: There is not exactly one program, or a word after ``--yes`` is no risk.
    """
    from toolfabric.cli.host import risks

    names = [word for word in words if not yes or len(words) == 1 or word not in {*Risk, "all"}]
    if len(names) != 1:
        raise click.UsageError(f"give one FILE, or - for standard input; got {len(names)}")
    named = tuple(word for word in words if word not in names)
    try:
        return names[0], risks((*yes, *named))
    except ValueError as error:
        raise click.UsageError(f"--yes: {error}") from error


def _payloads(pairs: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--payload {output.printable(pair)}: write KEY=TEXT or KEY=@FILE")
        found[key] = output.read_source(text) if text.startswith("@") else text
    return found


def _model(text: str | None) -> tuple[str, str]:
    provider, slash, model = (text or "").partition("/")
    if text is not None and not (provider and slash and model):
        raise click.UsageError(f"--model {output.printable(text)}: write PROVIDER/ID")
    return provider, model


def _execute(
    arguments: dict[str, Json],
    overrides: dict[str, Json],
    *,
    as_json: bool,
    model: tuple[str, str],
    cwd: str | None,
) -> int:
    from toolfabric.cli import host
    from toolfabric.cli.live import Watch
    from toolfabric.runtime import Fabric, Options

    watch = Watch()

    async def run(fabric: Fabric) -> ExecutionResult:
        with watch:
            return await fabric.run(arguments, observe=watch)

    options = Options(approver=host.chosen_approver(watch), model=model)
    return _show(
        host.in_fabric(run, cwd=host.folder(cwd), config=overrides, options=options), as_json=as_json
    )


def _show(result: ExecutionResult, *, as_json: bool) -> int:
    from toolfabric.cli.records_view import result_json
    from toolfabric.execution.failures import describe_note

    for note in result.notes:
        output.note(describe_note(note))
    if result.record_error is not None:
        output.note(f"fabric: the record of this run could not be kept: {result.record_error}")
    if as_json:
        output.emit_json(result_json(result))
    elif result.success:
        output.emit_text(result.text)
    else:
        output.note(result.text)
    return _EXITS[result.outcome]
