"""Every module has its own test file, at the same place in ``tests/unit``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePosixPath

TOO_SMALL = 15


def working_lines(tree: ast.Module) -> int:
    """How many lines do something when a function is called.

    Docstrings, comments, blank lines and the ``...`` of a protocol do not; nor do declarations, which
    have nothing to test by themselves.
    """
    lines: set[int] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.stmt):
                end = node.lineno if hasattr(node, "body") else node.end_lineno or node.lineno
                lines.update(range(node.lineno, end + 1))
    return len(lines)


def twin(path: str) -> str:
    """Where the test file of a module stands, below ``tests``."""
    module = PurePosixPath(path)
    return str(PurePosixPath("unit") / module.parent / f"test_{module.stem.lstrip('_')}.py")


def wants_twin(path: str, tree: ast.Module) -> bool:
    """Whether a module does enough to be tested by itself."""
    return PurePosixPath(path).stem != "__init__" and working_lines(tree) > TOO_SMALL


def test_every_module_has_its_test_file(
    sources: Mapping[str, ast.Module],
    suite: Mapping[str, ast.Module],
    exceptions: Mapping[str, Mapping[str, str]],
) -> None:
    missing = {path for path, tree in sources.items() if wants_twin(path, tree) and twin(path) not in suite}
    assert missing == set(exceptions["twins"])


def test_every_unit_test_file_has_its_module(
    sources: Mapping[str, ast.Module], suite: Mapping[str, ast.Module]
) -> None:
    twins = {twin(path) for path in sources}
    orphans = {
        path
        for path in suite
        if path.startswith("unit/") and PurePosixPath(path).name.startswith("test_") and path not in twins
    }
    assert orphans == set()


def test_only_what_runs_counts() -> None:
    source = '''"""Text."""
import json
X = (
    1,
)
class P:
    field: int = 1
    def method(self) -> int: ...
def f(given):
    """Text.

    More."""

    # why
    if given:
        return json.dumps(
            X
        )
    return X
'''
    assert working_lines(ast.parse(source)) == 5


def test_a_private_module_has_a_twin_without_the_underscore() -> None:
    assert twin("_base/canonical.py") == "unit/_base/test_canonical.py"
    assert twin("__main__.py") == "unit/test_main__.py"
