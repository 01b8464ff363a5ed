"""One property is judged alone, but inside the whole schema."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy.judge import PropertyJudge
from toolfabric.values import Json, JsonObject

DRAFTS = [
    None,
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
NAMES = [None, "search.json", "https://tools.example/search.json", "urn:tools:search"]


def schema(draft: str | None, name: str | None) -> JsonObject:
    made: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["text", "count"],
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "nullable": {"$ref": "#/definitions/nullable"},
            "plain": {"$ref": "#/definitions/plain"},
            "again": {"$ref": "#"},
            "like/text~ %22": {"$ref": "#/properties/text"},
            "anything": True,
            "": {"type": "string"},
        },
        "definitions": {"nullable": {"type": ["string", "null"]}, "plain": {"type": "string"}},
    }
    if draft is not None:
        made["$schema"] = draft
        if "draft-04" in draft:
            made["properties"]["anything"] = {}
    if name is not None:
        made["id" if draft is not None and "draft-04" in draft else "$id"] = name
    return made


CASES: list[tuple[str, Json, bool]] = [
    ("text", "x", True),
    ("text", None, False),
    ("nullable", None, True),
    ("nullable", 1, False),
    ("plain", None, False),
    ("plain", "x", True),
    ("again", {"text": "x", "count": 1}, True),
    ("again", {"text": "x"}, False),
    ("like/text~ %22", "x", True),
    ("like/text~ %22", 1, False),
    ("anything", None, True),
    ("", "x", True),
    ("", None, False),
]


@pytest.mark.requirement("ENT-059")
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("name", NAMES)
def test_references_lead_where_the_author_wrote_them(draft: str | None, name: str | None) -> None:
    judge = PropertyJudge(schema(draft, name))
    assert [judge.accepts(key, value) for key, value, _fits in CASES] == [
        fits for _key, _value, fits in CASES
    ]


@pytest.mark.parametrize("draft", DRAFTS)
def test_what_the_whole_requires_has_no_say(draft: str | None) -> None:
    whole = schema(draft, None)
    whole["minProperties"] = 3
    assert PropertyJudge(whole).accepts("text", "x")


@pytest.mark.parametrize("referring", [False, True])
def test_a_schema_without_references_is_judged_by_its_own_draft(referring: bool) -> None:  # noqa: FBT001 - a parameter
    old: JsonObject = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"n": {"type": "number", "minimum": 1, "exclusiveMinimum": True}},
    }
    if referring:
        old["definitions"] = {"self": {"$ref": "#"}}
    judge = PropertyJudge(old)
    assert [judge.accepts("n", 1), judge.accepts("n", 2)] == [False, True]


def test_a_schema_that_does_not_compile_has_no_judge() -> None:
    with pytest.raises(ValueError, match="not valid JSON Schema"):
        PropertyJudge({"properties": {"a": {"type": "nonsense"}}})
