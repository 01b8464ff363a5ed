"""The checks of compiling, storing, merging and trying do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.entropy.artifact_checks import ARTIFACT_CHECKS
from toolfabric.entropy.certification import Check, Subject


@pytest.mark.parametrize("check", ARTIFACT_CHECKS, ids=lambda check: check.name)
def test_a_check_yields_named_cases_that_hold(tmp_path: Path, check: Check) -> None:
    cases = list(check.cases(Subject(), tmp_path))
    assert [name for name, held in cases if not held] == []
    assert len({name for name, _held in cases}) == len(cases) >= 4


def test_the_check_of_the_store_writes_into_its_folder_alone(tmp_path: Path) -> None:
    store = next(check for check in ARTIFACT_CHECKS if check.name == "store-round-trips")
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    assert list(store.cases(Subject(), inside))
    assert any(inside.rglob("compiled.json"))
    assert list(outside.iterdir()) == []
