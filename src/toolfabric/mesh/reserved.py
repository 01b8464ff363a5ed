"""Which names belong to the host: programs may read them, and never write to them.

The host's own records (enforcement, state, goals, members) and topics stand in the same mesh as what programs
share. The rule is held where programs come in, in ``program``; the store itself takes every name.
"""

from __future__ import annotations

from typing import Final

__all__ = ["HOST_PREFIXES", "HOST_TOPIC", "is_host_key", "is_host_topic"]

HOST_PREFIXES: Final = (
    "actor/",
    "agent/",
    "component/",
    "fabric/",
    "goal/",
    "member/",
    "schema/",
    "state/",
)
HOST_TOPIC: Final = "fabric"
"""This topic, and every one below it, such as ``fabric.schema``."""


def is_host_key(key: str) -> bool:
    """Whether only the host may change a key: one under a reserved prefix, in any case, or the bare word."""
    folded = f"{key.casefold()}/"
    return folded.startswith(HOST_PREFIXES)


def is_host_topic(topic: str) -> bool:
    """Whether only the host may add to a topic, in any case."""
    return f"{topic.casefold()}.".startswith(f"{HOST_TOPIC}.")
