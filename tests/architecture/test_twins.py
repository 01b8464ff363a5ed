"""Every module has its own test file, at the same place in ``tests/unit``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePosixPath

TOO_SMALL = 30


def code_lines(tree: ast.Module) -> int:
    """How many lines hold code: docstrings, comments and blank lines do not count."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.stmt):
            lines.add(node.lineno)
            if not hasattr(node, "body"):
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def twin(path: str) -> str:
    """Where the test file of a module stands, below ``tests``."""
    module = PurePosixPath(path)
    return str(PurePosixPath("unit") / module.parent / f"test_{module.stem.lstrip('_')}.py")


def wants_twin(path: str, tree: ast.Module) -> bool:
    """Whether a module is large enough, and not a mere list of names."""
    return PurePosixPath(path).stem != "__init__" and code_lines(tree) > TOO_SMALL


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


def test_only_code_counts() -> None:
    source = '"""Text.\n\nMore.\n"""\n# why\nX = (\n    1,\n)\n\n\ndef f():\n    """Text."""\n    return X\n'
    assert code_lines(ast.parse(source)) == 5


def test_a_private_module_has_a_twin_without_the_underscore() -> None:
    assert twin("_base/canonical.py") == "unit/_base/test_canonical.py"
    assert twin("__main__.py") == "unit/test_main__.py"
