"""The text of a failure."""

from __future__ import annotations

import pytest

from toolfabric.execution.failures import describe_failure, describe_fault
from toolfabric.protocols import FaultKind, KernelOutcome, Limits, ProgramFault
from toolfabric.values import Outcome


def test_a_failure_names_reason_line_hint_and_completed_calls() -> None:
    fault = ProgramFault(kind=FaultKind.RAISED, message="ValueError: no", line=3, column=5, hint="try yes")
    ended = KernelOutcome(outcome=Outcome.FAILED, faults=(fault,))
    assert describe_failure(ended, ["pi.read", "pi.write", "pi.read"], Limits()) == (
        "The program raised at line 3, column 5: ValueError: no\n"
        "  hint: try yes\n"
        "Calls that had completed: pi.read (2 times), pi.write."
    )


def test_a_time_out_names_the_limit_and_its_setting() -> None:
    fault = ProgramFault(kind=FaultKind.TIME, message="too slow")
    ended = KernelOutcome(outcome=Outcome.TIMED_OUT, faults=(fault,))
    text = describe_failure(ended, [], Limits(timeout_ms=1_500))
    assert "1.5 seconds (executor.timeoutMs)" in text
    assert text.endswith("No call had completed.")


@pytest.mark.parametrize("kind", list(FaultKind))
def test_every_kind_of_fault_has_a_sentence(kind: FaultKind) -> None:
    assert describe_fault(ProgramFault(kind=kind, message="m")).endswith(": m")


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ABORTED, Outcome.TIMED_OUT])
def test_an_outcome_without_a_fault_still_says_something(outcome: Outcome) -> None:
    assert describe_failure(KernelOutcome(outcome=outcome), [], Limits()).startswith("The program ")


def test_many_actions_are_counted_rather_than_listed() -> None:
    ended = KernelOutcome(outcome=Outcome.FAILED)
    text = describe_failure(ended, [f"x.a{number}" for number in range(30)], Limits())
    assert text.endswith("and 10 other actions.")
