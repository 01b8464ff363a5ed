"""What a program can name."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.kernels.names import GuestError, attribute_names, name_tree, read_call
from toolfabric.protocols import ActionDeclaration


def tree(*refs: str) -> Any:
    return name_tree([ActionDeclaration(ref=ref, description="", input_schema={}) for ref in refs])


def test_refs_become_a_tree_beside_tools_and_workflow() -> None:
    names = tree("pi.read", "mcp.github.search", "mcp.github.get-issue", "mcp.$servers")
    assert sorted(names) == ["mcp", "pi", "tools", "workflow"]
    github = names["mcp"].members["github"]
    assert {attribute: node.path for attribute, node in github.members.items()} == {
        "search": "mcp.github.search",
        "get_issue": "mcp.github.get-issue",
    }
    assert names["mcp"].members["servers"].path == "mcp.$servers"


@pytest.mark.parametrize(
    ("parts", "usable"),
    [
        (["a-b", "a_b"], {"a_b": "a_b"}),
        (["a-b", "a.b"], {}),
        (["class", "1a"], {}),
        (["_x"], {"_x": "x"}),
        (["import-x"], {"import-x": "import_x"}),
    ],
)
def test_a_name_is_cleaned_only_where_that_is_unambiguous(parts: list[str], usable: dict[str, str]) -> None:
    assert attribute_names(parts) == usable


def test_a_provider_named_like_a_builtin_shadows_nothing() -> None:
    assert "list" not in tree("list.all")
    assert "payloads" not in tree("payloads.x")


@pytest.mark.parametrize(
    ("ref", "args", "kwargs", "read"),
    [
        ("pi.read", (), {"path": "x"}, {"path": "x"}),
        ("pi.read", ({"path": "x"},), {}, {"path": "x"}),
        ("pi.read", ("x",), {}, "x"),
        ("tools.search", ("q",), {}, {"query": "q"}),
        ("tools.search", ("q",), {"limit": 3}, {"query": "q", "limit": 3}),
        ("tools.call", ("pi.read", {"path": "x"}), {}, {"ref": "pi.read", "args": {"path": "x"}}),
        ("tools.call", ("pi.read",), {"path": "x"}, {"ref": "pi.read", "args": {"path": "x"}}),
        ("workflow.phase", ("look",), {}, {"name": "look"}),
    ],
)
def test_calls_are_read_as_one_object(ref: str, args: Any, kwargs: Any, read: Any) -> None:
    assert read_call(ref, args, kwargs) == read


MIXTURES: list[tuple[str, Any, Any]] = [
    ("pi.read", ({"path": "x"},), {"limit": 1}),
    ("pi.read", ("x", "y"), {}),
    ("tools.search", ("q", 1, 2), {}),
    ("tools.search", ("q",), {"query": "q"}),
    ("tools.call", ("pi.read", {}), {"path": "x"}),
]


@pytest.mark.parametrize(("ref", "args", "kwargs"), MIXTURES)
def test_mixtures_are_an_error_of_the_program(ref: str, args: Any, kwargs: Any) -> None:
    with pytest.raises(GuestError):
        read_call(ref, args, kwargs)
