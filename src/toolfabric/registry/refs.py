"""The names of providers and actions, parsed in one place.

A ref is ``provider.action``; it splits at the first dot, and an action's own name may hold more dots.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["MAX_REF", "RESERVED", "action_name_problem", "provider_name_problem", "split_ref"]

MAX_REF: Final = 1_024
RESERVED: Final = frozenset(("fabric", "payloads", "tools", "workflow"))
"""Names that a program or a record already gives another meaning."""

_PROVIDER: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_SEGMENT: Final = r"[A-Za-z_$][A-Za-z0-9_$-]*"
_ACTION: Final = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*")


def split_ref(ref: str) -> tuple[str, str] | None:
    """The provider and the action that a ref names, or ``None`` if it has not the form of a ref."""
    provider, _dot, action = ref.partition(".")
    well_formed = len(ref) <= MAX_REF and _PROVIDER.fullmatch(provider) and _ACTION.fullmatch(action)
    return (provider, action) if well_formed else None


def provider_name_problem(name: str) -> str | None:
    """Why a provider cannot have this name, or ``None``."""
    if not _PROVIDER.fullmatch(name):
        return "a name is a lower-case letter, then letters, digits, _ or -, at most 64 characters in all"
    if name in RESERVED:
        return f"the names {', '.join(sorted(RESERVED))} are taken by programs themselves"
    return None


def action_name_problem(provider: str, name: str) -> str | None:
    """Why an action of this provider cannot have this name, or ``None``."""
    if not _ACTION.fullmatch(name):
        return "a name is dotted parts of letters, digits, _, $ or -, none of which begins with a digit or -"
    if len(provider) + 1 + len(name) > MAX_REF:
        return f"the ref would be longer than {MAX_REF} characters"
    return None
