"""The checks of the normal forms try what they say they try."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.entropy import derive_normal_form_plan
from toolfabric.entropy.certification import Check, Subject
from toolfabric.entropy.form_checks import FORM_CHECKS, forgeries
from toolfabric.entropy.probes import REF, SCHEMA
from toolfabric.values import JsonObject


def test_every_forgery_differs_from_the_plan_and_from_the_others() -> None:
    plan = derive_normal_form_plan(REF, SCHEMA)
    assert plan is not None
    form = plan.to_json()
    forged = list(forgeries(form))
    assert all(one != form for _name, one in forged)
    assert len({str(one) for _name, one in forged}) == len(forged)
    assert len({name for name, _one in forged}) == len(forged)
    assert len(forged) > 3 * len(plan.rules)


def test_a_plan_of_one_rule_has_no_forgery_that_is_itself() -> None:
    plan: JsonObject = {
        "version": 1,
        "ref": "a.b",
        "baseSchemaDigest": "1" * 64,
        "rules": [{"kind": "key-form", "key": "x"}],
    }
    assert all(one != plan for _name, one in forgeries(plan))


@pytest.mark.parametrize("check", FORM_CHECKS, ids=lambda check: check.name)
def test_a_check_yields_named_cases(tmp_path: Path, check: Check) -> None:
    cases = list(check.cases(Subject(), tmp_path))
    assert len({name for name, _held in cases}) == len(cases)
