"""Stubs from live schemas: hostile text never becomes code."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.kernels.names import name_tree
from toolfabric.kernels.stubs import method_parameters, stub_for, type_of
from toolfabric.protocols import ActionDeclaration

HOSTILE = st.text(alphabet="\"'\\\n\r#:()[]{}=,.*abc \t\x00é", max_size=20)


def stub(schema: Any, *, code: str = "pi run") -> str:
    names = name_tree([ActionDeclaration(ref="pi.run", description='"""\nimport os', input_schema=schema)])
    return stub_for(names, code=code, bound=frozenset()).text


@given(
    st.dictionaries(
        HOSTILE,
        st.fixed_dictionaries(
            {"type": st.just("string"), "enum": st.lists(HOSTILE, max_size=3), "description": HOSTILE}
        ),
        max_size=4,
    )
)
def test_a_stub_is_always_declarations_alone(properties: Any) -> None:
    text = stub({"type": "object", "properties": properties, "required": list(properties)})
    head, _blank, rest = text.partition("\n\n")
    assert head.splitlines()[1:] == [
        f"_{kind} = {kind}" for kind in ("str", "int", "float", "bool", "dict", "list", "tuple")
    ]
    for node in ast.walk(ast.parse(rest)):
        assert not isinstance(node, ast.Call | ast.Import | ast.ImportFrom | ast.Lambda | ast.Assign)
    assert "import os" not in text


def test_required_and_optional_parameters_are_told_apart() -> None:
    schema: Any = {
        "type": "object",
        "additionalProperties": False,
        "required": ["path"],
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    }
    assert method_parameters(schema) == "_self, _given: _Any = ..., /, *, path: _str, limit: _int = ..."


UNREADABLE: list[Any] = [
    {},
    {"type": "array"},
    {"anyOf": [{}]},
    {"properties": []},
    {"$ref": "#/x"},
    {"type": "object", "required": ["a-b"], "properties": {"a-b": {}}},
]


@pytest.mark.parametrize("schema", UNREADABLE)
def test_what_cannot_be_read_takes_anything(schema: Any) -> None:
    ast.parse(f"def f({method_parameters(schema)}): ...")
    assert "Any" in method_parameters(schema)


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string"}, "str"),
        ({"enum": ["a", "b"]}, "Literal"),
        ({"type": ["string", "null"]}, "None"),
        (True, "Any"),
        (7, "Any"),
    ],
)
def test_types_are_written_for_simple_schemas(schema: Any, written: str) -> None:
    assert written in type_of(schema)


def test_only_what_the_program_mentions_is_in_the_stub() -> None:
    assert "def run" in stub({"type": "object"})
    assert "def run" not in stub({"type": "object"}, code="nothing")
