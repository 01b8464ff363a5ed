"""The small JSON Schemas that first-party actions are declared with: closed objects of described values."""

from __future__ import annotations

from toolfabric.values import Json, JsonObject

__all__ = ["closed_object", "count", "flag", "text"]


def text(description: str) -> JsonObject:
    """A string."""
    return {"type": "string", "description": description}


def flag(description: str) -> JsonObject:
    """A boolean."""
    return {"type": "boolean", "description": description}


def count(description: str, least: int = 0) -> JsonObject:
    """An integer from ``least``."""
    return {"type": "integer", "minimum": least, "description": description}


def closed_object(properties: JsonObject, *required: str, **more: Json) -> JsonObject:
    """An object that takes these properties and no others; ``more`` are further keywords."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
        **more,
    }
