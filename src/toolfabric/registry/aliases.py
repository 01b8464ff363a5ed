"""Authored aliases: names that a host has declared to mean a canonical one (design: repair rows).

An alias is a fact about names, so it is used only while the live names leave it one meaning. Nothing is
learned here: observation authorizes no new row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from toolfabric.registry.refs import split_ref
from toolfabric.values import Json, JsonObject

__all__ = ["AliasRow", "AliasTable"]


class AliasRow(Protocol):
    """One row, of whatever class. ``ref`` is the canonical target; an action alias's ``to`` repeats it."""

    @property
    def kind(self) -> str:
        """``keyAlias`` or ``actionAlias``."""
        ...

    @property
    def ref(self) -> str:
        """The canonical ref that the row is about."""
        ...

    @property
    def from_(self) -> str:
        """The name that a call may say instead."""
        ...

    @property
    def to(self) -> str:
        """The declared name."""
        ...


class AliasTable:
    """All rows of one catalog, looked up by what a call says."""

    __slots__ = ("_actions", "_keys")

    def __init__(self, rows: Iterable[AliasRow] = ()) -> None:
        self._keys: dict[str, dict[str, set[str]]] = {}
        self._actions: dict[str, set[str]] = {}
        for row in rows:
            self._add(row)

    def action(self, ref: str) -> str | None:
        """The one canonical ref that an alias stands for; ``None`` if there is none, or more than one."""
        targets = self._actions.get(ref, set())
        return next(iter(targets)) if len(targets) == 1 else None

    def keys(self, ref: str, schema: JsonObject, args: Mapping[str, Json]) -> dict[str, str]:
        """Which argument keys to rename, as ``{source: target}``, for exactly these arguments.

        A row counts only while it is the one meaning: its target is declared, its source is not, the
        target is not there, and no other alias that is there wants the same target.
        """
        known = self._keys.get(ref)
        declared = schema.get("properties")
        if known is None or not isinstance(declared, dict) or "patternProperties" in schema:
            return {}
        wanted = {
            source: next(iter(targets))
            for source, targets in known.items()
            if source in args and source not in declared and len(targets) == 1
        }
        claims = list(wanted.values())
        return {
            source: target
            for source, target in wanted.items()
            if target in declared and target not in args and claims.count(target) == 1
        }

    def _add(self, row: AliasRow) -> None:
        if row.kind == "keyAlias":
            self._keys.setdefault(row.ref, {}).setdefault(row.from_, set()).add(row.to)
            return
        target = split_ref(row.ref)
        if target is None or row.to not in (row.ref, target[1]):
            return  # it names no one target, so it stands for nothing
        for source in {row.from_, f"{target[0]}.{row.from_}"}:
            if split_ref(source) is not None:
                self._actions.setdefault(source, set()).add(row.ref)
