"""Judge one property of an object schema alone, but inside the whole schema.

The property's own schema decides, with every reference in it resolved where the author wrote it: a
``$ref`` to a nullable definition is nullable (design: Normal forms). Neither the other properties nor
what the whole object requires has a say.
"""

from __future__ import annotations

from typing import Final, cast
from urllib.parse import quote

from toolfabric._base.expansion import has_references
from toolfabric._base.validation import Validator, compile_schema
from toolfabric.values import Json, JsonObject

__all__ = ["PropertyJudge"]

_OLD_DRAFTS: Final = ("draft-04", "draft-06", "draft-07")
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
    """An open object schema with the same properties, and with nothing else to say."""
    draft = schema.get("$schema")
    dialect: JsonObject = {"$schema": draft} if isinstance(draft, str) else {}
    if not has_references(schema):
        return {**dialect, "properties": schema["properties"]}
    return {**dialect, **_referring(schema, draft if isinstance(draft, str) else "")}


def _referring(schema: JsonObject, draft: str) -> JsonObject:
    """The properties refer into the original, which the probe carries whole under the original name."""
    name = "id" if "draft-04" in draft else "$id"
    store = "definitions" if any(old in draft for old in _OLD_DRAFTS) else "$defs"
    own = schema.get(name)
    base = own.split("#")[0] if isinstance(own, str) else ""
    root: JsonObject = schema if base else {**schema, name: _ROOT}
    declared = cast("JsonObject", schema["properties"])
    return {
        name: _PROBE,
        "properties": {key: {"$ref": f"{base or _ROOT}#/properties/{_pointer(key)}"} for key in declared},
        store: {"root": root},
    }


def _pointer(key: str) -> str:
    return quote(key.replace("~", "~0").replace("/", "~1"), safe="")
