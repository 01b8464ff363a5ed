"""What the trace may keep of a call's arguments and result, decided by its ref alone.

The tables below are the whole policy (design: Execution trace V1): a ref that no table names keeps
nothing, and a key that its table does not name is left out. Everything kept is flat. Projecting twice
gives the same as projecting once, so what comes back from a spool is simply projected again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from toolfabric.trace.bounds import MAX_INTEGER, MAX_ITEMS, STRING_BYTES, Cut, bound_text
from toolfabric.values import Json, JsonObject

__all__ = ["MAX_REF_CHARS", "Projection", "is_ref", "project_args", "project_phase", "project_result"]

MAX_REF_CHARS: Final = 1_024
_PHASE_BYTES: Final = 512
_REF: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*(?:[./:][A-Za-z0-9_$-]+)*")
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_$][A-Za-z0-9_$.:/-]{0,127}")
_URL: Final = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]+:|//|\\\\|[^/\s@:]+@[^/\s:]+:)")
"""A scheme of two letters or more (one letter is a drive), a host without one, or ``user@host:``."""
_QUERY: Final = re.compile(r"[?#]")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Controls, line breaks, and what turns the direction of text around."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What was kept, and how much was not. ``kept`` of a result may be ``None``: nothing."""

    kept: JsonObject | None = None
    cut: Cut = field(default_factory=Cut)

    @property
    def args(self) -> JsonObject:
        """What was kept of arguments, which are always an object."""
        return {} if self.kept is None else self.kept


_Form: TypeAlias = Callable[[Json], tuple[Json, Cut]]
_Table: TypeAlias = Mapping[str, _Form]
_REDACTED: Final = (None, Cut(redacted=1))


def _number(value: Json) -> tuple[Json, Cut]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _REDACTED
    exact = abs(value) <= MAX_INTEGER if isinstance(value, int) else math.isfinite(value)
    return (value, Cut()) if exact else (None, Cut(dropped=1))


def _text(value: Json) -> tuple[Json, Cut]:
    return bound_text(value) if isinstance(value, str) else _REDACTED


def _identifier(value: Json) -> tuple[Json, Cut]:
    if isinstance(value, str) and _IDENTIFIER.fullmatch(value):
        return value, Cut()
    return _REDACTED


def _identifiers(value: Json) -> tuple[Json, Cut]:
    if not isinstance(value, list):
        return _REDACTED
    looked_at = value[:MAX_ITEMS]
    kept = [one for one in looked_at if _identifier(one)[0] is not None]
    return kept, Cut(dropped=len(value) - len(looked_at), redacted=len(looked_at) - len(kept))


def _cursor(value: Json) -> tuple[Json, Cut]:
    return _text(value) if isinstance(value, str) else _number(value)


def _path(value: Json) -> tuple[Json, Cut]:
    """A plain local path: a URL is withheld whole, a query or fragment is cut off."""
    if not isinstance(value, str):
        return _REDACTED
    head = value[: STRING_BYTES + 1]  # more is never kept, so more is never searched
    plain = _QUERY.split(head, maxsplit=1)[0]
    if not plain or _URL.match(plain) or "://" in plain or _UNPRINTABLE.search(plain):
        return _REDACTED
    kept, cut = bound_text(plain)
    return kept, cut if plain == head else cut + Cut(redacted=1)


_FILE_TABLE: Final[_Table] = {
    "path": _path,
    "offset": _number,
    "limit": _number,
    "context": _number,
    "depth": _number,
}
_NAMES: Final = (
    "name",
    "ref",
    "provider",
    "namespace",
    "phase",
    "label",
    "status",
    "kind",
    "item",
    "event",
    "id",
)
_NUMBERS: Final = (
    "limit",
    "offset",
    "index",
    "count",
    "total",
    "current",
    "done",
    "completed",
    "value",
    "concurrency",
)
_GUEST_TABLE: Final[_Table] = {**dict.fromkeys(_NUMBERS, _number), **dict.fromkeys(_NAMES, _identifier)}
_IDS: Final = ("id", "agentId", "actorId", "runId", "agent_id", "actor_id", "run_id")

_BY_REF: Final[Mapping[str, _Table]] = {
    **dict.fromkeys(("pi.read", "pi.grep", "pi.find", "pi.ls", "pi.edit", "pi.write"), _FILE_TABLE),
    "pi.bash": {"command": _text},
}
_BY_PREFIX: Final[Mapping[str, _Table]] = {
    "mesh.": {"topic": _text, "key": _text, "cursor": _cursor, "limit": _number},
    "agents.": {**dict.fromkeys(_IDS, _identifier), "ids": _identifiers},
    "fabric.discovery.": _GUEST_TABLE,
    "fabric.workflow.": _GUEST_TABLE,
}
_NOTHING: Final[_Table] = {}


def is_ref(text: str) -> bool:
    """Whether a text can be a ref: words of letters, digits, ``_ $ -`` joined by ``. / :``."""
    return len(text) <= MAX_REF_CHARS and _REF.fullmatch(text) is not None


def project_args(ref: str, args: Json) -> Projection:
    """Keep of a call's arguments what its ref allows.

    What is withheld is counted once for each top-level argument, or once for arguments that are no
    object at all.
    """
    if args is None:
        return Projection(kept={})
    if not isinstance(args, dict):
        return Projection(kept={}, cut=Cut(redacted=1))
    table = _table(ref)
    kept: JsonObject = {}
    cut = Cut()
    tried = 0
    for key, form in table.items():
        if key in args:
            tried += 1
            value, lost = form(args[key])
            cut += lost
            if value is not None:
                kept[key] = value
    return Projection(kept=kept, cut=cut + Cut(redacted=len(args) - tried))


def project_result(ref: str, value: Json) -> Projection:
    """Keep of a result what its ref allows: that ``pi.write`` created a file, and nothing else."""
    if value is None:
        return Projection()
    created: JsonObject = {"created": True}
    if ref != "pi.write" or not isinstance(value, dict):
        return Projection(cut=Cut(redacted=1))
    inner = value.get("details")
    if value.get("created") is True or (isinstance(inner, dict) and inner.get("created") is True):
        return Projection(kept=created, cut=Cut(redacted=int(value != created)))
    return Projection(cut=Cut(redacted=1))


def project_phase(name: str) -> tuple[str | None, Cut]:
    """Keep the name that a program gave to a phase: one printable line, bounded."""
    return (None, Cut(dropped=1)) if _UNPRINTABLE.search(name) else bound_text(name, _PHASE_BYTES)


def _table(ref: str) -> _Table:
    found = _BY_REF.get(ref)
    if found is not None:
        return found
    return next((table for prefix, table in _BY_PREFIX.items() if ref.startswith(prefix)), _NOTHING)
