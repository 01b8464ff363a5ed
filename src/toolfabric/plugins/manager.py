"""Providers that other distributions ship, found through the entry-point group ``toolfabric.providers``.

An entry names a provider, or something without arguments that makes one. A distribution that cannot be
imported, or whose entry is no provider, is a problem to be told; it never takes the host down.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final, Protocol, cast

from toolfabric._base.text import one_line
from toolfabric.protocols import Provider

__all__ = ["GROUP", "EntryPoint", "LoadedProviders", "PluginProblem", "load_providers"]

GROUP: Final = "toolfabric.providers"


class EntryPoint(Protocol):
    """As much of ``importlib.metadata.EntryPoint`` as is needed."""

    @property
    def name(self) -> str:
        """The name within the group."""
        ...

    @property
    def value(self) -> str:
        """Where the object is: ``module:attribute``."""
        ...

    def load(self) -> Any:
        """Import it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginProblem:
    """Why an entry gave no provider."""

    entry: str
    reason: str

    def __str__(self) -> str:
        return f"the installed provider {self.entry} cannot be used: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProviders:
    """What was found, in the order of the entries' names."""

    providers: tuple[Provider, ...]
    problems: tuple[PluginProblem, ...]


def load_providers(entries: Iterable[EntryPoint] | None = None) -> LoadedProviders:
    """Load every entry of the group; those given, or those of all installed distributions."""
    found = metadata.entry_points(group=GROUP) if entries is None else entries
    providers: list[Provider] = []
    problems: list[PluginProblem] = []
    for entry in sorted(found, key=lambda one: (one.name, one.value)):
        loaded = _load(entry)
        if isinstance(loaded, PluginProblem):
            problems.append(loaded)
        else:
            providers.append(loaded)
    return LoadedProviders(providers=tuple(providers), problems=tuple(problems))


def _load(entry: EntryPoint) -> Provider | PluginProblem:
    label = one_line(f"{entry.name} ({entry.value})")
    try:
        target = entry.load()
        made = target if not isinstance(target, type) and _is_provider(target) else target()
        complete = _is_provider(made)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- the edge to foreign code, run on import
        return PluginProblem(entry=label, reason=one_line(f"{type(error).__name__}: {error}"))
    if not complete:
        kind = one_line(type(made).__name__)
        return PluginProblem(entry=label, reason=f"it gave {kind}, which is not a provider")
    return cast("Provider", made)


def _is_provider(value: object) -> bool:
    return isinstance(value, Provider)
