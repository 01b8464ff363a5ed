"""The descriptors: Pi's own argument names, closed, provable, and complete."""

from __future__ import annotations

from typing import Any, cast

import pytest

from toolfabric._base.validation import compile_schema
from toolfabric.entropy.derive import derive_normal_form_plan
from toolfabric.providers.pi.schemas import SPECS
from toolfabric.values import Json, JsonObject, Risk

BY_NAME = {spec.name: spec for spec in SPECS}

# The arguments of Pi's built-in tools, as Pi 0.30 declares them: every one given, and only those required.
PI_CALLS: list[tuple[str, JsonObject]] = [
    ("bash", {"command": "ls", "timeout": 2.5}),
    ("bash", {"command": "ls"}),
    ("edit", {"path": "f", "oldText": "a", "newText": "b"}),
    ("find", {"pattern": "*", "path": "src", "limit": 10}),
    ("find", {"pattern": "*"}),
    (
        "grep",
        {
            "pattern": "x",
            "path": "src",
            "glob": "*.py",
            "ignoreCase": True,
            "literal": False,
            "context": 2,
            "limit": 5,
        },
    ),
    ("grep", {"pattern": "x"}),
    ("ls", {"path": "src", "limit": 5}),
    ("ls", {}),
    ("read", {"path": "f", "offset": 1, "limit": 20}),
    ("read", {"path": "f"}),
    ("write", {"path": "f", "content": ""}),
    # Newer versions of Pi take several edits.
    ("edit", {"path": "f", "edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]}),
]


def test_the_actions_and_what_they_need() -> None:
    assert [(spec.name, spec.risks) for spec in SPECS] == [
        ("read", (Risk.READ,)),
        ("grep", (Risk.READ,)),
        ("find", (Risk.READ,)),
        ("ls", (Risk.READ,)),
        ("edit", (Risk.WRITE,)),
        ("write", (Risk.WRITE,)),
        ("bash", (Risk.EXECUTE,)),
    ]
    assert [spec.name for spec in SPECS if spec.effect] == ["edit", "write", "bash"]


@pytest.mark.parametrize(("name", "args"), PI_CALLS)
def test_a_call_that_pi_itself_would_take_is_taken(name: str, args: JsonObject) -> None:
    assert compile_schema(BY_NAME[name].input_schema).violations(args) == ()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read", {}),
        ("read", {"path": "f", "limit": 0}),
        ("read", {"path": "f", "offset": -1}),
        ("read", {"path": "f", "limit": "2"}),
        ("read", {"path": "f", "other": 1}),
        ("grep", {"pattern": "x", "context": 51}),
        ("edit", {"path": "f"}),
        ("edit", {"path": "f", "oldText": "a"}),
        ("edit", {"path": "f", "newText": "a"}),
        ("edit", {"path": "f", "edits": []}),
        ("edit", {"path": "f", "edits": [{"oldText": "a"}]}),
        ("edit", {"path": "f", "edits": [{"oldText": "a", "newText": "b", "all": True}]}),
        ("write", {"path": "f"}),
        ("bash", {"command": "x", "timeout": 0}),
        ("bash", {"command": ["x"]}),
    ],
)
def test_a_call_that_says_too_little_or_too_much_is_refused(name: str, args: JsonObject) -> None:
    assert compile_schema(BY_NAME[name].input_schema).violations(args) != ()


@pytest.mark.parametrize("name", BY_NAME)
def test_a_normal_form_can_be_proved_for_every_action(name: str) -> None:
    plan = derive_normal_form_plan(f"pi.{name}", BY_NAME[name].input_schema)
    assert plan is not None
    properties = cast("dict[str, Json]", BY_NAME[name].input_schema["properties"])
    keys = {rule.key for rule in plan.rules if rule.kind == "key-form"}
    assert keys == set(properties)


@pytest.mark.parametrize("name", BY_NAME)
def test_every_argument_and_every_part_of_an_answer_is_explained(name: str) -> None:
    spec = BY_NAME[name]

    def unexplained(schema: Any, path: str) -> list[str]:
        properties: dict[str, Any] = schema.get("properties", {})
        found = [f"{path}.{key}" for key, one in properties.items() if not explained(one)]
        for key, one in properties.items():
            found += unexplained(one, f"{path}.{key}") + unexplained(one.get("items", {}), f"{path}.{key}[]")
        return found

    def explained(schema: Any) -> bool:
        return "description" in schema or "enum" in schema or schema["type"] in {"array", "object"}

    assert unexplained(spec.input_schema, name) == []
    assert spec.output_schema is not None
    assert unexplained(spec.output_schema, name) == []
    assert spec.input_schema["additionalProperties"] is False
