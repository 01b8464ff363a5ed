"""Checked programs are remembered by all that a check reads."""

from __future__ import annotations

from toolfabric.kernels.checked import CheckedPrograms
from toolfabric.protocols import FaultKind, ProgramFault

NOTE = ProgramFault(kind=FaultKind.TYPES, message="a note")


def test_only_the_very_same_program_and_stubs_count() -> None:
    checked = CheckedPrograms()
    checked.passed(("return 1", "stub", False), (NOTE,))
    assert checked.notes(("return 1", "stub", False)) == (NOTE,)
    for other in (("return 2", "stub", False), ("return 1", "other", False), ("return 1", "stub", True)):
        assert checked.notes(other) is None


def test_the_oldest_go_first_and_use_keeps_young() -> None:
    checked = CheckedPrograms()
    for number in range(128):
        checked.passed((str(number), "", False), ())
    assert checked.notes(("0", "", False)) == ()
    checked.passed(("new", "", False), ())
    assert checked.notes(("1", "", False)) is None
    assert checked.notes(("0", "", False)) == ()


def test_a_very_long_program_is_not_kept() -> None:
    checked = CheckedPrograms()
    checked.passed(("x" * 200_000, "", False), ())
    assert checked.notes(("x" * 200_000, "", False)) is None
