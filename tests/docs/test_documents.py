"""Every example in the documents is run, page by page, in the order in which a reader meets it.

How a fenced block is treated depends on its first line:

=========================  ==========================================================
```` ```python````          a script for the host's Python; it must end with exit code 0
```` ```python program````  a program for ``fabric exec -``
```` ```python file=X````   written to the file X, which a later block of the page names
```` ```json````, ``toml``  must be well-formed; with ``file=X`` it is written as well
```` ```json trace````      must be an execution trace V1 for the guarded reader
```` ```sh````              each line is a command; it must end with exit code 0
```` ```console````         ``$ command`` lines with what they print; ``…`` stands for anything
```` ```text````            not an example
=========================  ==========================================================

The comment ``<!-- exit: N -->`` before a block expects exit code N of its last command;
``<!-- not run: reason -->`` keeps it from being run.
"""

from __future__ import annotations

import doctest
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from toolfabric.errors import RecordError
from toolfabric.trace.reader import read_trace
from toolfabric.values import Json

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"))
)

LANGUAGES = frozenset(("console", "json", "python", "sh", "text", "toml"))
RUNNABLE = frozenset(("cat", "cp", "echo", "fabric", "git", "ls", "mkdir", "printf", "python3"))
_EXIT = re.compile(r"<!-- exit: (\d+) -->")
_NOT_RUN = re.compile(r"<!-- not run: (.+) -->")

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block with what its first line and the comment before it say."""

    line: int
    language: str
    text: str
    program: bool = False
    trace: bool = False
    file: str | None = None
    exit: int = 0
    not_run: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command line of a block and what the page says that it prints, if it says it."""

    text: str
    prints: str | None = None


def tokens(page: str) -> list[Token]:
    """A page as Markdown tokens."""
    return MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text(encoding="utf-8"))


def blocks(parsed: list[Token]) -> Iterator[Block]:
    """The fenced blocks in reading order."""
    comment = ""
    for token in parsed:
        if token.type == "html_block":
            comment = token.content
            continue
        if token.type == "fence":
            yield block(token, comment)
        comment = ""


def block(token: Token, comment: str) -> Block:
    """Read one fence."""
    language, *words = token.info.split() or ["none"]
    file = next((word.removeprefix("file=") for word in words if word.startswith("file=")), None)
    code, reason = _EXIT.search(comment), _NOT_RUN.search(comment)
    return Block(
        line=(token.map or [0])[0] + 1,
        language=language,
        text=token.content,
        program="program" in words,
        trace="trace" in words,
        file=file,
        exit=int(code[1]) if code else 0,
        not_run=reason[1] if reason else None,
    )


def commands(given: Block) -> Iterator[Command]:
    """The command lines of a ``sh`` or ``console`` block."""
    if given.language == "sh":
        yield from (Command(text=line) for line in given.text.splitlines() if line.strip())
        return
    for part in re.split(r"^\$ ", given.text, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        yield Command(text=line, prints=printed)


def fits(printed: str, shown: str) -> bool:
    """Whether what was printed is what the page shows; ``…`` stands for anything."""
    expected = shown.replace("…", "...").rstrip() + "\n"
    got = printed.replace("…", "...").rstrip() + "\n"
    return doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS)


