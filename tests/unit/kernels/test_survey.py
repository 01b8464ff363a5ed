"""What is said of a program before it runs."""

from __future__ import annotations

import pytest

from toolfabric.kernels.names import name_tree
from toolfabric.kernels.survey import survey
from toolfabric.protocols import ActionDeclaration, FaultKind

NAMES = name_tree([ActionDeclaration(ref="pi.read", description="", input_schema={})])


def test_all_unsupported_constructs_are_told_at_once_with_their_places() -> None:
    found = survey("class A(B):\n    pass\n\nx = {}\ndel x\ndef f():\n    yield 1\n", NAMES)
    assert found is not None
    assert [(one.kind, one.line) for one in found.faults] == [
        (FaultKind.SYNTAX, 1),
        (FaultKind.SYNTAX, 5),
        (FaultKind.SYNTAX, 7),
    ]
    assert all(one.hint and one.hint.startswith("write ") for one in found.faults)


@pytest.mark.parametrize(
    ("code", "blocks"),
    [
        ("import subprocess", True),
        ("try:\n    import subprocess\nexcept ImportError:\n    pass", False),
        ("def f():\n    import subprocess", False),
        ("import json, re, math", False),
        ("x = callable(1)", True),
        ("def callable(x):\n    return 1\nx = callable(1)", False),
    ],
)
def test_what_is_missing_blocks_only_where_it_cannot_be_helped(code: str, blocks: bool) -> None:  # noqa: FBT001
    found = survey(code, NAMES)
    assert found is not None
    assert bool(found.faults) is blocks


def test_an_unknown_action_is_a_remark_with_the_nearest_name() -> None:
    found = survey('await pi.raed(path="x")', NAMES)
    assert found is not None
    assert (found.faults, [one.hint for one in found.notes]) == ([], ["did you mean pi.read?"])


def test_a_call_that_is_never_awaited_is_a_remark() -> None:
    found = survey('pi.read(path="x")', NAMES)
    assert found is not None
    assert "never awaited" in found.notes[0].message


def test_columns_count_characters() -> None:
    found = survey('x = "é𝄞"; del x', NAMES)
    assert found is not None
    assert (found.faults[0].line, found.faults[0].column) == (1, 11)


def test_what_cannot_be_parsed_is_left_to_the_sandbox() -> None:
    assert survey("x = (", NAMES) is None
    assert survey("x = 1\n" * 100_000, NAMES) is None
