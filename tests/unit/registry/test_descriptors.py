"""Descriptors: taken whole, or refused with provider, action and reason."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from toolfabric.errors import MountError
from toolfabric.registry.descriptors import bind, check_provider, read_spec
from toolfabric.values import ActionSpec, JsonObject, Origin, Risk

from .conftest import Listed, fail, spec

SURFACES = Path(__file__).resolve().parents[4] / "shared" / "data" / "surfaces"
PLAIN: dict[str, Any] = {"name": "a", "description": "A.", "inputSchema": {"type": "object"}, "risk": "read"}


def bound(*listed: Any) -> list[str]:
    binding = bind(Listed(), list(listed), origin=Origin.HOST, generation=1)
    return list(binding.actions)


def test_a_mapping_and_a_spec_say_the_same() -> None:
    given = {
        "name": "a",
        "description": "A.",
        "input_schema": {"type": "object"},
        "outputSchema": {"type": "string"},
        "risk": ["write", "read"],
        "namespace": "n",
        "effect": "Writes.",
    }
    read = read_spec(given)
    assert (read.name, read.risks, read.namespace, read.effect) == (
        "a",
        (Risk.READ, Risk.WRITE),
        "n",
        "Writes.",
    )
    assert (read.input_schema, read.output_schema) == ({"type": "object"}, {"type": "string"})
    assert read_spec(read) == read


def without(field: str) -> dict[str, Any]:
    return {key: value for key, value in PLAIN.items() if key != field}


BAD: list[tuple[Any, str]] = [
    ({**PLAIN, "risk": "reed"}, "unknown risk 'reed'; use one of read, write, execute, network, agent"),
    ({**PLAIN, "risk": ["read", 3]}, "unknown risk '3'"),
    ({**PLAIN, "risk": []}, "declares no risk"),
    ({**PLAIN, "risk": None}, "not null"),
    ({key: value for key, value in PLAIN.items() if key != "risk"}, "the field 'risk' is missing"),
    (
        {key: value for key, value in PLAIN.items() if key != "inputSchema"},
        "the field 'input_schema' is missing",
    ),
    ({**PLAIN, "input_schema": {}}, "in two spellings"),
    ({**PLAIN, "efect": "x"}, "unknown field 'efect'; did you mean 'effect'?"),
    ({**PLAIN, "zzz": "x"}, "unknown field 'zzz'; there are name, description"),
    ({**PLAIN, "name": 3}, "name is a string, not integer"),
    ({**PLAIN, "description": None}, "description is a string, not null"),
    ({**PLAIN, "description": "x" * 70_000}, "description has 70000 characters"),
    ({**PLAIN, "namespace": 3}, "namespace is a string"),
    ({**PLAIN, "effect": ["x"]}, "effect is a string, not array"),
    ({**PLAIN, "inputSchema": True}, "the input schema is an object, not boolean"),
    ({**PLAIN, "inputSchema": None}, "the input schema is an object, not null"),
    ({**PLAIN, "outputSchema": []}, "the output schema is an object, not array"),
    ({**PLAIN, "inputSchema": {"type": "array"}}, 'arguments are objects, but it declares the type "array"'),
    ({**PLAIN, "inputSchema": {"type": ["string", "null"]}}, "arguments are objects"),
    ({**PLAIN, "inputSchema": {"type": "objekt"}}, "declares the type"),
    (
        {**PLAIN, "inputSchema": {"properties": {"a": {"type": "strng"}}}},
        r"input schema: not valid JSON Schema: at $.properties.a.type",
    ),
    ({**PLAIN, "outputSchema": {"type": "strng"}}, "output schema: not valid JSON Schema: at $.type"),
    ({**PLAIN, "inputSchema": {"$ref": "https://a.example/x.json"}}, "nothing is fetched"),
    ({**PLAIN, "name": "1a"}, "action '1a': a name is dotted parts"),
    ({**PLAIN, "name": "a\x1b[31m"}, "action 'a\\\\x1b[31m': a name is"),
    ("text", "a descriptor is an ActionSpec or a mapping, not string"),
    (None, "not null"),
]


@pytest.mark.parametrize(("descriptor", "reason"), BAD, ids=range(len(BAD)))
def test_a_bad_descriptor_refuses_the_whole_list_and_says_why(descriptor: Any, reason: str) -> None:
    with pytest.raises(MountError, match=re.escape(reason)) as caught:
        bound(spec("good"), descriptor)
    assert str(caught.value).startswith("provider 'demo': action ")
    assert str(caught.value).isprintable()


def test_a_schema_nested_without_end_is_refused() -> None:
    ring: dict[str, Any] = {"type": "object"}
    ring["not"] = ring
    with pytest.raises(MountError, match="nested too deeply"):
        bound({**PLAIN, "inputSchema": ring})


def test_a_name_listed_twice_is_refused() -> None:
    with pytest.raises(MountError, match=r"action 'a': the name is listed twice"):
        bound(spec("a"), spec("b"), spec("a"))


@pytest.mark.parametrize("listed", [None, "ab", 3, {"a": 1}, {1, 2}])
def test_a_list_is_a_sequence(listed: object) -> None:
    with pytest.raises(MountError, match=r"list\(\) gave .*, not a sequence"):
        bind(Listed(), listed, origin=Origin.HOST, generation=1)


def test_the_number_of_actions_is_bounded() -> None:
    with pytest.raises(MountError, match="10001 actions; at most 10000"):
        bound(*([None] * 10_001))


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"type": ["object", "null"]}, {"properties": {"a": True}}]
)
def test_arguments_may_be_declared_in_every_way_that_allows_objects(schema: JsonObject) -> None:
    assert bound(spec("a", schema)) == ["a"]


def test_what_was_checked_cannot_be_changed_afterwards() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    given = spec("a", schema)
    binding = bind(Listed(), [given], origin=Origin.HOST, generation=1)
    schema["properties"] = 3
    assert binding.actions["a"].spec.input_schema["properties"] == {"a": {"type": "string"}}
    with pytest.raises(TypeError):
        binding.actions["b"] = binding.actions["a"]  # pyright: ignore[reportIndexIssue] -- it must fail


def digest(given: ActionSpec, provider: str = "demo") -> str:
    binding = bind(Listed(name=provider), [given], origin=Origin.HOST, generation=1)
    return binding.actions[given.name].digest


def test_the_digest_changes_with_anything_that_was_declared_and_with_nothing_else() -> None:
    base = spec("a")
    others = [
        spec("b"),
        spec("a", {"type": "object", "properties": {}}),
        spec("a", description="Other."),
        spec("a", risk="write"),
        spec("a", effect="Writes."),
        spec("a", namespace="n"),
        spec("a", output_schema={}),
    ]
    digests = [digest(base), digest(base, "other"), *map(digest, others)]
    assert len(set(digests)) == len(digests)
    assert digest(spec("a", {"type": "object"})) == digest(base)


def test_numbers_beyond_canonical_json_do_not_keep_an_action_out() -> None:
    large = spec("a", {"properties": {"id": {"maximum": 2**63 - 1}}})
    larger = spec("a", {"properties": {"id": {"maximum": 2**63}}})
    assert digest(large) != digest(larger)


class Nameless(Listed):
    @property
    def name(self) -> str:
        raise RuntimeError("no name")

    @name.setter
    def name(self, value: str) -> None:
        pass


class Partial:
    name = "partial"
    description = "No invoke."
    list = describe = fail


@pytest.mark.parametrize(
    ("provider", "reason"),
    [
        (Nameless(), "reading its name raised RuntimeError"),
        (Partial(), "lacks one of the members"),
        (Listed(name="Bad"), "provider 'Bad': a name is a lower-case letter"),
        (Listed(name="tools"), "taken by programs"),
        (Listed(name=3), "name and description are strings"),  # pyright: ignore[reportArgumentType] -- it must fail
        (None, "NoneType is not a provider"),
    ],
    ids=range(6),
)
def test_what_is_no_provider_is_refused(provider: Any, reason: str) -> None:
    with pytest.raises(MountError, match=reason):
        check_provider(provider)


@pytest.mark.skipif(not SURFACES.is_dir(), reason="the real surfaces are not beside this checkout")
def test_every_real_action_is_taken_or_refused_for_a_true_reason() -> None:
    taken = 0
    refused: dict[str, str] = {}
    for path in sorted(SURFACES.glob("*.json")):
        for action in json.loads(path.read_text(encoding="utf-8")).get("actions", []):
            provider, _dot, name = action["ref"].partition(".")
            given = {**PLAIN, "name": name, "inputSchema": action["inputSchema"]}
            try:
                bind(Listed(name=provider), [given], origin=Origin.CONFIGURED, generation=1)
            except MountError as error:
                refused[action["ref"]] = str(error)
            else:
                taken += 1
    assert taken > 3_000
    assert len(refused) < taken / 100
    for ref, reason in refused.items():
        assert re.search(r"\.\d", ref)
        assert "none of which begins with a digit" in reason
