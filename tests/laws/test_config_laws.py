"""Laws of the configuration: it is total and bounded, and the strongest fit value of a setting wins."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from toolfabric.config.document import parse_document
from toolfabric.config.parse import Parsed, parse
from toolfabric.config.records import Config, Source, SourceKind
from toolfabric.config.sections import Layer
from toolfabric.values import Json, JsonObject

SOURCES = [
    Source(kind=SourceKind.GLOBAL, path=Path("/a/fabric.json")),
    Source(kind=SourceKind.PROJECT, path=Path("/p/.pi/fabric.json")),
    Source(kind=SourceKind.COMMAND_LINE),
]
DEFAULTS = {leaf.path: leaf.value for leaf in parse([]).leaves}
PLAIN = sorted(path for path in DEFAULTS if "." in path)
TEXTS = st.one_of(
    st.sampled_from(["off", "enforce", "allow", "python", "json", "keyAlias", "", "http://x"]), st.text()
)
SCALARS: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted(
    {part for path in DEFAULTS for part in path.split(".")} | {"command", "args", "url", "env", "ref"}
)
OBJECTS: st.SearchStrategy[JsonObject] = st.recursive(
    st.dictionaries(st.sampled_from(KEYS) | TEXTS, VALUES, max_size=4),
    lambda inner: st.dictionaries(st.sampled_from(KEYS) | TEXTS, inner, max_size=4),
    max_leaves=12,
)


def layers(contents: list[JsonObject]) -> list[Layer]:
    return [Layer(source=source, content=content) for source, content in zip(SOURCES, contents, strict=False)]


def check_bounds(config: Config) -> None:
    assert 1 <= config.executor.timeout_ms <= 86_400_000
    assert 1_000 <= config.schema.certificate_ttl_ms <= 600_000
    assert 1 <= config.schema.max_files <= 1_000
    assert 1_024 <= config.schema.max_bytes <= 104_857_600
    for command in config.schema.trusted_commands.values():
        assert command.command
        assert 1_000 <= command.timeout_ms <= 600_000
        assert not (command.shell and command.args)


@given(contents=st.lists(OBJECTS, max_size=3))
def test_any_json_gives_a_configuration_within_bounds(contents: list[JsonObject]) -> None:
    before = json.dumps(contents)
    result = parse(layers(contents))
    check_bounds(result.config)
    assert len(result.problems) <= 100
    assert len(result.warnings) <= 100
    assert json.dumps(contents) == before
    json.dumps([leaf.value for leaf in result.leaves], allow_nan=False)


@given(data=st.binary(max_size=200) | OBJECTS.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_object_or_a_problem(data: bytes) -> None:
    document = parse_document(data, SOURCES[0])
    assert (document.content == {}) or not document.problems
    check_bounds(parse([Layer(source=SOURCES[0], content=document.content)]).config)


@given(value=OBJECTS)
def test_what_is_written_as_json_is_read_back_as_it_was(value: JsonObject) -> None:
    document = parse_document(json.dumps(value).encode(), SOURCES[0])
    assert document.problems == ()
    assert json.dumps(document.content) == json.dumps(json.loads(json.dumps(value), parse_int=_bounded))


def _bounded(digits: str) -> int | float:
    return int(digits) if len(digits) <= 18 else float(digits)


def nested(path: str, value: Json) -> JsonObject:
    for part in reversed(path.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def value_of(result: Parsed, path: str) -> tuple[Json, SourceKind] | None:
    found = [(leaf.value, leaf.source.kind) for leaf in result.leaves if leaf.path == path]
    return found[0] if found else None


@given(path=st.sampled_from(PLAIN), values=st.lists(VALUES, min_size=3, max_size=3))
def test_the_strongest_fit_value_of_one_setting_wins_and_touches_no_other(
    path: str, values: list[Json]
) -> None:
    contents = [nested(path, value) for value in values]
    together = parse(layers(contents))
    alone = [parse([layer]) for layer in layers(contents)]
    expected: tuple[Json, SourceKind] | None = (DEFAULTS[path], SourceKind.DEFAULT)
    for one in alone:
        mine = value_of(one, path)
        if mine is None or mine[1] is not SourceKind.DEFAULT:
            expected = mine
    if path not in {"schema.trustedCommands", "mcp.servers"}:  # these are joined by name, not replaced
        assert value_of(together, path) == expected
    others = {leaf.path: leaf.value for leaf in together.leaves if not leaf.path.startswith(path)}
    assert others == {one: value for one, value in DEFAULTS.items() if not one.startswith(path)}


@given(content=OBJECTS)
def test_a_layer_that_changes_nothing_changes_nothing(content: JsonObject) -> None:
    (layer,) = layers([content])
    empty = Layer(source=SOURCES[1], content={})
    assert parse([layer]) == parse([layer, empty]) == parse([layer])
