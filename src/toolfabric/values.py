"""The values that cross layers: names, closed choices and the action descriptor.

Knows nothing above it. Everything here is immutable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

__all__ = [
    "NESTED_TOOL_CALL_ID_PREFIX",
    "ActionSpec",
    "Json",
    "JsonObject",
    "Origin",
    "Outcome",
    "Risk",
    "Stage",
]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"

NESTED_TOOL_CALL_ID_PREFIX: Final = "fabric_"
"""Every call that a program makes has an id beginning so (seed: schema enforcement, Modes)."""


class Risk(StrEnum):
    """What a call may touch; approvals are decided per risk."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    AGENT = "agent"


class Stage(StrEnum):
    """Where a failed call failed; the wire spelling of ``failureStage``."""

    RESOLVE = "resolve"
    GUARD = "guard"
    PREPARE = "prepare"
    VALIDATE = "validate"
    APPROVE = "approve"
    INVOKE = "invoke"


class Outcome(StrEnum):
    """How a call, or a whole execution, ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABORTED = "aborted"
    TIMED_OUT = "timed_out"


class Origin(StrEnum):
    """Who mounted a provider. Only ``HOST`` bindings can be allowed by an exact-reference policy."""

    HOST = "host"
    CONFIGURED = "configured"
    THIRD_PARTY = "third_party"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """One action as its provider declares it.

    ``risk`` takes one risk or several; a call needs the approval of each. ``effect`` is one short
    sentence on what running the action changes, shown when approval is asked. ``namespace`` groups
    actions in listings. Schemas are JSON Schema and are checked when the provider is mounted.
    """

    name: str
    description: str
    input_schema: JsonObject
    risk: Risk | str | Iterable[Risk | str]
    output_schema: JsonObject | None = None
    namespace: str | None = None
    effect: str | None = None
    risks: tuple[Risk, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Bring ``risk`` into one form.

        Raises:
            ValueError: A risk is not one of the five, or none was given.
        """
        given = (self.risk,) if isinstance(self.risk, str) else tuple(self.risk)
        risks = tuple(sorted({Risk(one) for one in given}, key=list(Risk).index))
        if not risks:
            msg = f"action {self.name!r} declares no risk; use one of {', '.join(Risk)}"
            raise ValueError(msg)
        object.__setattr__(self, "risks", risks)
