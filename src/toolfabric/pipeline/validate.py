"""Step 6: the declared schema, unchanged. The message is for whoever wrote the call.

It names paths, expectations and the nearest declared keys; it never quotes a value.
"""

from __future__ import annotations

import json

from toolfabric._base.json_form import json_path
from toolfabric._base.text import one_line
from toolfabric._base.validation import Violation
from toolfabric.errors import ValidateError
from toolfabric.pipeline.records import Flight, Services

__all__ = ["validate"]

_SHOWN = 8
_KEY_CHARS = 60


def validate(flight: Flight, services: Services) -> Flight:  # noqa: ARG001 -- every step takes both
    """Let through what the schema accepts, as it is.

    Raises:
        ValidateError: It does not accept it, or what was given are no arguments at all.
    """
    if flight.unfit is not None:
        raise ValidateError(f"{flight.ref}: {flight.unfit}")
    if flight.accepted is flight.args:
        return flight
    validator = flight.found.validator
    if validator.accepts(flight.args):
        return flight
    found = validator.violations(flight.args, _SHOWN + 1)
    told = "; ".join(_sentence(one) for one in found[:_SHOWN])
    more = "; and more" if len(found) > _SHOWN else ""
    raise ValidateError(f"{flight.ref}: {told}{more}")


def _sentence(violation: Violation) -> str:
    where = f"at {json_path(violation.path)}"
    match violation.keyword:
        case "additionalProperties":
            hint = "" if violation.near is None else f" (did you mean {_quoted(violation.near)}?)"
            return f"{where}: not a declared key{hint}"
        case "required":
            hint = "" if violation.near is None else f" (was {_quoted(violation.near)} meant for it?)"
            return f"{where}: required, and not there{hint}"
        case _:
            return f"{where}: expected {violation.expected}, got {violation.found}"


def _quoted(key: str) -> str:
    return json.dumps(one_line(key, limit=_KEY_CHARS), ensure_ascii=False)
