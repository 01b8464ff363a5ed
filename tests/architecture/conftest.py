"""The source and the tests as syntax trees, parsed once for all rules of this folder."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _trees(folder: Path) -> dict[str, ast.Module]:
    return {
        path.relative_to(folder).as_posix(): ast.parse(path.read_text(encoding="utf-8"), str(path))
        for path in sorted(folder.rglob("*.py"))
    }


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def sources() -> Mapping[str, ast.Module]:
    """Every module of the package by its path below ``src/toolfabric``."""
    return _trees(ROOT / "src" / "toolfabric")


@pytest.fixture(scope="session")
def suite() -> Mapping[str, ast.Module]:
    """Every test file by its path below ``tests``."""
    return _trees(ROOT / "tests")


@pytest.fixture(scope="session")
def exceptions() -> Mapping[str, Mapping[str, str]]:
    """The one list of exceptions: per rule, what may break it and why.

    An entry that is not needed any more fails the rule's test, so the list can only shrink.
    """
    listed: dict[str, dict[str, str]] = json.loads(
        (Path(__file__).parent / "exceptions.json").read_text(encoding="utf-8")
    )
    return listed
