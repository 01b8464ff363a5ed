"""One schema compiled: what is refused, what is accepted, what is never done."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import cast

import pytest

from toolfabric._base.json_form import json_size
from toolfabric._base.validation import MAX_SCHEMA_BYTES, compile_schema
from toolfabric.values import Json, JsonObject

SURFACES = Path(__file__).resolve().parents[4] / "shared" / "data" / "surfaces"


def chain(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _level in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


def loop() -> JsonObject:
    member: JsonObject = {"$ref": "#/$defs/n"}
    return {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"a": member}}}}


def deep(levels: int) -> Json:
    value: Json = {}
    for _level in range(levels):
        value = {"a": value}
    return value


REFUSED: list[tuple[JsonObject, str]] = [
    ({"type": "objekt"}, r"at \$\.type"),
    ({"properties": {"a": 5}}, r"at \$\.properties\.a"),
    ({"properties": {"a": {"minLength": -1}}}, r"at \$\.properties\.a\.minLength"),
    ({"pattern": "("}, r"at \$\.pattern"),
    ({"pattern": "(((a{1,1000}){1,1000}){1,100})"}, r"at \$\.pattern"),
    ({"$schema": "http://a.example/meta"}, "Unknown meta-schema"),
    ({"$ref": "#/$defs/none"}, "does not exist"),
    ({"minimum": float("nan")}, r"at \$\.minimum: NaN"),
    ({"description": "\ud800"}, "surrogate"),
    ({"default": cast("Json", (1, 2))}, "tuple"),
    (chain(80), "nested in more than the 120 levels"),
    ({"description": "x" * MAX_SCHEMA_BYTES}, "bytes; at most"),
]


@pytest.mark.parametrize(("schema", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_usable_schema_is_refused_with_the_place(schema: JsonObject, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        compile_schema(schema)


@pytest.mark.parametrize("schema", [True, [], "x", None])
def test_a_schema_is_an_object(schema: Json) -> None:
    with pytest.raises(ValueError, match="a schema is an object"):
        compile_schema(cast("JsonObject", schema))


@pytest.mark.parametrize("scheme", ["http", "https", "file", ""])
def test_nothing_is_ever_fetched(tmp_path: Path, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        host = f"127.0.0.1:{server.getsockname()[1]}"
        (tmp_path / "s.json").write_text('{"type": "string"}', encoding="utf-8")
        target = f"{tmp_path}/s.json" if scheme in ("file", "") else f"{host}/s.json"
        ref = f"{scheme}://{target}" if scheme else target
        with pytest.raises(ValueError, match="nothing is fetched"):
            compile_schema({"properties": {"a": {"$ref": ref}}})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_refusal_cannot_steer_a_terminal() -> None:
    with pytest.raises(ValueError, match="not valid JSON Schema") as caught:
        compile_schema({"type": "\x1b[2J\u202e"})
    assert str(caught.value).isprintable()


def test_schemas_that_would_stop_the_host_are_refused() -> None:
    definitions: JsonObject = {}
    for n in range(40):
        reference: JsonObject = {"$ref": f"#/$defs/d{n + 1}"}
        definitions[f"d{n}"] = {"oneOf": [reference, reference]}
    with pytest.raises(ValueError, match="more than 1000000 schemas"):
        compile_schema({"$ref": "#/$defs/d0", "$defs": {**definitions, "d40": {"type": "string"}}})
    links: JsonObject = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(5_000)}
    with pytest.raises(ValueError, match="from one to the next too many times"):
        compile_schema({"$ref": "#/$defs/d0", "$defs": {**links, "d5000": {}}})


@pytest.mark.parametrize(
    ("schema", "value", "accepted"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, 1.5, False),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, True, False),
        ({"type": "integer"}, 2**100, True),
        ({"type": "string", "format": "email"}, "no address", True),
        ({"type": "number"}, float("nan"), False),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": True, "minimum": 1},
            1,
            False,
        ),
        ({"pattern": "^(a+)+$"}, "a" * 5_000 + "b", False),
        ({"$ref": "#"}, {}, True),
    ],
)
def test_values_are_judged_by_the_schema(schema: JsonObject, value: Json, accepted: bool) -> None:  # noqa: FBT001 -- a table's column
    validator = compile_schema(schema)
    assert validator.accepts(value) is accepted
    assert (validator.violations(value) == ()) is accepted


def test_a_schema_that_refers_to_itself_follows_no_value_to_the_end_of_the_stack() -> None:
    validator = compile_schema(loop())
    assert validator.accepts(deep(100))
    assert not validator.accepts(deep(100_000))
    (violation,) = validator.violations(deep(100_000))
    assert (violation.expected, violation.keyword) == ("plain JSON", "")


def test_what_is_no_json_is_not_accepted_and_told_by_its_place() -> None:
    validator = compile_schema({"properties": {"a": {"items": {"type": "string", "pattern": "x"}}}})
    value = cast("Json", {"a": [{1, 2}]})
    assert not validator.accepts(value)
    (violation,) = validator.violations(value)
    assert str(violation) == "at $.a[0]: expected plain JSON, got the Python type set has no JSON form"


def test_violations_are_bounded_in_number() -> None:
    validator = compile_schema({"items": {"type": "string"}})
    numbers: list[Json] = [1] * 50
    assert len(validator.violations(numbers)) == 8
    assert len(validator.violations(numbers, 3)) == 3


def test_explaining_costs_no_more_than_is_sensible() -> None:
    wide = compile_schema({"items": {"type": "string"}})
    numbers: list[Json] = [1] * 1_000_000
    (violation,) = wide.violations(numbers)
    assert "too large to say where" in violation.expected
    member: JsonObject = {"properties": {"a": {"$ref": "#/$defs/n"}, "z": {"type": "string"}}}
    doubling = compile_schema({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [member, member]}}})
    value: Json = {"z": 1}
    for _level in range(40):
        value = {"a": value}
    (violation,) = doubling.violations(value)
    assert "too large to say where" in violation.expected


@pytest.mark.skipif(not SURFACES.is_dir(), reason="the real surfaces are not beside this checkout")
def test_every_real_schema_compiles_and_answers() -> None:
    count = 0
    for path in sorted(SURFACES.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for action in document.get("actions", []):
            validator = compile_schema(action["inputSchema"])
            empty = validator.violations({})
            assert validator.accepts({}) is (empty == ())
            assert all(json_size(str(one)) < 1_000 for one in empty)
            count += 1
    assert count > 3_000
