from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from toolfabric._base.clock import SystemClock
from toolfabric._base.validation import compile_schema
from toolfabric.errors import InvokeError, StorageError
from toolfabric.mesh.members import Identity, Membership
from toolfabric.mesh.records import Draft
from toolfabric.protocols import CallContext
from toolfabric.providers.mesh import MeshProvider
from toolfabric.testing.mesh import MemoryMesh, StoppingMesh
from toolfabric.values import JsonObject, Risk

pytestmark = pytest.mark.anyio

CONTEXT = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"))


class LateClock(SystemClock):
    """An hour ago, until it is caught up."""

    late = timedelta(hours=1)

    def now(self) -> datetime:
        return super().now() - self.late


class Bench:
    """A provider over a mesh in memory; every call goes through its declared schemas."""

    def __init__(self) -> None:
        clock = SystemClock()
        self.store = MemoryMesh(clock=clock)
        self.membership = Membership(self.store, identity("me", session="s"), clock=clock)
        self.provider = MeshProvider(self.store, self.membership)

    async def call(self, name: str, **args: Any) -> Any:
        spec = self.provider.describe(name)
        assert spec is not None
        assert spec.output_schema is not None
        assert compile_schema(spec.input_schema).violations(args) == ()
        answer = await self.provider.invoke(name, args, CONTEXT)
        assert compile_schema(spec.output_schema).violations(answer) == ()
        return answer


def identity(name: str, *, session: str | None = None, machine: str = "m") -> Identity:
    return Identity(id=name, kind="cli", machine=machine, pid=7, cwd=Path("/w"), session=session)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_actions_are_those_of_the_design_with_their_risks(bench: Bench) -> None:
    assert {spec.name: spec.risks for spec in bench.provider.list()} == {
        "self": (Risk.READ,),
        "publish": (Risk.WRITE,),
        "read": (Risk.READ,),
        "members": (Risk.READ,),
        "get": (Risk.READ,),
        "put": (Risk.WRITE,),
        "delete": (Risk.WRITE,),
        "list": (Risk.READ,),
    }
    assert all(spec.input_schema["additionalProperties"] is False for spec in bench.provider.list())
    assert all((spec.effect is None) == (spec.risks == (Risk.READ,)) for spec in bench.provider.list())
    assert bench.provider.describe("nothing") is None


async def test_events_are_published_and_read_from_a_cursor(bench: Bench) -> None:
    event = await bench.call("publish", topic="t", kind="k", to="you", text="x", data={"a": None})
    assert event == {
        "sequence": 1,
        "id": event["id"],
        "time": event["time"],
        "topic": "t",
        "kind": "k",
        "from": "me",
        "to": "you",
        "text": "x",
        "data": {"a": None},
    }
    bare = await bench.call("publish", topic="t", kind="k")
    assert "data" not in bare
    null = await bench.call("publish", topic="t", kind="k", data=None)
    assert null["data"] is None
    page = await bench.call("read", topic="t", limit=2)
    assert page == {"topic": "t", "events": [event, bare], "cursor": 2, "latest": 3, "missed": 0}
    assert (await bench.call("read", topic="t", cursor=2.0, waitMs=10))["events"] == [null]
    assert (await bench.call("read", topic="t", cursor=3, waitMs=1))["events"] == []


async def test_keys_are_swapped_and_a_lost_race_is_an_answer(bench: Bench) -> None:
    assert await bench.call("get", key="k") == {"found": False, "key": "k", "version": 0}
    assert await bench.call("put", key="k", value=None, ifVersion=0) == {"ok": True, "key": "k", "version": 1}
    found = await bench.call("get", key="k")
    assert found == {"found": True, "key": "k", "version": 1, "value": None, "updatedAt": found["updatedAt"]}
    assert await bench.call("put", key="k", value=1, ifVersion=0) == {"ok": False, "key": "k", "version": 1}
    assert await bench.call("put", key="k", value=1) == {"ok": True, "key": "k", "version": 2}
    assert (await bench.call("delete", key="k", ifVersion=1))["ok"] is False
    assert await bench.call("delete", key="k", ifVersion=2.0) == {"ok": True, "key": "k", "version": 3}
    assert await bench.call("put", key="k", value=1, ifVersion=0) == {"ok": True, "key": "k", "version": 4}


