"""The embedded host."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolfabric import ActionSpec, Fabric
from toolfabric.config.records import Config
from toolfabric.entropy.artifact import compiled_surface_path
from toolfabric.errors import ApproveError, ConfigError, KernelError, MountError, ValidateError
from toolfabric.runtime import Options
from toolfabric.values import Json, JsonObject

pytestmark = pytest.mark.anyio
PLAIN = Options(plugins=False)


@pytest.fixture(autouse=True)
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "agent"
    monkeypatch.setenv("FABRIC_AGENT_DIR", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    return folder


class Adder:
    name = "adder"
    description = "Adds."

    def __init__(self, *, bad: bool = False) -> None:
        self.bad = bad
        self.closed = 0

    def list(self) -> Sequence[ActionSpec]:
        properties: JsonObject = {"left_side": {"type": "integer"}, "right": {"type": "integer"}}
        schema: JsonObject = {
            "type": "object",
            "additionalProperties": False,
            "required": ["left_side", "right"],
            "properties": properties,
        }
        name = "bad name" if self.bad else "add"
        return [ActionSpec(name=name, description="Adds two.", input_schema=schema, risk="read")]

    def describe(self, name: str) -> ActionSpec | None:
        return self.list()[0]

    def invoke(self, name: str, args: JsonObject, context: Any) -> Json:
        return int(str(args["left_side"])) + int(str(args["right"]))

    def close(self) -> None:
        self.closed += 1


async def test_a_program_runs_on_real_files_and_leaves_a_session(workspace: Path, agent: Path) -> None:
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        result = await fabric.execute(
            'found = await pi.grep(pattern=payloads["word"])\nreturn found["matches"][0]["line"]',
            payloads={"word": "two"},
        )
    assert (result.success, result.value, result.error) == (True, 2, None)
    assert result.trace["operations"] == [
        {
            "type": "call",
            "sequence": 1,
            "ref": "pi.grep",
            "provider": "pi",
            "action": "grep",
            "args": {},
            "outcome": "succeeded",
        }
    ]
    assert result.session is not None
    assert result.session.is_relative_to(agent / "sessions")


@pytest.mark.parametrize("awaited", ["awaited", "left to the next call"])
async def test_a_mounted_provider_can_be_called_and_is_closed_with_the_host(
    workspace: Path, awaited: str
) -> None:
    provider = Adder()
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        mounting = fabric.mount(provider)
        if awaited == "awaited":
            await mounting
        assert await fabric.call("adder.add", {"left_side": 1, "right": 2}) == 3
        assert "adder.add" in json.dumps(fabric.surface())
        assert (await fabric.execute("return await adder.add(left_side=2, right=3)")).value == 5
    assert provider.closed == 1


async def test_a_refused_provider_is_told_where_it_is_awaited_or_at_the_next_call(workspace: Path) -> None:
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        with pytest.raises(MountError, match="bad name"):
            await fabric.mount(Adder(bad=True))
        fabric.mount(Adder(bad=True))
        with pytest.raises(MountError, match="bad name"):
            await fabric.execute("return 1")
        assert (await fabric.execute("return 1")).value == 1


@pytest.mark.requirement("ENT-106", "ENT-105")
async def test_normal_forms_are_compiled_in_the_background_and_used(workspace: Path, agent: Path) -> None:
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        await fabric.mount(Adder())
        await fabric.compiled()
        assert await fabric.call("adder.add", {"leftSide": "1", "right": 2}) == 3
    assert agent / "fabric" / "entropy" / "compiled.json" == compiled_surface_path(agent)
    assert compiled_surface_path(agent).exists()


@pytest.mark.requirement("ENT-108")
async def test_turning_entropy_off_turns_normalization_off(workspace: Path, agent: Path) -> None:
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        await fabric.compiled()
    async with Fabric.open(workspace, {"entropy": {"enabled": False}}, options=PLAIN) as fabric:
        await fabric.compiled()
        with pytest.raises(ValidateError):
            await fabric.call("pi.read", {"Path": "a.txt"})


@pytest.mark.requirement("ENT-109")
async def test_a_damaged_artifact_is_a_warning_and_the_host_still_works(workspace: Path, agent: Path) -> None:
    path = compiled_surface_path(agent)
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        assert any(str(path) in warning for warning in fabric.warnings)
        assert (await fabric.execute("return 1")).value == 1
        with pytest.raises(ValidateError):
            await fabric.call("pi.read", {"Path": "a.txt"})
    assert path.read_text(encoding="utf-8") == "{"


async def test_authored_aliases_come_from_the_configuration(workspace: Path) -> None:
    rows: list[Json] = [
        {"kind": "keyAlias", "ref": "pi.read", "from": "file", "to": "path"},
        {"kind": "actionAlias", "ref": "pi.read", "from": "pi.cat", "to": "pi.read"},
    ]
    async with Fabric.open(workspace, {"repairs": {"rows": rows}}, options=PLAIN) as fabric:
        value = await fabric.call("pi.cat", {"file": "a.txt"})
    assert isinstance(value, dict)
    assert value["text"] == "one\ntwo\n"


async def test_writing_is_refused_where_nobody_is_asked_and_allowed_by_configuration(workspace: Path) -> None:
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        with pytest.raises(ApproveError, match="--yes write"):
            await fabric.call("pi.write", {"path": "b.txt", "content": "x"})
    assert not (workspace / "b.txt").exists()
    async with Fabric.open(workspace, {"approvals": {"write": "allow"}}, options=PLAIN) as fabric:
        await fabric.call("pi.write", {"path": "b.txt", "content": "x"})
    assert (workspace / "b.txt").read_text(encoding="utf-8") == "x"


async def test_two_hosts_share_one_workspace(workspace: Path) -> None:
    async with Fabric.open(workspace, options=PLAIN) as one, Fabric.open(workspace, options=PLAIN) as other:
        first, second = await one.execute("return 1"), await other.execute("return 2")
    assert (first.value, second.value) == (1, 2)
    assert first.session != second.session


async def test_a_whole_configuration_can_be_given(workspace: Path) -> None:
    async with Fabric.open(workspace, Config(), options=PLAIN) as fabric:
        assert fabric.config == Config()
        assert fabric.cwd == workspace.resolve()


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"executor": {"timeoutMs": "soon"}}, ConfigError),
        ({"approvals": {"write": "maybe"}}, ConfigError),
        ({"executor": {"kernel": "typescript"}}, KernelError),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(
    workspace: Path, config: JsonObject, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        Fabric.open(workspace, config, options=PLAIN)


def test_a_workspace_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a folder that exists"):
        Fabric.open(tmp_path / "nowhere")


async def test_a_vanished_workspace_ends_in_a_clear_error(workspace: Path) -> None:
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        (workspace / "a.txt").unlink()
        workspace.rmdir()
        result = await fabric.execute('return await pi.read(path="a.txt")')
    assert not result.success
    assert "pi.read" in (result.error or "")


@pytest.mark.parametrize(
    "args", [{"path": {1}}, {"path": float("nan")}, object(), {1: 2}], ids=["set", "nan", "object", "key"]
)
async def test_arguments_that_are_no_json_are_refused_at_validate(workspace: Path, args: Any) -> None:
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        with pytest.raises(ValidateError, match=r"^pi\.read: "):
            await fabric.call("pi.read", args)


async def test_a_refresh_that_failed_becomes_a_warning(workspace: Path) -> None:
    provider = Announcing()
    async with Fabric.open(workspace, options=PLAIN) as fabric:
        await fabric.mount(provider)
        assert fabric.warnings == ()
        provider.bad = True
        provider.changed()
        async with asyncio.timeout(10):
            while not fabric.warnings:  # noqa: ASYNC110 -- nothing announces the end of a refresh
                await asyncio.sleep(0.01)
        assert "bad name" in fabric.warnings[0]


class Announcing(Adder):
    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        self.changed = changed
        return lambda: None
