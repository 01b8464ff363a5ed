"""Providers for registry tests, made from plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolfabric import ActionSpec
from toolfabric._base.clock import SystemClock
from toolfabric.protocols import CallContext
from toolfabric.registry.registry import Registry
from toolfabric.values import Json, JsonObject

SCHEMA: JsonObject = {"type": "object", "properties": {"x": {"type": "string"}}}


def action(name: str, description: str = "Does it.", **more: Any) -> ActionSpec:
    return ActionSpec(
        name=name, description=description, input_schema=SCHEMA, risk=more.pop("risk", "read"), **more
    )


class Made:
    """A provider with the actions it is given."""

    def __init__(self, name: str, *actions: Any, description: str = "Made for a test.") -> None:
        self.name = name
        self.description = description
        self.actions: Any = list(actions)
        self.closed = 0
        self.changed: Callable[[], None] = lambda: None

    def list(self) -> Any:
        return self.actions

    def describe(self, name: str) -> ActionSpec | None:
        return next((one for one in self.actions if one.name == name), None)

    def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        return None

    def close(self) -> None:
        self.closed += 1


class Announcing(Made):
    """A provider that says when its list changed."""

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        self.changed = changed
        return lambda: None


@pytest.fixture
def registry() -> Registry:
    return Registry(clock=SystemClock(), list_seconds=0.2)
