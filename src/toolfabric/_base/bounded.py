"""Cut a JSON value to a byte budget, and say so inside the value.

The reader of the cut value must see that something is missing, wherever it looks: a text keeps both
ends around a mark, an array ends in one, an object gets one more key. Cutting is deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolfabric._base.json_form import json_size
from toolfabric.values import Json, JsonObject

__all__ = ["Bounded", "bound_json", "bound_text"]

_MARK_BYTES: Final = 64
_LEAST: Final = 96
"""Below this many bytes a part is left out rather than cut: its mark would be most of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A value within its budget. ``left_out`` counts the bytes that are missing; 0 means it is whole."""

    value: Json
    left_out: int = 0


def bound_json(value: Json, max_bytes: int) -> Bounded:
    """Cut a JSON value to about ``max_bytes``, never more; one that fits comes back as the same object.

    ``max_bytes`` is at least 128, so that there is room for a mark.

    Raises:
        NotJsonError: The value is not JSON.
    """
    size = json_size(value)
    if size <= max_bytes:
        return Bounded(value=value)
    cut = _cut(value, max_bytes)
    return Bounded(value=cut, left_out=size - json_size(cut))


def bound_text(text: str, max_bytes: int) -> str:
    """Keep both ends of a text within ``max_bytes`` of UTF-8, with a mark between them that counts."""
    if len(text) <= max_bytes and json_size(text) - 2 <= max_bytes:
        return text
    room = max(0, max_bytes - _MARK_BYTES)
    head = _prefix(text[:room], room - room // 2)
    tail = _prefix(text[len(text) - min(len(text), room) :][::-1], room // 2)[::-1]
    return f"{head}…[{len(text) - len(head) - len(tail)} characters left out]…{tail}"


def _prefix(text: str, max_bytes: int) -> str:
    return text.encode()[:max_bytes].decode(errors="ignore")


def _cut(value: Json, budget: int) -> Json:
    match value:
        case str():
            return bound_text(value, budget - 2)
        case list():
            return _cut_array(value, budget)
        case dict():
            return _cut_object(value, budget)
        case _:
            return value


def _cut_array(items: list[Json], budget: int) -> Json:
    room = budget - 2 - _MARK_BYTES
    kept: list[Json] = []
    for item in items:
        part = _part(item, room - 1)
        if part is None:
            break
        kept.append(part.value)
        room -= json_size(part.value) + 1
    if len(kept) < len(items):
        kept.append(f"…[{len(items) - len(kept)} of {len(items)} items left out]")
    return kept


def _cut_object(fields: JsonObject, budget: int) -> Json:
    room = budget - 2 - _MARK_BYTES
    kept: JsonObject = {}
    for key, item in fields.items():
        part = _part(item, room - json_size(key) - 2)
        if part is None:
            break
        kept[key] = part.value
        room -= json_size(key) + json_size(part.value) + 2
    if len(kept) < len(fields):
        kept[_free_key(kept)] = f"…[{len(fields) - len(kept)} of {len(fields)} keys left out]"
    return kept


def _part(item: Json, room: int) -> Bounded | None:
    """One member, whole if there is room; a larger one gets half, so that what follows has some too."""
    if json_size(item) <= room:
        return Bounded(value=item)
    if room // 2 < _LEAST or not isinstance(item, str | list | dict):
        return None
    return Bounded(value=_cut(item, room // 2))


def _free_key(fields: JsonObject) -> str:
    key = "…"
    while key in fields:
        key += "…"
    return key
