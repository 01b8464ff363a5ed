"""The few doors to the world: printing, the environment, leaving the process."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

import pytest

PRINTS = frozenset(("cli/output.py",))
READS_ENVIRONMENT = frozenset(("config/load.py",))
LEAVES_PROCESS = ("cli/",)
USES_STREAMS = ("cli/",)


def prints(node: ast.AST) -> bool:
    """Whether the node calls ``print``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def reads_environment(node: ast.AST) -> bool:
    """Whether the node names the process's environment."""
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv" | "putenv"):
            return True
        case ast.ImportFrom(module="os", names=names):
            return any(alias.name in {"environ", "environb", "getenv", "putenv"} for alias in names)
        case _:
            return False


def leaves_process(node: ast.AST) -> bool:
    """Whether the node ends the process instead of raising an error."""
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr="_exit" | "abort" | "execv" | "execvp"):
            return True
        case ast.Attribute(value=ast.Name(id="sys"), attr="exit"):
            return True
        case ast.Raise(exc=ast.Name(id="SystemExit") | ast.Call(func=ast.Name(id="SystemExit"))):
            return True
        case _:
            return False


def uses_streams(node: ast.AST) -> bool:
    """Whether the node names one of the process's own streams."""
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="stdin" | "stdout" | "stderr"):
            return True
        case _:
            return False


def lines(tree: ast.Module, rule: Callable[[ast.AST], bool]) -> Iterator[int]:
    """The lines on which a rule applies."""
    for node in ast.walk(tree):
        if rule(node) and isinstance(node, ast.expr | ast.stmt):
            yield node.lineno


def breaking(
    sources: Mapping[str, ast.Module], rule: Callable[[ast.AST], bool], *allowed: str
) -> dict[str, list[int]]:
    """What breaks a rule outside the paths, or path prefixes, that may."""
    found = {
        path: sorted(lines(tree, rule)) for path, tree in sources.items() if not path.startswith(allowed)
    }
    return {path: at for path, at in found.items() if at}


def test_only_the_output_module_prints(sources: Mapping[str, ast.Module]) -> None:
    assert breaking(sources, prints, *PRINTS) == {}


def test_only_the_configuration_reads_the_environment(sources: Mapping[str, ast.Module]) -> None:
    assert breaking(sources, reads_environment, *READS_ENVIRONMENT) == {}


def test_only_the_command_line_ends_the_process(sources: Mapping[str, ast.Module]) -> None:
    assert breaking(sources, leaves_process, *LEAVES_PROCESS) == {}


def test_only_the_command_line_touches_the_standard_streams(sources: Mapping[str, ast.Module]) -> None:
    assert breaking(sources, uses_streams, *USES_STREAMS) == {}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("print('x')", prints),
        ("os.environ['HOME']", reads_environment),
        ("os.getenv('HOME')", reads_environment),
        ("from os import environ", reads_environment),
        ("sys.exit(1)", leaves_process),
        ("os._exit(1)", leaves_process),
        ("raise SystemExit(1)", leaves_process),
        ("sys.stderr.write('x')", uses_streams),
        ("raise SystemExit", leaves_process),
    ],
)
def test_a_planted_use_is_seen(line: str, rule: Callable[[ast.AST], bool]) -> None:
    assert list(breaking({"trace/seal.py": ast.parse(line)}, rule)) == ["trace/seal.py"]
    assert breaking({"cli/main.py": ast.parse(line)}, rule, "cli/") == {}
