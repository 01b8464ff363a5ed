from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric._base.validation import compile_schema
from toolfabric.errors import InvokeError
from toolfabric.protocols import CallContext
from toolfabric.providers.state import StateProvider
from toolfabric.state.control import State
from toolfabric.testing.files import Crashed
from toolfabric.testing.mesh import MemoryMesh, StoppingMesh
from toolfabric.values import JsonObject, Risk

pytestmark = pytest.mark.anyio

CONTEXT = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"))


class Bench:
    """A provider over a mesh in memory; every call goes through its declared schemas."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.store = MemoryMesh(clock=SystemClock())
        self.provider = StateProvider(self.state())

    def state(self, **stopping: Any) -> State:
        return State(
            StoppingMesh(self.store, **stopping),
            clock=SystemClock(),
            ids=SystemIds(),
            actor="me",
            workspace=self.workspace,
            patience_seconds=0,
        )

    async def call(self, name: str, **args: Any) -> Any:
        spec = self.provider.describe(name)
        assert spec is not None
        assert spec.output_schema is not None
        assert compile_schema(spec.input_schema).violations(args) == ()
        answer = await self.provider.invoke(name, args, CONTEXT)
        assert compile_schema(spec.output_schema).violations(answer) == ()
        return answer


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def codes(answer: Any) -> list[str]:
    return [reason["code"] for reason in answer["reasons"]]


def test_the_actions_are_those_of_the_design_with_their_risks(bench: Bench) -> None:
    assert {spec.name: spec.risks for spec in bench.provider.list()} == {
        "transition": (Risk.WRITE,),
        "get": (Risk.READ,),
        "history": (Risk.READ,),
        "complexity": (Risk.READ,),
        "verify": (Risk.EXECUTE,),
        "goal": (Risk.WRITE,),
        "checkGoal": (Risk.READ,),
    }
    assert all(spec.input_schema["additionalProperties"] is False for spec in bench.provider.list())
    assert all((spec.effect is None) == (spec.risks == (Risk.READ,)) for spec in bench.provider.list())
    assert bench.provider.describe("nothing") is None


async def test_work_goes_from_nothing_to_a_certified_goal(bench: Bench) -> None:
    (bench.workspace / "a.py").write_text("x = 1 if y else 2\n")
    assert await bench.call("get") == {
        "head": None,
        "version": 0,
        "certified": False,
        "reasons": (await bench.call("get"))["reasons"],
    }
    goal = {"text": "Ship", "to": "done", "certified": True, "complexity": [{"path": "a.py", "atMost": 1.0}]}
    assert await bench.call("goal", **goal, ifVersion=0) == {"ok": True, "version": 1}
    assert (await bench.call("goal", text="other", ifVersion=0)) == {"ok": False, "version": 1}
    check = await bench.call("checkGoal")
    assert (check["reached"], check["version"]) == (False, 1)
    assert codes(check) == ["other_state", "no_head", "no_certificate"]
    moved = await bench.call(
        "transition",
        to="done",
        summary="All of it",
        ifVersion=0,
        commands=[
            {"name": "ok", "command": sys.executable, "args": ["-c", "print('fine')"], "timeoutMs": 50_000}
        ],
        complexity=[{"path": "a.py", "atMost": 1}],
        data=[1],
    )
    assert moved["ok"] is True
    assert (moved["from"], moved["head"]["version"], moved["head"]["to"]) == (None, 1, "done")
    assert codes(await bench.call("checkGoal")) == ["no_certificate"]
    verified = await bench.call("verify", version=1)
    assert (verified["verified"], verified["reasons"]) == (True, [])
    assert [(one["status"], one["output"]) for one in verified["results"]] == [("confirmed", "fine\n")]
    got = await bench.call("get")
    assert (got["head"], got["certified"], got["certificate"]) == (
        moved["head"],
        True,
        verified["certificate"],
    )
    assert got["transition"]["data"] == [1]
    assert await bench.call("checkGoal") == {
        "reached": True,
        "reasons": [],
        "goal": (await bench.call("checkGoal"))["goal"],
        "version": 1,
    }


async def test_a_lost_race_is_an_answer_with_the_head_as_it_is(bench: Bench) -> None:
    assert await bench.call("transition", to="x", summary="", ifVersion=3) == {"ok": False, "head": None}
    moved = await bench.call("transition", to="x", summary="", ifVersion=0)
    assert await bench.call("transition", to="y", summary="", ifVersion=0) == {
        "ok": False,
        "head": moved["head"],
    }
    again = await bench.call("transition", to="y", summary="", ifVersion=1.0)
    assert again["from"] == moved["head"]


async def test_history_comes_in_pages(bench: Bench) -> None:
    assert await bench.call("history") == {"transitions": []}
    for version in range(3):
        await bench.call("transition", to=f"s{version}", summary="", ifVersion=version)
    page = await bench.call("history", limit=2)
    assert [one["to"] for one in page["transitions"]] == ["s2", "s1"]
    assert {"committedAt", "proof", "from", "summary"} <= set(page["transitions"][0])
    page = await bench.call("history", cursor=page["cursor"])
    assert ([one["to"] for one in page["transitions"]], "cursor" in page) == (["s0"], False)


async def test_decision_points_are_counted_by_file_and_all_together(bench: Bench) -> None:
    (bench.workspace / "a.py").write_text("a or b or c\n")
    (bench.workspace / "b.ts").write_text("if (a) {}\n")
    found = await bench.call("complexity", paths=["a.py", "b.ts"])
    assert found["decisions"] == 3
    assert [(one["path"], one["language"], one["decisions"]) for one in found["files"]] == [
        ("a.py", "python", 2),
        ("b.ts", "typescript", 1),
    ]


async def test_a_failed_verification_names_its_reasons(bench: Bench) -> None:
    await bench.call(
        "transition", to="x", summary="", ifVersion=0, commands=[{"name": "no", "command": "/bin/false"}]
    )
    found = await bench.call("verify", version=1)
    assert (found["verified"], codes(found)) == (False, ["command_nonconfirmed"])
    assert "certificate" not in found
    assert codes(await bench.call("verify", version=2)) == ["version"]


async def test_a_pending_head_is_shown_and_fails_the_next_move(bench: Bench) -> None:
    with pytest.raises(Crashed):
        await StateProvider(bench.state(stop_at=3)).invoke(
            "transition", {"to": "x", "summary": "", "ifVersion": 0}, CONTEXT
        )
    got = await bench.call("get")
    assert (got["head"], got["pending"]["to"]) == (None, "x")
    with pytest.raises(InvokeError, match="fabric state discard"):
        await bench.call("transition", to="y", summary="", ifVersion=0)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("transition", {"to": "\x1b", "summary": "", "ifVersion": 0}),
        ("transition", {"to": "x", "summary": "", "ifVersion": 0, "data": 2**60}),
        ("history", {"cursor": "nothing"}),
        ("complexity", {"paths": ["missing.py"]}),
        ("complexity", {"paths": ["../a.py"]}),
        ("goal", {"text": "x" * 5_000}),
        ("nothing", {}),
    ],
)
async def test_what_cannot_be_done_fails_and_changes_nothing(
    bench: Bench, name: str, args: JsonObject
) -> None:
    with pytest.raises(InvokeError):
        await bench.provider.invoke(name, args, CONTEXT)
    assert (await bench.store.list()).entries == ()


@pytest.mark.parametrize(
    "args",
    [
        {"to": "x", "summary": ""},
        {"to": "x", "summary": "", "ifVersion": 0, "shell": True},
        {
            "to": "x",
            "summary": "",
            "ifVersion": 0,
            "commands": [{"name": "n", "command": "c", "shell": True}],
        },
        {
            "to": "x",
            "summary": "",
            "ifVersion": 0,
            "commands": [{"name": "n", "command": "c", "timeoutMs": 1}],
        },
        {"to": "x\n", "summary": "", "ifVersion": 0},
        {"to": "x", "summary": "", "ifVersion": -1},
    ],
)
def test_the_schema_of_a_transition_is_closed(bench: Bench, args: JsonObject) -> None:
    spec = bench.provider.describe("transition")
    assert spec is not None
    assert not compile_schema(spec.input_schema).accepts(args)


async def test_what_would_be_run_is_shown_before_it_is_allowed(bench: Bench) -> None:
    given: JsonObject = {
        "to": "x",
        "summary": "s",
        "ifVersion": 0,
        "commands": [{"name": "n", "command": "a b", "args": ["$c"]}],
    }
    shown = await bench.provider.preview("transition", given)
    assert shown is not None
    assert shown.startswith('Move the state to:\n{\n  "to": "x",')
    await bench.call("transition", **given)
    assert await bench.provider.preview("verify", {"version": 1}) == "n: 'a b' '$c' (30000 ms)"
    nothing = "Run nothing: the head has no commands, or is at another version"
    assert await bench.provider.preview("verify", {"version": 2}) == nothing
    assert await bench.provider.preview("goal", {"text": "x"}) == 'Set the goal:\n{\n  "text": "x"\n}'
    assert await bench.provider.preview("get", {}) is None
