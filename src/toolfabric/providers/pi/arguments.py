"""Take arguments apart that a schema has accepted, and reshape the older form of ``edit``."""

from __future__ import annotations

import json

from toolfabric.errors import PrepareError
from toolfabric.values import Json, JsonObject

__all__ = ["flag_argument", "integer_argument", "prepared_edit", "text_argument"]


def text_argument(args: JsonObject, name: str, default: str = "") -> str:
    """A string argument, or the default where there is none."""
    value = args.get(name)
    return value if isinstance(value, str) else default


def integer_argument(args: JsonObject, name: str, default: int) -> int:
    """An integer argument, ``2.0`` included, or the default where there is none."""
    value = args.get(name)
    return int(value) if isinstance(value, int | float) else default


def flag_argument(args: JsonObject, name: str) -> bool:
    """Whether a flag is set."""
    return args.get(name) is True


def prepared_edit(args: JsonObject) -> JsonObject:
    """Bring the two forms of ``edit`` that models mix up into one.

    ``edits`` as JSON text is read; with both ``edits`` and ``oldText``/``newText``, the pair is one more
    edit. Everything else comes back as it is. The input is not changed.

    Raises:
        PrepareError: ``edits`` is text, but not JSON.
    """
    edits = args.get("edits")
    if edits is None:
        return args
    if isinstance(edits, str):
        edits = _decoded(edits)
    reshaped: JsonObject = {**args, "edits": edits}
    if isinstance(edits, list) and "oldText" in args and "newText" in args:
        pair: Json = {"oldText": reshaped.pop("oldText"), "newText": reshaped.pop("newText")}
        reshaped["edits"] = [*edits, pair]
    return reshaped


def _decoded(text: str) -> Json:
    try:
        decoded: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = 'edits is text that is not JSON; write a list of {"oldText": ..., "newText": ...}'
        raise PrepareError(msg) from error
    return decoded