async def test_keys_are_listed_without_values_unless_asked_for(bench: Bench) -> None:
    for key in ("a/1", "a/2", "b"):
        await bench.call("put", key=key, value=key)
    page = await bench.call("list", prefix="a/", limit=1)
    [entry] = page["entries"]
    assert (set(entry), page["cursor"]) == ({"key", "version", "updatedAt"}, "a/1")
    page = await bench.call("list", prefix="a/", cursor="a/1", values=True)
    assert [(one["key"], one["value"]) for one in page["entries"]] == [("a/2", "a/2")]
    assert "cursor" not in page
    assert len((await bench.call("list"))["entries"]) == 3


async def test_members_are_told_apart(bench: Bench) -> None:
    assert (await bench.call("self"))["id"] == "me"
    await bench.membership.join()
    await Membership(bench.store, identity("late"), clock=LateClock()).join()
    await Membership(bench.store, identity("far", machine="x"), clock=SystemClock()).join()

    async def names(**args: Any) -> list[tuple[str, bool, bool]]:
        found = (await bench.call("members", **args))["members"]
        return sorted((one["id"], one["stale"], one["self"]) for one in found)

    assert await names() == [("far", False, False), ("me", False, True)]
    assert await names(includeStale=True) == [
        ("far", False, False),
        ("late", True, False),
        ("me", False, True),
    ]
    assert await names(scope="machine") == [("me", False, True)]
    assert await names(scope="session") == [("me", False, True)]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("put", {"key": "state/head", "value": 1}),
        ("put", {"key": "schema/workspace", "value": 1}),
        ("delete", {"key": "goal/current"}),
        ("publish", {"topic": "fabric.schema", "kind": "committed"}),
        ("publish", {"topic": "fabric", "kind": "k"}),
        ("put", {"key": "a b", "value": 1}),
        ("get", {"key": "a//b"}),
        ("read", {"topic": "a..b"}),
        ("read", {"topic": "t", "cursor": 7}),
        ("list", {"prefix": "//"}),
        ("put", {"key": "k", "value": "x" * 300_000}),
        ("nothing", {}),
    ],
)
async def test_what_cannot_be_done_fails_and_changes_nothing(
    bench: Bench, name: str, args: JsonObject
) -> None:
    await bench.store.put("state/head", "the host's")
    await bench.store.put("goal/current", "the host's")
    before = (await bench.store.list(), await bench.store.topics())
    with pytest.raises(InvokeError):
        await bench.provider.invoke(name, args, CONTEXT)
    assert (await bench.store.list(), await bench.store.topics()) == before


async def test_programs_read_what_is_the_hosts(bench: Bench) -> None:
    await bench.store.put("state/head", 1)
    await bench.store.append(Draft(topic="fabric.schema", kind="k", sender="host"))
    assert (await bench.call("get", key="state/head"))["value"] == 1
    assert (await bench.call("list", prefix="state/"))["entries"][0]["key"] == "state/head"
    assert (await bench.call("read", topic="fabric.schema"))["latest"] == 1


async def test_a_mesh_that_fails_fails_the_call_with_its_words() -> None:
    store = StoppingMesh(MemoryMesh(clock=SystemClock()), stop_at=1, error=StorageError("the disk is full"))
    provider = MeshProvider(store, Membership(store, identity("me"), clock=SystemClock()))
    with pytest.raises(InvokeError, match="the disk is full"):
        await provider.invoke("put", {"key": "k", "value": 1}, CONTEXT)


def test_changes_are_shown_before_they_are_allowed(bench: Bench) -> None:
    changes: dict[str, JsonObject] = {
        "publish": {"topic": "t", "kind": "k", "text": "x"},
        "put": {"key": "k", "value": [1], "ifVersion": 0},
        "delete": {"key": "k", "ifVersion": 3},
        "get": {"key": "k"},
    }
    shown = {name: bench.provider.preview(name, args) for name, args in changes.items()}
    assert shown == {
        "publish": "Publish 'k' on topic 't':\n{\n  \"text\": \"x\"\n}",
        "put": "Set key 'k' if it is not there to:\n[\n  1\n]",
        "delete": "Remove key 'k' if it is at version 3",
        "get": None,
    }
    assert bench.provider.preview("delete", {"key": "k"}) == "Remove key 'k'"
