"""The checks of the measure try what they say they try."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.entropy.certification import Check, Subject
from toolfabric.entropy.measure_checks import MEASURE_CHECKS


@pytest.mark.parametrize("check", MEASURE_CHECKS, ids=lambda check: check.name)
def test_a_check_yields_named_cases_that_hold(tmp_path: Path, check: Check) -> None:
    cases = list(check.cases(Subject(), tmp_path))
    assert [name for name, held in cases if not held] == []
    assert len({name for name, _held in cases}) == len(cases) >= 4
