"""Count the decision points of source files, with a real parser for each language.

Counted are: ``if`` (``elif`` too), loops and the clauses of comprehensions, ``catch`` and ``except``, each
``case`` but one that takes everything, conditional expressions, and the operators that may skip their right
side: ``and or`` in Python; ``&& || ??`` and their assigning forms in JavaScript and TypeScript. Not counted
are ``else``, ``default``, ``finally``, ``assert``, optional chaining, and anything of types.

The parsers are the optional extra ``complexity``. A file that does not parse cleanly is counted all the same
and marked: the parser goes on after what it does not understand.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from toolfabric._base.camel import Record
from toolfabric.durable.confine import Confined
from toolfabric.durable.pathnames import shown
from toolfabric.errors import PathError, StateError

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

__all__ = ["MAX_SOURCE_BYTES", "FileComplexity", "count_decisions", "measure_files"]

MAX_SOURCE_BYTES: Final = 2 * 1024 * 1024

_PYTHON: Final = """
[(if_statement) (elif_clause) (if_clause)] @if
[(for_statement) (while_statement) (for_in_clause)] @loop
(except_clause) @catch
(case_clause) @case
(conditional_expression) @conditional
(boolean_operator) @logic
"""
_SCRIPT: Final = """
(if_statement) @if
[(for_statement) (for_in_statement) (while_statement) (do_statement)] @loop
(catch_clause) @catch
(switch_case) @case
(ternary_expression) @conditional
(binary_expression operator: ["&&" "||" "??"]) @logic
(augmented_assignment_expression operator: ["&&=" "||=" "??="]) @logic
"""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A language: its name for people, the module and function of its grammar, its query."""

    name: str
    module: str
    function: str
    query: str


_PY: Final = _Kind("python", "tree_sitter_python", "language", _PYTHON)
_JS: Final = _Kind("javascript", "tree_sitter_javascript", "language", _SCRIPT)
_TS: Final = _Kind("typescript", "tree_sitter_typescript", "language_typescript", _SCRIPT)
_TSX: Final = _Kind("typescript", "tree_sitter_typescript", "language_tsx", _SCRIPT)
_BY_SUFFIX: Final = {
    ".py": _PY,
    ".pyi": _PY,
    ".js": _JS,
    ".cjs": _JS,
    ".jsx": _JS,
    ".mjs": _JS,
    ".ts": _TS,
    ".cts": _TS,
    ".mts": _TS,
    ".tsx": _TSX,
}


class FileComplexity(Record, frozen=True, kw_only=True):
    """The decision points of one file, and the digest of the bytes that were counted.

    ``clean`` is false when the parser found something it does not understand.
    """

    path: str
    language: str
    decisions: Annotated[int, Meta(ge=0)]
    by_kind: dict[str, int]
    clean: bool
    sha256: str


def measure_files(workspace: Path, paths: Sequence[str]) -> tuple[FileComplexity, ...]:
    """Count the decision points of files of a workspace, in the order given.

    Raises:
        StateError: A file cannot be read or is of no language that is counted, or the parsers are missing.
    """
    try:
        with Confined(workspace) as confined:
            return tuple(_measure(confined, path) for path in paths)
    except (OSError, PathError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        msg = f"could not count decision points: {reason}"
        raise StateError(msg) from error


def count_decisions(source: bytes, suffix: str) -> tuple[Counter[str], bool]:
    """Count the decision points of a text by kind; whether it parsed cleanly.

    ``suffix`` is that of a file name, and names the language.

    Raises:
        StateError: No such language is counted, or its parser is missing.
    """
    captures, clean = _captured(_kind_of(suffix), source)
    counts = Counter({name: len(nodes) for name, nodes in captures.items()})
    counts["case"] -= sum(_takes_everything(node) for node in captures.get("case", []))
    return +counts, clean


def _measure(confined: Confined, path: str) -> FileComplexity:
    kind = _kind_of(PurePosixPath(path).suffix)
    source = _read(confined, path)
    counts, clean = count_decisions(source, PurePosixPath(path).suffix)
    return FileComplexity(
        path=path,
        language=kind.name,
        decisions=counts.total(),
        by_kind=dict(sorted(counts.items())),
        clean=clean,
        sha256=hashlib.sha256(source).hexdigest(),
    )


def _read(confined: Confined, path: str) -> bytes:
    try:
        with confined.place(path) as place, os.fdopen(place.open_file(), "rb") as file:
            source = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        msg = f"could not count decision points of '{shown(path)}': {error.strerror}"
        raise StateError(msg) from error
    if len(source) > MAX_SOURCE_BYTES:
        msg = f"'{shown(path)}' is larger than the {MAX_SOURCE_BYTES} bytes that are counted at most"
        raise StateError(msg)
    return source


def _kind_of(suffix: str) -> _Kind:
    kind = _BY_SUFFIX.get(suffix.lower())
    if kind is None:
        known = " ".join(_BY_SUFFIX)
        msg = f"decision points are counted in {known} files, and not in '{shown(suffix, 40)}' ones"
        raise StateError(msg)
    return kind


def _captured(kind: _Kind, source: bytes) -> tuple[dict[str, list[Node]], bool]:
    """Parse a text and pick its decision points; whether it parsed cleanly."""
    try:
        from tree_sitter import Parser, QueryCursor

        language, query = _loaded(kind)
    except ModuleNotFoundError as error:
        msg = (
            "counting decision points needs parsers; install them with: pip install 'toolfabric[complexity]'"
        )
        raise StateError(msg) from error
    root = Parser(language).parse(source).root_node
    return QueryCursor(query).captures(root), not root.has_error


@cache
def _loaded(kind: _Kind) -> tuple[Language, Query]:
    from importlib import import_module

    from tree_sitter import Language, Query

    grammar: object = getattr(import_module(kind.module), kind.function)()
    language = Language(grammar)
    return language, Query(language, kind.query)


def _takes_everything(case: Node) -> bool:
    """Whether it is Python's ``case _:``, which decides nothing."""
    patterns = [child for child in case.named_children if child.type == "case_pattern"]
    return len(patterns) == 1 and patterns[0].text == b"_" and case.child_by_field_name("guard") is None
