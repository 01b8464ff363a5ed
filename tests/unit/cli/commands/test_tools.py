"""fabric tools."""

from __future__ import annotations

import click
import pytest

from toolfabric.cli.output import Exit
from toolfabric.errors import ApproveError, ResolveError, ValidateError

from ..conftest import Run, read


def test_all_actions_or_one_providers_are_listed(run: Run) -> None:
    refs = [one["ref"] for one in read(run("tools", "list", "--json"))]
    assert refs == ["pi.bash", "pi.edit", "pi.find", "pi.grep", "pi.ls", "pi.read", "pi.write"]
    assert run("tools", "list", "pi").stdout.splitlines()[0].split() == ["ref", "risk", "description"]
    assert isinstance(run("tools", "list", "nobody").exception, ResolveError)


def test_search_puts_the_best_first_and_says_when_nothing_fits(run: Run) -> None:
    assert read(run("tools", "search", "read file", "--json"))[0]["ref"] == "pi.read"
    assert "No action fits" in run("tools", "search", "zebra").stderr


def test_describe_takes_a_bare_name_and_shows_schemas(run: Run) -> None:
    shown = run("tools", "describe", "write").stdout
    assert shown.startswith("pi.write  (write)\n")
    assert "Effect: " in shown
    assert '"additionalProperties": false' in shown
    assert read(run("tools", "describe", "pi.write", "--json"))["risk"] == ["write"]


def test_call_takes_strings_json_and_a_whole_object(run: Run) -> None:
    assert read(run("tools", "call", "pi.read", "path=a.txt", "limit:=1"))["lines"] == 1
    assert read(run("tools", "call", "pi.read", "--args", '{"path": "a.txt"}'))["lines"] == 2
    assert read(run("tools", "call", "pi.read", "--args", "-", given='{"path": "a.txt"}'))["lines"] == 2


def test_a_refused_call_is_an_error_of_its_stage(run: Run) -> None:
    assert isinstance(run("tools", "call", "pi.raed", "path=a.txt").exception, ResolveError)
    assert isinstance(run("tools", "call", "pi.read", "pth=a.txt").exception, ValidateError)
    assert isinstance(run("tools", "call", "pi.write", "path=b", "content=x").exception, ApproveError)
    assert run("tools", "call", "pi.write", "path=b", "content=x", "--yes", "write").exit_code == Exit.OK


@pytest.mark.parametrize(
    "arguments",
    [
        ("novalue",),
        ("=x",),
        ("limit:=[",),
        ("--args", "["),
        ("--args", "[]"),
        ("--args", "@nowhere"),
        ("--yes", "x"),
    ],
)
def test_wrong_arguments_are_told(run: Run, arguments: tuple[str, ...]) -> None:
    assert isinstance(run("tools", "call", "pi.read", *arguments).exception, click.UsageError)
