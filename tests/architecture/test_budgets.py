"""Files and functions stay small enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 60


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Each function's dotted name and its length in lines, decorators left out."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}{child.name}"
                yield name, (child.end_lineno or child.lineno) - child.lineno + 1
                yield from walk(child, f"{name}.")
            elif isinstance(child, ast.ClassDef):
                yield from walk(child, f"{prefix}{child.name}.")
            else:
                yield from walk(child, prefix)

    return walk(tree, "")


def test_no_source_file_is_longer_than_its_budget(
    root: Path, sources: Mapping[str, ast.Module], exceptions: Mapping[str, Mapping[str, str]]
) -> None:
    lengths = {
        path: len((root / "src/toolfabric" / path).read_text(encoding="utf-8").splitlines())
        for path in sources
    }
    too_long = {path for path, lines in lengths.items() if lines > FILE_LINES}
    assert too_long == set(exceptions["file lines"])


def test_no_function_is_longer_than_its_budget(
    sources: Mapping[str, ast.Module], exceptions: Mapping[str, Mapping[str, str]]
) -> None:
    too_long = {
        f"{path}:{name}"
        for path, tree in sources.items()
        for name, lines in functions(tree)
        if lines > FUNCTION_LINES
    }
    assert too_long == set(exceptions["function lines"])


def test_a_long_function_is_measured_wherever_it_hides() -> None:
    body = "\n".join(["        x = 1"] * 70)
    source = f"if True:\n  class A:\n    async def outer(self):\n      def inner():\n{body}\n"
    assert dict(functions(ast.parse(source))) == {"A.outer": 72, "A.outer.inner": 71}
