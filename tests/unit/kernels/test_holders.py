"""What a program holds cannot be forged."""

from __future__ import annotations

from uuid import UUID

import pytest
from pydantic_monty import ClassInstance

from toolfabric.kernels.holders import Holders
from toolfabric.kernels.names import GuestError, name_tree
from toolfabric.protocols import ActionDeclaration

NAMES = name_tree(
    [
        ActionDeclaration(ref=ref, description="", input_schema={})
        for ref in ("pi.read", "mcp.github.search", "mcp.github")
    ]
)


@pytest.fixture
def holders() -> Holders:
    return Holders(NAMES)


def held(holders: Holders, name: str) -> ClassInstance:
    found = holders.name(name)
    assert found is not None
    return found


def test_a_namespace_is_one_object_however_often_it_is_named(holders: Holders) -> None:
    assert held(holders, "pi") is held(holders, "pi")
    assert holders.name("nothing") is None


def test_inner_namespaces_go_with_the_outer_one(holders: Holders) -> None:
    inner = held(holders, "mcp").get_eager_attrs()["github"]
    assert holders.called(inner.id, "search") == "mcp.github.search"
    assert holders.called(inner.id, "__call__") == "mcp.github"


def test_a_tool_as_a_value_is_called_by_its_ref(holders: Holders) -> None:
    tool = holders.attribute(held(holders, "pi").id, "read")
    assert callable(tool)
    assert not isinstance(tool, ClassInstance)
    assert holders.called(None, tool.__name__) == "pi.read"
    tool()


def test_only_declared_tools_exist_as_values_but_any_may_be_called(holders: Holders) -> None:
    pi = held(holders, "pi").id
    assert holders.attribute(pi, "raed") is None
    assert holders.called(pi, "raed") == "pi.raed"


@pytest.mark.parametrize(
    ("name", "kind"), [("pi.read", "NameError"), ("pi", "TypeError"), ("open", "NameError")]
)
def test_a_name_alone_calls_nothing(holders: Holders, name: str, kind: str) -> None:
    with pytest.raises(GuestError) as refused:
        holders.called(None, name)
    assert refused.value.kind == kind


def test_unknown_objects_and_bare_namespaces_are_refused(holders: Holders) -> None:
    for holder, name in ((UUID(int=99), "read"), (held(holders, "pi").id, "__call__")):
        with pytest.raises(GuestError):
            holders.called(holder, name)
    with pytest.raises(GuestError, match="search"):
        holders.called(held(holders, "tools").id, "serach")
