"""Judge one property of an object schema alone, but inside the whole schema.

The property's own schema decides, with every reference in it resolved where the author wrote it: a
``$ref`` to a nullable definition is nullable (design: Normal forms). Neither the other properties nor
what the whole object requires has a say.
"""

from __future__ import annotations

from typing import Final, cast
from urllib.parse import quote

from toolfabric._base.validation import Validator, compile_schema
from toolfabric.values import Json, JsonObject

__all__ = ["PropertyJudge"]

_OLD_DRAFTS: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
_PROBE: Final = "https://fabric.invalid/probe"
_ROOT: Final = "https://fabric.invalid/root"


class PropertyJudge:
    """Says of a value whether one property's schema takes it."""

    __slots__ = ("_validator",)

    def __init__(self, schema: JsonObject) -> None:
        """Compile the judge of all properties at once.

        Raises:
            ValueError: The schema does not compile.
        """
        self._validator: Validator = compile_schema(_probe(schema))

    def accepts(self, key: str, value: Json) -> bool:
        """Whether the schema of property ``key`` takes this value."""
        return self._validator.accepts({key: value})


def _probe(schema: JsonObject) -> JsonObject:
    """An open object schema whose properties refer into the original, which it carries whole."""
    draft = schema.get("$schema")
    dialect = draft if isinstance(draft, str) else ""
    name = "id" if "draft-04" in dialect or "draft-03" in dialect else "$id"
    store = "definitions" if any(old in dialect for old in _OLD_DRAFTS) else "$defs"
    own = schema.get(name)
    base = own.split("#")[0] if isinstance(own, str) else ""
    root: JsonObject = schema if base else {**schema, name: _ROOT}
    declared = cast("JsonObject", schema["properties"])
    probe: JsonObject = {
        name: _PROBE,
        "properties": {key: {"$ref": f"{base or _ROOT}#/properties/{_pointer(key)}"} for key in declared},
        store: {"root": root},
    }
    if dialect:
        probe["$schema"] = dialect
    return probe


def _pointer(key: str) -> str:
    return quote(key.replace("~", "~0").replace("/", "~1"), safe="")
