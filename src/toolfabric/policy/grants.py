"""What exactly was allowed: one digest over the action, its descriptor and the arguments."""

from __future__ import annotations

from toolfabric._base.canonical import form_digest
from toolfabric.values import JsonObject

__all__ = ["call_digest"]


def call_digest(action_digest: str, ref: str, args: JsonObject) -> str:
    """The digest that an approval names; any change of descriptor, ref or arguments changes it."""
    return form_digest({"action": action_digest, "ref": ref, "args": args})
