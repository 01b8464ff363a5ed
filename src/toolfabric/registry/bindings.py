"""What a provider's actions are at one moment: frozen, so that a call keeps what it was resolved to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolfabric._base.validation import Validator
from toolfabric.protocols import Provider
from toolfabric.values import ActionSpec, Origin

__all__ = ["Action", "Binding"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Action:
    """One action that can be called.

    ``spec`` is the registry's own copy of the descriptor. ``digest`` is over the ref and the whole
    descriptor: it changes when anything that a person may have approved changes.
    """

    ref: str
    spec: ActionSpec
    binding: Binding = field(repr=False)
    validator: Validator = field(repr=False)
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binding:
    """One version of a mounted provider. ``generation`` is the registry's when it came to be."""

    name: str
    description: str
    provider: Provider = field(repr=False)
    origin: Origin
    generation: int
    actions: Mapping[str, Action] = field(repr=False)
