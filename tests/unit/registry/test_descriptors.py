"""Descriptors are checked when they are mounted."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from toolfabric import ActionSpec
from toolfabric.errors import MountError
from toolfabric.registry.descriptors import bind, check_provider, read_spec
from toolfabric.values import Origin, Risk

from .conftest import Made, action


def mounted(*actions: Any, name: str = "tool") -> Any:
    return bind(Made(name), list(actions), origin=Origin.THIRD_PARTY, generation=1)


def declared(**schema: Any) -> ActionSpec:
    return ActionSpec(name="run", description="Runs.", input_schema=schema, risk="read")


def test_a_plain_mapping_is_read_like_a_descriptor() -> None:
    spec = read_spec(
        {
            "name": "run",
            "description": "Runs.",
            "inputSchema": {"type": "object"},
            "risk": ["write", "execute"],
        }
    )
    assert (spec.name, spec.risks) == ("run", (Risk.WRITE, Risk.EXECUTE))
    assert read_spec({"name": "run", "description": "", "input_schema": {}, "risk": "read"}).name == "run"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"name": "run"},
        {"name": "run", "description": "Runs.", "inputSchema": {"type": "object"}, "risk": "danger"},
        {"name": "run", "description": "Runs.", "inputSchema": {"type": "object"}, "risk": []},
        {"name": 3, "description": "Runs.", "inputSchema": {"type": "object"}, "risk": "read"},
        {"name": "run", "description": "Runs.", "inputSchema": [], "risk": "read"},
        {"name": "run", "description": "Runs.", "inputSchema": {}, "risk": "read", "typo": 1},
        7,
        None,
    ],
)
def test_a_descriptor_without_its_form_is_refused(given: Any) -> None:
    with pytest.raises(MountError, match=r"^provider 'tool': action "):
        mounted(given)


@pytest.mark.parametrize("name", ["", "a b", "1a", "-a", "a..b", ".a", "a.", "é", "a\nb", "x" * 2_000])
def test_a_bad_action_name_is_refused(name: str) -> None:
    with pytest.raises(MountError):
        mounted(action(name))


@pytest.mark.parametrize("name", ["github.search_issues", "$servers", "_x", "get-issue", "A.b.C"])
def test_names_as_servers_use_them_are_taken(name: str) -> None:
    assert list(mounted(action(name)).actions) == [name]


@pytest.mark.parametrize(
    "name", ["", "Tool", "1tool", "a.b", "a b", "tools", "workflow", "fabric", "payloads", "x" * 65]
)
def test_a_bad_or_reserved_provider_name_is_refused(name: str) -> None:
    with pytest.raises(MountError):
        check_provider(Made(name))


def test_a_name_that_is_listed_twice_is_refused() -> None:
    with pytest.raises(MountError, match="listed twice"):
        mounted(action("run"), action("run"))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": "object", "properties": []},
        {"type": "object", "required": "x"},
        {"type": "object", "properties": {"x": {"pattern": "("}}},
        {"type": "array"},
        {"$ref": "#/nowhere"},
        {"type": "object", "properties": {"x": {"minimum": "1"}}},
    ],
)
def test_a_schema_that_is_none_or_takes_no_object_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(MountError, match=r"^provider 'tool': action 'run': "):
        mounted(declared(**schema))


def test_a_schema_of_unsafe_depth_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _level in range(5_000):
        deep = {"properties": {"x": deep}}
    with pytest.raises(MountError):
        mounted(declared(type="object", **deep))


def test_a_remote_reference_is_never_fetched() -> None:
    heard: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)

        def listen() -> None:
            try:
                heard.append(server.accept())
            except TimeoutError:
                return

        thread = threading.Thread(target=listen)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(MountError):
            mounted(declared(type="object", properties={"x": {"$ref": url}}))
        thread.join()
    assert heard == []


def test_the_digest_follows_the_descriptor() -> None:
    one = mounted(declared(type="object")).actions["run"].digest
    same = mounted(declared(type="object")).actions["run"].digest
    other = mounted(declared(type="object", properties={})).actions["run"].digest
    assert one == same != other


def test_a_later_change_of_the_providers_schema_does_not_change_the_action() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}}
    found = mounted(declared(**schema)).actions["run"]
    schema["properties"]["x"]["type"] = "integer"
    assert found.validator.accepts({"x": "text"})
