"""A provider whose list the test decides, and a registry on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn

import pytest

from toolfabric.protocols import CallContext
from toolfabric.registry.registry import Registry
from toolfabric.values import ActionSpec, Json, JsonObject


class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now(self) -> datetime:
        raise AssertionError("nothing here may ask for the wall clock")

    def monotonic(self) -> float:
        return self.seconds


def spec(name: str, schema: JsonObject | None = None, **more: Any) -> ActionSpec:
    """An action that reads."""
    fields: dict[str, Any] = {"description": f"Does {name}.", "risk": "read", **more}
    return ActionSpec(name=name, input_schema={"type": "object"} if schema is None else schema, **fields)


class Listed:
    """Lists what it is given, and counts how often it is closed."""

    description = "For tests."

    def __init__(self, *listed: Any, name: str = "demo") -> None:
        self.name = name
        self.listed: Any = list(listed)
        self.closed = 0

    def list(self) -> Any:
        return self.listed

    def describe(self, name: str) -> None:
        return None

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        return None

    def close(self) -> Any:
        self.closed += 1


class Announcing(Listed):
    """Says when its list changed."""

    def __init__(self, *listed: Any, name: str = "demo") -> None:
        super().__init__(*listed, name=name)
        self.listeners: list[Callable[[], None]] = []

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(changed)
        return self.listeners.clear

    def announce(self) -> None:
        for changed in self.listeners:
            changed()


def fail(*_args: object) -> NoReturn:
    """Raise what a careless provider raises."""
    raise RuntimeError("broken\x1b[31m")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def registry(clock: ManualClock) -> Registry:
    return Registry(clock=clock)
