"""Tests name the requirements that they show; what is declared finished must be shown whole.

``ids.json`` holds the ids with their kind and area of work, and no text. ``finished.json`` lists the
areas of which nothing may be missing. Run as a program, this file prints what no test names yet.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DESIGN = ROOT.parent / "shared" / "design" / "requirements.json"
GUARANTEES = ROOT / "docs" / "guarantees.md"
LIMIT = "limit of guarantee"


def read(path: Path) -> Any:
    """One JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def requirements() -> dict[str, dict[str, str]]:
    """Every id with its kind and area of work, in the order of the list."""
    rows: list[dict[str, str]] = read(HERE / "ids.json")
    return {row["id"]: row for row in rows}


def literals(given: ast.expr) -> list[object]:
    """The values of an argument, also of ``*(...)``; ``None`` where it is not literal."""
    match given:
        case ast.Constant(value=value):
            return [value]
        case ast.Starred(value=ast.Tuple(elts=parts) | ast.List(elts=parts)):
            return [value for part in parts for value in literals(part)]
        case _:
            return [None]


def marks(tree: ast.Module) -> Iterator[tuple[int, object]]:
    """Line and argument of every ``pytest.mark.requirement(...)``; ``None`` for what is not literal."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="requirement")):
                for given in node.args:
                    yield from ((node.lineno, value) for value in literals(given))
            case _:
                continue


def named() -> dict[object, list[str]]:
    """Every id that a test names, with the places."""
    places: dict[object, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for line, given in marks(ast.parse(path.read_text(encoding="utf-8"))):
            places.setdefault(given, []).append(f"{path.relative_to(ROOT).as_posix()}:{line}")
    return places


def stated() -> set[str]:
    """Every id that ``docs/guarantees.md`` names."""
    text = GUARANTEES.read_text(encoding="utf-8") if GUARANTEES.exists() else ""
    return set(re.findall(r"\b(?:ENT|SCH)-\d{3}\b", text))


def unshown(
    rows: dict[str, dict[str, str]], tested: set[object], documented: set[str]
) -> dict[str, list[str]]:
    """Per area of work, the ids that neither a test nor, for a limit, the documentation shows."""
    missing: dict[str, list[str]] = {}
    for name, row in rows.items():
        shown = name in tested or (row["kind"] == LIMIT and name in documented)
        if not shown:
            missing.setdefault(row["work"], []).append(name)
    return missing


def test_the_ids_are_those_of_the_design() -> None:
    if not DESIGN.exists():
        pytest.skip("the design is not beside this checkout")
    rows: list[dict[str, str]] = read(DESIGN)
    assert list(requirements().values()) == [
        {"id": row["id"], "kind": row["kind"], "work": row["work"]} for row in rows
    ]


def test_no_id_stands_twice() -> None:
    rows: list[dict[str, str]] = read(HERE / "ids.json")
    assert len(rows) == len({row["id"] for row in rows})


def test_tests_name_known_ids_only() -> None:
    known = requirements()
    assert {name: places for name, places in named().items() if name not in known} == {}


def test_the_documents_name_known_ids_only() -> None:
    assert stated() - set(requirements()) == set()


def test_finished_areas_of_work_exist() -> None:
    finished: list[str] = read(HERE / "finished.json")
    assert set(finished) - {row["work"] for row in requirements().values()} == set()


def test_nothing_is_missing_from_what_is_finished() -> None:
    finished: list[str] = read(HERE / "finished.json")
    missing = unshown(requirements(), set(named()), stated())
    assert {work: names for work, names in missing.items() if work in finished} == {}


def test_a_limit_may_be_shown_by_the_documents_and_nothing_else_may() -> None:
    rows = {
        "ENT-001": {"id": "ENT-001", "kind": "promise", "work": "a"},
        "ENT-002": {"id": "ENT-002", "kind": LIMIT, "work": "a"},
        "ENT-003": {"id": "ENT-003", "kind": "bound", "work": "b"},
    }
    assert unshown(rows, {"ENT-003"}, {"ENT-001", "ENT-002"}) == {"a": ["ENT-001"]}


def test_a_mark_is_found_wherever_it_stands() -> None:
    source = """
@pytest.mark.requirement("A", "B")
def f(): pass
pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C")]
pytest.param(1, marks=pytest.mark.requirement("D"))
pytest.mark.requirement(computed)
pytest.mark.requirement(*("E", other))
"""
    assert sorted(marks(ast.parse(source)), key=str) == [
        (2, "A"),
        (2, "B"),
        (4, "C"),
        (5, "D"),
        (6, None),
        (7, "E"),
        (7, None),
    ]


def report(rows: dict[str, dict[str, str]], missing: dict[str, Sequence[str]]) -> str:
    """What is missing per area of work, for a reader."""
    lines: list[str] = []
    for work in dict.fromkeys(row["work"] for row in rows.values()):
        total = sum(row["work"] == work for row in rows.values())
        gone = missing.get(work, [])
        lines.append(f"{work}: {total - len(gone)} of {total} shown")
        lines.extend(f"  {name} ({rows[name]['kind']})" for name in gone)
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(report(requirements(), dict(unshown(requirements(), set(named()), stated()))) + "\n")
