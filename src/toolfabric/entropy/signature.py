"""Shapes of arguments, the distance between shapes, and how much freedom a schema leaves.

Diagnostics of the metric (design: Metric v3): nothing here judges a call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, cast

from toolfabric._base.canonical import code_units
from toolfabric.entropy.rounding import MILLION, millionths, millionths_of_ratio, reported
from toolfabric.values import Json

__all__ = [
    "distance_millionths",
    "freedom_millionths",
    "schema_freedom",
    "shape_signature",
    "signature_distance",
]

_MAX_KEYS: Final = 32
_OBJECT_DEPTH: Final = 3
_SCHEMA_DEPTH: Final = 3
_LARGEST_BMP: Final = "\uffff"

_TAGS: Final[dict[type, str]] = {
    type(None): "null",
    list: "arr",
    str: "str",
    bool: "bool",
    int: "num",
    float: "num",
}


def shape_signature(args: Json) -> str:
    """Which keys the arguments have and of what kind their values are, never the values.

    ``(key:tag,…)`` over keys in code-unit order; at most 32 keys a level, then ``…+N``. The arguments
    are depth 0: objects at depth 1 and 2 are spelled out, deeper ones are ``obj``.
    """
    if not isinstance(args, dict):
        return _tag(args, 0)
    return f"({_members(args, 0)})"


def _members(level: Mapping[str, Json], depth: int) -> str:
    keys = sorted(level) if all(map(str.isascii, level)) else sorted(level, key=code_units)
    parts = [f"{key}:{_tag(level[key], depth + 1)}" for key in keys[:_MAX_KEYS]]
    if len(keys) > _MAX_KEYS:
        parts.append(f"…+{len(keys) - _MAX_KEYS}")
    return ",".join(parts)


def _tag(value: Json, depth: int) -> str:
    tag = _TAGS.get(type(value))
    if tag is not None:
        return tag
    if not isinstance(value, dict):
        return "other"
    return f"{{{_members(value, depth)}}}" if depth < _OBJECT_DEPTH else "obj"


def signature_distance(a: str, b: str) -> float:
    """Levenshtein distance over UTF-16 code units, as a share of the longer text, rounded."""
    return reported(distance_millionths(a, b))


def distance_millionths(a: str, b: str) -> int:
    """As ``signature_distance``, in whole millionths."""
    if a == b:
        return 0
    # One character is one code unit, unless some character lies beyond the basic plane.
    left, right = (a, b) if max(a + b) <= _LARGEST_BMP else (_units(a), _units(b))
    return millionths_of_ratio(_levenshtein(left, right), max(len(left), len(right)))


def _units(text: str) -> list[int]:
    return memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H").tolist()


def _levenshtein(left: Sequence[str] | Sequence[int], right: Sequence[str] | Sequence[int]) -> int:
    """Count the edits, one column of the table at a time, a column being one long integer (Hyyrö 2003)."""
    if not left or not right:
        return len(left) + len(right)
    places: dict[str | int, int] = {}
    for index, unit in enumerate(left):
        places[unit] = places.get(unit, 0) | 1 << index
    ones = (1 << len(left)) - 1
    last = 1 << (len(left) - 1)
    up, down, distance = ones, 0, len(left)
    for unit in right:
        here = places.get(unit, 0)
        vertical = here | down
        horizontal = (((here & up) + up) ^ up) | here
        more = (down | ~(horizontal | up)) & ones
        less = up & horizontal
        distance += bool(more & last) - bool(less & last)
        more = more << 1 | 1
        less <<= 1
        up = (less | ~(vertical | more)) & ones
        down = more & vertical & ones
    return distance


def schema_freedom(schema: object) -> float:
    """How many ways a schema leaves to fill a value in, as a rough number (design: Metric v3)."""
    return reported(freedom_millionths(schema))


def freedom_millionths(schema: object, depth: int = 0) -> int:
    """As ``schema_freedom``, in whole millionths; every composite is rounded."""
    if not isinstance(schema, dict) or depth > _SCHEMA_DEPTH:
        return MILLION // 2
    node = cast("Mapping[str, object]", schema)
    for choice in ("anyOf", "oneOf"):
        branches = node.get(choice)
        if isinstance(branches, list):
            return _choice(cast("list[object]", branches), depth)
    members = node.get("enum")
    if isinstance(members, list):
        return _enum(len(cast("list[object]", members)))
    if "const" in node:
        return 0
    return _typed(node, depth)


def _choice(branches: list[object], depth: int) -> int:
    if not branches:
        return 0
    widest = max(freedom_millionths(branch, depth + 1) for branch in branches)
    return widest + MILLION // 10 * (len(branches) - 1)


def _enum(members: int) -> int:
    return min(MILLION, millionths(math.log2(members) / 6)) if members else 0


def _typed(node: Mapping[str, object], depth: int) -> int:
    match node.get("type"):
        case "boolean":
            return MILLION // 10
        case "number" | "integer":
            return MILLION // 2
        case "string":
            return MILLION
        case "array":
            return (MILLION + freedom_millionths(node.get("items"), depth + 1) + 1) // 2
        case "object":
            return _object(node, depth)
        case _:
            return MILLION // 4 * 3


def _object(node: Mapping[str, object], depth: int) -> int:
    properties = node.get("properties")
    if not isinstance(properties, dict) or not properties:
        return MILLION
    declared = cast("Mapping[str, object]", properties)
    required = node.get("required")
    needed = (
        {key for key in cast("list[object]", required) if isinstance(key, str)}
        if isinstance(required, list)
        else set[str]()
    )
    optional = sum(1 for key in declared if key not in needed)
    total = sum(freedom_millionths(inner, depth + 1) for inner in declared.values())
    openness = 0 if node.get("additionalProperties") is False else MILLION // 2
    return total + MILLION // 4 * optional + openness
