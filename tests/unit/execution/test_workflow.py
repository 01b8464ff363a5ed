"""workflow.* as a program calls it."""

from __future__ import annotations

import pytest

from toolfabric.errors import ResolveError, ValidateError
from toolfabric.execution.records import Activity
from toolfabric.execution.workflow import WORKFLOW, read_workflow
from toolfabric.values import Json


def test_a_phase_opens_a_phase_and_shows_its_name() -> None:
    assert read_workflow("phase", {"name": "read"}) == ("read", Activity(kind="phase", text="read"))


@pytest.mark.parametrize("name", ["item", "event", "progress"])
def test_the_others_show_their_plain_values(name: str) -> None:
    phase, activity = read_workflow(name, {"label": "a", "done": 3, "nested": {"x": 1}, "flag": True})
    assert phase is None
    assert activity is not None
    assert (activity.kind, activity.text) == (name, "a 3")


@pytest.mark.parametrize("name", ["parallel", "pipeline"])
def test_guest_side_helpers_are_only_announced(name: str) -> None:
    assert read_workflow(name, {"count": 3}) == (None, None)


@pytest.mark.parametrize("value", [None, "", "  ", 3, ["x"]])
def test_a_phase_needs_a_name(value: Json) -> None:
    with pytest.raises(ValidateError, match="name must be a string"):
        read_workflow("phase", {"name": value})


def test_an_unknown_call_lists_what_there_is() -> None:
    with pytest.raises(ResolveError) as caught:
        read_workflow("faze", {})
    assert all(name in str(caught.value) for name in WORKFLOW)
