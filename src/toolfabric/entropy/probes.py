"""The small material that certification tries: schemas, calls and session lines made up for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from toolfabric.values import Json, JsonObject

__all__ = [
    "AMBIGUOUS",
    "CANONICAL",
    "OPEN_SCHEMA",
    "REF",
    "SCHEMA",
    "SPELLED",
    "action",
    "execution",
    "legacy_artifact",
    "session_lines",
    "surface",
    "trace",
]

REF: Final = "probe.search"

SCHEMA: Final[JsonObject] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["query"],
    "properties": {
        "query": {"type": "string"},
        "max_results": {"type": "integer", "minimum": 1, "maximum": 100},
        "score": {"type": "number"},
        "sort_order": {"type": "string", "enum": ["newest", "oldest", "Best Match"]},
        "mode": {"type": "string", "enum": ["fast", "FAST", "slow"]},
        "cursor": {"type": ["string", "null"]},
        "after": {"$ref": "#/$defs/moment"},
        "dry-run": {"type": "boolean"},
        "dry_run": {"type": "boolean"},
        "größe": {"type": "integer"},
    },
    "$defs": {"moment": {"type": ["string", "null"]}},
}
"""Every convention, and beside each what must be left alone: twins, nullable ones, names beyond ASCII."""

OPEN_SCHEMA: Final[JsonObject] = {"type": "object", "properties": {"limit": {"type": "integer"}}}

CANONICAL: Final[tuple[JsonObject, ...]] = (
    {"query": ""},
    {"query": "2"},
    {"query": "null", "cursor": None},
    {"query": "x", "after": None},
    {"query": "x", "max_results": 1},
    {"query": "x", "max_results": 2.0},
    {"query": "x", "score": -0.5},
    *({"query": "x", "sort_order": member} for member in ("newest", "oldest", "Best Match")),
    *({"query": "x", "mode": member} for member in ("fast", "FAST", "slow")),
    {"query": "x", "dry-run": True, "dry_run": False},
    {"query": "x", "größe": 3},
)
"""Arguments that the schema accepts, rarely used members and nullable values among them."""

SPELLED: Final[tuple[tuple[JsonObject, JsonObject], ...]] = (
    ({"Query": "x"}, {"query": "x"}),
    ({"query": "x", "maxResults": 5}, {"query": "x", "max_results": 5}),
    ({"query": "x", "max results": "7"}, {"query": "x", "max_results": 7}),
    ({"query": "x", "score": "0.5"}, {"query": "x", "score": 0.5}),
    ({"query": "x", "sort_order": "best_match"}, {"query": "x", "sort_order": "Best Match"}),
    ({"query": "x", "SortOrder": "NEWEST"}, {"query": "x", "sort_order": "newest"}),
    ({"query": "x", "max_results": None}, {"query": "x"}),
    ({"query": "x", "score": None, "cursor": None}, {"query": "x", "cursor": None}),
    ({"query": "x", "größe": "4"}, {"query": "x", "größe": 4}),
)
"""Arguments that are another spelling of canonical ones, and those."""

AMBIGUOUS: Final[tuple[JsonObject, ...]] = (
    {"query": "x", "Query": "y"},
    {"QUERY": "x", "Query": "y"},
    {"query": "x", "maxResults": 5, "max-results": 5},
    {"query": "x", "dryRun": True},
    {"query": "x", "mode": "Fast"},
    {"query": "x", "max_results": "02"},
    {"query": "x", "max_results": "2.0"},
    {"query": "x", "max_results": "101"},
    {"query": "x", "max_results": "9007199254740993"},
    {"query": "x", "max_results": True},
    {"query": "x", "score": "NaN"},
    {"query": "x", "sort_order": "best"},
    {"query": "x", "sort_order": None, "unknown": 1},
    {"query": None},
    {"query": "x", "limit": 5},
    {"maxResults": 5},
    {"query": "x", "Größe": 4},
)
"""Arguments that no convention makes valid without a guess, or only in part."""


def action(ref: str, outcome: str = "succeeded", stage: str | None = None, **args: Json) -> JsonObject:
    """One operation."""
    made: JsonObject = {"ref": ref, "args": args, "outcome": outcome}
    return made if stage is None else {**made, "failureStage": stage}


def trace(*operations: JsonObject, model: str | None = None, task: str | None = None) -> JsonObject:
    """One trace of these operations."""
    made: JsonObject = {"operations": list(operations)}
    if model is not None:
        made["model"] = model
    if task is not None:
        made["taskKey"] = task
    return made


def surface(**schemas: Json) -> JsonObject:
    """A surface whose refs are ``probe.<name>``."""
    return {
        "version": 1,
        "actions": [{"ref": f"probe.{name}", "inputSchema": schema} for name, schema in schemas.items()],
    }


def legacy_artifact() -> JsonObject:
    """A version 1 artifact that would hide an action and narrow another one, were it obeyed."""
    narrowed: JsonObject = {
        **SCHEMA,
        "properties": {"query": {"type": "string", "enum": ["only this"]}},
    }
    return {
        "version": 1,
        "metricVersion": 2,
        "actions": [{"ref": REF, "inputSchema": narrowed, "baseSchemaDigest": "any text"}],
        "quarantined": [{"ref": "probe.hidden", "baseSchemaDigest": "any text"}],
        "applied": [{"kind": "enum-overlay", "ref": REF, "detail": "narrowed"}],
        "gate": {"passed": True, "beforeScore": 0.5, "afterScore": 0, "reasons": []},
        "evidenceDigest": "any text",
    }


def session_lines(*details: tuple[str, Json]) -> list[str]:
    """A session's lines: for each pair, the model that becomes current and the details of one result."""
    lines = [json.dumps({"type": "session", "version": 3, "id": "probe", "cwd": "/"})]
    for model, value in details:
        provider, name = model.split("/", 1)
        lines.append(json.dumps({"type": "model_change", "provider": provider, "modelId": name}))
        lines.append(json.dumps({"type": "message", "message": {"role": "toolResult", "details": value}}))
    return lines


def execution(operations: Sequence[JsonObject], phases: Sequence[str] = ()) -> JsonObject:
    """A guarded execution trace of these operations."""
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": list(phases),
        "operations": [
            {"type": "call", "sequence": at, **operation} for at, operation in enumerate(operations, start=1)
        ],
        "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0},
    }