def targets() -> set[str]:
    """What ``make`` and ``python3 bootstrap.py`` can be told to do."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    bootstrap = (ROOT / "bootstrap.py").read_text(encoding="utf-8")
    named = re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE)
    return {f"make {name}" for name in named} | {
        f"python3 bootstrap.py {name}" for name in re.findall(r'case \["(\w+)"', bootstrap)
    }


def run_command(line: str, shell: Shell) -> subprocess.CompletedProcess[str]:
    """Run one command line; what sets up this very project is only looked up."""
    words = shlex.split(line, comments=True)
    if words[0] == "make" or words[:2] == ["python3", "bootstrap.py"]:
        wanted = " ".join(words[: 2 if words[0] == "make" else 3])
        assert wanted in targets(), f"{wanted!r} does not exist"
        return subprocess.CompletedProcess(words, 0, "", "")
    assert words[0] in RUNNABLE, f"{words[0]!r} is not among the programs that the documents may run"
    return shell("bash", "-c", line)


def run_commands(given: Block, shell: Shell) -> None:
    """Run all commands of a block; the last one ends with the expected code, all others with 0."""
    every = list(commands(given))
    assert every, "a block without a command"
    for command in every:
        done = run_command(command.text, shell)
        expected = given.exit if command is every[-1] else 0
        assert done.returncode == expected, f"$ {command.text}\n{done.stdout}{done.stderr}"
        if command.prints:
            assert fits(done.stdout, command.prints), f"$ {command.text}\n{done.stdout}{done.stderr}"


def run_python(given: Block, shell: Shell) -> None:
    """Run a script of the host, or a program of the guest."""
    command = ("fabric", "exec", "-") if given.program else (sys.executable, "-")
    done = shell(*command, given=given.text)
    assert done.returncode == given.exit, f"{done.stdout}{done.stderr}"


def run_block(given: Block, shell: Shell, workspace: Path) -> None:
    """Do with one block what its first line asks for."""
    if given.language == "json":
        value: Json = json.loads(given.text)
        if given.trace:
            read_trace(value)
    if given.language == "toml":
        tomllib.loads(given.text)
    if given.file is not None:
        path = workspace / given.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(given.text, encoding="utf-8")
    elif given.language in {"sh", "console"}:
        run_commands(given, shell)
    elif given.language == "python":
        run_python(given, shell)


@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_page_does_what_the_page_says(page: str, shell: Shell, workspace: Path) -> None:
    for given in blocks(tokens(page)):
        if given.not_run is None:
            try:
                run_block(given, shell, workspace)
            except (AssertionError, RecordError, ValueError) as error:
                error.add_note(f"in {page}, the block at line {given.line}")
                raise


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_known_kind(page: str) -> None:
    assert {given.language for given in blocks(tokens(page))} - LANGUAGES == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_file_of_a_page_is_used_by_a_later_command(page: str) -> None:
    read = list(blocks(tokens(page)))
    unused = [
        given.file
        for at, given in enumerate(read)
        if given.language == "python"
        and given.file is not None
        and not any(Path(given.file).stem in later.text for later in read[at + 1 :] if later.file is None)
    ]
    assert unused == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_inside_the_project_leads_somewhere(page: str) -> None:
    links = [
        str(child.attrGet("href"))
        for token in tokens(page)
        for child in token.children or ()
        if child.type == "link_open"
    ]
    local = [link.partition("#")[0] for link in links if "://" not in link]
    folder = (ROOT / page).parent
    assert [link for link in local if link and not (folder / link).exists()] == []


def test_a_console_block_gives_its_commands_with_their_output() -> None:
    given = Block(line=1, language="console", text="$ fabric tools\npi.read  …\n$ fabric doctor\n")
    assert list(commands(given)) == [
        Command(text="fabric tools", prints="pi.read  …\n"),
        Command(text="fabric doctor", prints=""),
    ]


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a 12 b\n", "a … b\n", True),
        ("a\nb\nc\n", "a\n…\nc\n", True),
        ("a\n", "b\n", False),
        ("a b\n", "a\n", False),
    ],
)
def test_what_a_page_shows_is_compared(printed: str, shown: str, *, same: bool) -> None:
    assert fits(printed, shown) is same


def test_marks_before_a_block_are_read() -> None:
    text = """\
<!-- exit: 3 -->
```sh
fabric x
```

<!-- not run: needs a network -->
```sh
ls
```

```sh
ls
```
"""
    read = list(blocks(MarkdownIt("commonmark").parse(text)))
    assert [(one.exit, one.not_run, one.line) for one in read] == [
        (3, None, 2),
        (0, "needs a network", 7),
        (0, None, 11),
    ]
