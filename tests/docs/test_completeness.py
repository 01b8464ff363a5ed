"""The documents name everything that there is, and nothing that there is not."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt

from toolfabric.cli.main import COMMANDS, fabric
from toolfabric.cli.output import Exit
from toolfabric.config.parse import parse
from toolfabric.kernels.subset import CONSTRUCTS, MISSING_NAMES, MODULE_ADVICE, MODULES, SILENT
from toolfabric.providers.pi.schemas import SPECS
from toolfabric.values import Outcome, Risk, Stage

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))

DIFFERENCES = ("not in the language", "differs in silence", "missing builtin", "missing module")


def read(page: str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def rows(page: str, heading: str) -> Iterator[list[str]]:
    """The rows of all tables whose first heading is given, cell by cell."""
    table = rf"^\| {re.escape(heading)} \|.*\n\|[-|]+\|\n((?:\|.*\n)*)"
    found = "".join(re.findall(table, read(page), re.MULTILINE))
    assert found, f"{page} has no table that begins with {heading!r}"
    for line in found.splitlines():
        yield [cell.strip() for cell in line.strip("|").split("|")]


def inline_code(page: str) -> Iterator[str]:
    """Every piece of inline code of a page."""
    for token in MarkdownIt("commonmark").enable("table").parse(read(page)):
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content


def unknown(command_line: str) -> str | None:
    """The first word of a command line that the command does not know, or ``None``."""
    context = click.Context(fabric)
    command: click.Command | None = fabric
    for word in shlex.split(command_line)[1:]:
        if word.startswith("-") and word != "-":
            known = {option for each in command.params for option in each.opts} | {"--help"}
            if word.partition("=")[0] not in known:
                return word
        elif isinstance(command, click.Group):
            command = command.get_command(context, word)
            if command is None:
                return word
    return None


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_mentions_exists(page: str) -> None:
    lines = [code for code in inline_code(page) if re.match(r"fabric [a-z-]", code)]
    mentioned = {line: unknown(line) for line in lines}
    assert {line: word for line, word in mentioned.items() if word is not None} == {}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("fabric exec - --json", None),
        ("fabric tools call pi.read --yes all", None),
        ("fabric nonsense", "nonsense"),
        ("fabric tools nonsense", "nonsense"),
        ("fabric exec FILE --nonsense", "--nonsense"),
    ],
)
def test_a_wrong_mention_is_seen(line: str, word: str | None) -> None:
    assert unknown(line) == word


def holds_a_file(path: Path) -> bool:
    """Whether a path is a file, or a folder with one in it; Git keeps no empty folders."""
    kept = [one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts]
    return path.is_file() or bool(kept)


@pytest.mark.parametrize("page", PAGES)
def test_every_path_of_this_project_that_a_page_mentions_exists(page: str) -> None:
    mentioned = [code for code in inline_code(page) if re.match(r"(?:tests|src|docs|examples)/", code)]
    assert [path for path in mentioned if not holds_a_file(ROOT / path)] == []


def test_the_readme_lists_every_command() -> None:
    assert [first.strip("`") for first, *_rest in rows("README.md", "command")] == [
        f"fabric {name}" for name in COMMANDS
    ]


def test_the_readme_lists_every_subcommand() -> None:
    context = click.Context(fabric)
    told = {first.strip("`").removeprefix("fabric "): text for first, text in rows("README.md", "command")}
    untold = {
        f"{name} {sub}"
        for name in COMMANDS
        if isinstance(command := fabric.get_command(context, name), click.Group)
        for sub in command.list_commands(context)
        if f"`{sub}`" not in told[name]
    }
    assert untold == set()


def test_the_readme_lists_every_exit_code() -> None:
    assert [int(first) for first, _meaning in rows("README.md", "exit code")] == [int(code) for code in Exit]


def test_the_records_page_names_every_stage_and_outcome() -> None:
    text = read("docs/records.md")
    assert [word for word in (*Stage, *Outcome) if f"`{word}`" not in text] == []


def test_the_configuration_page_lists_every_setting_with_its_default() -> None:
    told = [tuple(cells) for cells in rows("docs/configuration.md", "setting")]
    assert sorted(told) == sorted(
        (f"`{leaf.path}`", f"`{json.dumps(leaf.value)}`", leaf.allowed) for leaf in parse([]).leaves
    )


def test_the_providers_page_lists_every_action_of_pi_with_its_risks() -> None:
    told = [(first, needs) for first, needs, _text in rows("docs/providers.md", "action")]
    assert told == [(f"`pi.{spec.name}`", " ".join(f"`{risk}`" for risk in spec.risks)) for spec in SPECS]


def plain(text: str) -> str:
    """A text as Markdown in which nothing has a meaning of its own."""
    return re.sub(r"([*_<|])", r"\\\1", text)


def test_the_programs_page_lists_how_the_language_differs() -> None:
    told = {heading: list(rows("docs/programs.md", heading)) for heading in DIFFERENCES}
    assert told == {
        "not in the language": [[plain(one.what), plain(one.instead)] for one in CONSTRUCTS],
        "differs in silence": [[plain(one.what), plain(one.instead)] for one in SILENT],
        "missing builtin": [[f"`{name}`", plain(text)] for name, text in MISSING_NAMES.items()],
        "missing module": [[f"`{name}`", plain(text)] for name, text in MODULE_ADVICE.items()],
    }


def test_the_programs_page_lists_the_modules_that_are_there() -> None:
    sentence = re.search(
        r"The modules that can be imported are: ([^.]*(?:\.path[^.]*)?)\.\n", read("docs/programs.md")
    )
    assert sentence is not None
    assert re.findall(r"`([\w.]+)`", sentence[1]) == sorted(MODULES)


def test_the_architecture_page_draws_the_layers_that_are_enforced() -> None:
    settings = tomllib.loads(read("pyproject.toml"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    enforced = [sorted(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    told = [
        sorted(re.findall(r"`(\w+)`", packages))
        for _at, packages, _what in rows("docs/architecture.md", "layer")
    ]
    assert told == enforced


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md", "docs/providers.md"])
def test_every_risk_is_named(page: str) -> None:
    assert [risk for risk in Risk if f"`{risk}`" not in read(page)] == []
