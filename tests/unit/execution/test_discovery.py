"""tools.* as a program asks it."""

from __future__ import annotations

import pytest

from toolfabric._base.clock import SystemClock
from toolfabric.errors import ResolveError, ValidateError
from toolfabric.execution.discovery import DISCOVERY, answer_discovery
from toolfabric.registry.registry import Registry
from toolfabric.values import Json, JsonObject

from .conftest import Numbers

pytestmark = pytest.mark.anyio
BRIEF: JsonObject = {"ref": "numbers.same", "description": "The number itself.", "risk": ["read"]}


@pytest.fixture
async def registry(numbers: Numbers) -> Registry:
    made = Registry(clock=SystemClock())
    await made.mount(numbers)
    return made


async def test_every_question_has_its_answer(registry: Registry, numbers: Numbers) -> None:
    answers: dict[str, tuple[JsonObject, Json]] = {
        "providers": ({}, [{"name": "numbers", "description": "Gives back numbers.", "actions": 1}]),
        "search": ({"query": "number"}, [BRIEF]),
        "describe": ({"name": "same"}, {**BRIEF, "inputSchema": numbers.spec.input_schema}),
        "list": ({"provider": "numbers"}, [BRIEF]),
        "catalog": ({}, {"numbers": ["same"]}),
    }
    assert answers.keys() == DISCOVERY.keys()
    for name, (args, expected) in answers.items():
        assert answer_discovery(registry, name, args) == expected


@pytest.mark.parametrize(
    ("name", "args", "kind"),
    [
        ("serch", {}, ResolveError),
        ("search", {}, ValidateError),
        ("search", {"query": 3}, ValidateError),
        ("search", {"query": "x", "limit": 0}, ValidateError),
        ("search", {"query": "x", "limit": True}, ValidateError),
        ("describe", {"name": "nothing"}, ResolveError),
        ("list", {"provider": "nobody"}, ResolveError),
        ("list", {"provider": 3}, ValidateError),
    ],
)
async def test_a_question_that_does_not_fit_is_refused(
    registry: Registry, name: str, args: JsonObject, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match=r"tools\.|nothing"):
        answer_discovery(registry, name, args)
