"""The order of a call's steps is a promise; changing it is a choice that this file records.

``guard`` stands before ``prepare``, so that a call that may not be made never reaches a provider's code.
"""

from __future__ import annotations

import pytest

from toolfabric.errors import CallError
from toolfabric.pipeline.run import STEPS
from toolfabric.values import Stage

ORDER = ["resolve", "guard", "repair", "prepare", "normalize", "validate", "approve", "invoke"]
NEVER_FAIL = {"repair", "normalize"}


def test_a_call_takes_the_eight_steps_in_this_order() -> None:
    assert [step.__name__ for step in STEPS] == ORDER


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_step_lives_in_a_module_of_its_own_name(step: object) -> None:
    name: str = getattr(step, "__name__", "")
    assert getattr(step, "__module__", "") == f"toolfabric.pipeline.{name}"


def test_every_step_that_can_fail_is_a_stage_with_an_error_of_its_own() -> None:
    stages = [stage.value for stage in Stage]
    assert stages == [name for name in ORDER if name not in NEVER_FAIL]
    assert sorted(kind.stage.value for kind in CallError.__subclasses__()) == sorted(stages)
