"""What import-linter does not see: the root package as a name, and imports inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import pytest

ROOT_NAMES = frozenset(("_version",))

LAZY_MODULES = frozenset(
    (
        "__init__.py",  # the public names load what is heavy on first use
        "entropy/__init__.py",  # the boundary needs the online half alone
        "providers/pi/provider.py",  # searching loads the pattern engine, when somebody searches
        "state/complexity.py",  # the parsers are an optional extra
        "entropy/live.py",  # compiling is the offline half
        "execution/results.py",  # answers are seldom spelled as YAML
    )
)
LAZY_PACKAGES = ("cli/", "kernels/")  # a command, or a sandbox, is loaded when it is run


def root_imports(tree: ast.Module) -> Iterator[int]:
    """Lines that import the root package itself, which would load its façade."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(alias.name == "toolfabric" for alias in names):
                yield node.lineno
            case ast.ImportFrom(module="toolfabric", names=names):
                if any(alias.name not in ROOT_NAMES for alias in names):
                    yield node.lineno
            case _:
                continue


def lazy_imports(tree: ast.Module) -> Iterator[int]:
    """Lines of a function that import something, by statement or through ``import_module``."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            match node:
                case ast.Import() | ast.ImportFrom():
                    yield node.lineno
                case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module")):
                    yield node.lineno
                case ast.Call(func=ast.Name(id="__import__")):
                    yield node.lineno
                case _:
                    continue


def may_be_lazy(path: str) -> bool:
    """Whether the visible list above names the module."""
    return path in LAZY_MODULES or path.startswith(LAZY_PACKAGES)


def test_no_module_imports_the_root_package(sources: Mapping[str, ast.Module]) -> None:
    found = {path: sorted(root_imports(tree)) for path, tree in sources.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_imports_inside_functions_stand_only_where_the_list_says(sources: Mapping[str, ast.Module]) -> None:
    found = {path: sorted(set(lazy_imports(tree))) for path, tree in sources.items()}
    assert {path: lines for path, lines in found.items() if lines and not may_be_lazy(path)} == {}


def test_every_module_of_the_list_has_a_lazy_import(sources: Mapping[str, ast.Module]) -> None:
    assert {path for path in LAZY_MODULES if not any(lazy_imports(sources[path]))} == set()


@pytest.mark.parametrize("line", ["import toolfabric", "from toolfabric import Fabric"])
def test_a_planted_root_import_is_seen(line: str) -> None:
    assert list(root_imports(ast.parse(f"def f():\n    {line}"))) == [2]


@pytest.mark.parametrize("line", ["import toolfabric.values", "from toolfabric._base import clock"])
def test_submodules_may_be_imported(line: str) -> None:
    assert list(root_imports(ast.parse(line))) == []


@pytest.mark.parametrize(
    "line",
    ["import json", "from json import loads", "import_module('json')", "importlib.import_module('json')"],
)
def test_a_planted_lazy_import_is_seen(line: str) -> None:
    assert list(lazy_imports(ast.parse(f"async def f():\n    if x:\n        {line}"))) == [3]
    assert list(lazy_imports(ast.parse(line))) == []
