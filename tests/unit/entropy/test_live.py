"""Plans in force: only what the live surface proves, and nothing from a damaged artifact."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.entropy import compile_entropy_surface, load_compiled_surface, save_compiled_surface
from toolfabric.entropy.artifact import compiled_surface_path
from toolfabric.entropy.live import NormalForms
from toolfabric.testing.files import FaultyFiles
from toolfabric.values import JsonObject

pytestmark = pytest.mark.anyio


def surface(**properties: JsonObject) -> JsonObject:
    """A surface of one closed action ``x.run``."""
    schema: JsonObject = {"type": "object", "additionalProperties": False, "properties": {**properties}}
    return {"version": 1, "actions": [{"ref": "x.run", "inputSchema": schema}]}


ONE = surface(file_path={"type": "string"})
OTHER = surface(file_path={"type": "string"}, count={"type": "integer"})


def forms(agent: Path, told: list[str], **more: Any) -> NormalForms:
    return NormalForms(agent, files=more.pop("files", RealFiles()), report=told.append, **more)


@pytest.mark.requirement("ENT-104", "ENT-106")
async def test_compiling_puts_plans_in_force_and_keeps_them(tmp_path: Path) -> None:
    told: list[str] = []
    first = forms(tmp_path, told)
    first.load(ONE)
    assert dict(first.plans) == {}
    await first.compile(ONE)
    assert list(first.plans) == ["x.run"]
    second = forms(tmp_path, told)
    second.load(ONE)
    assert dict(second.plans) == dict(first.plans)
    assert told == []


async def test_a_plan_that_the_live_schema_does_not_prove_is_not_in_force(tmp_path: Path) -> None:
    made = forms(tmp_path, [])
    await made.compile(ONE)
    late = forms(tmp_path, [])
    late.load(OTHER)
    assert dict(late.plans) == {}
    await late.compile(OTHER)
    assert list(late.plans) == ["x.run"]


@pytest.mark.requirement("ENT-104")
async def test_a_changed_surface_drops_its_plans_at_once(tmp_path: Path) -> None:
    made = forms(tmp_path, [])
    await made.compile(ONE)
    made.surface_changed(OTHER)
    assert dict(made.plans) == {}
    made.surface_changed(ONE)
    assert list(made.plans) == ["x.run"]


@pytest.mark.requirement("ENT-109")
async def test_a_damaged_artifact_is_told_and_neither_used_nor_overwritten(tmp_path: Path) -> None:
    path = compiled_surface_path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"version": 2, ')
    told: list[str] = []
    made = forms(tmp_path, told)
    made.load(ONE)
    await made.compile(ONE)
    assert dict(made.plans) == {}
    assert len(told) == 1
    assert str(path) in told[0]
    assert path.read_bytes() == b'{"version": 2, '


@pytest.mark.requirement("ENT-102")
async def test_a_forged_plan_in_the_artifact_does_nothing(tmp_path: Path) -> None:
    outcome = compile_entropy_surface([], ONE)
    forged = outcome.to_json()["artifact"]
    assert isinstance(forged, dict)
    text = json.dumps(forged).replace("file_path", "filepath")
    save_compiled_surface(tmp_path, json.loads(text))
    made = forms(tmp_path, [])
    made.load(ONE)
    assert dict(made.plans) == {}


@pytest.mark.requirement("ENT-108")
async def test_nothing_is_in_force_or_written_when_entropy_is_off(tmp_path: Path) -> None:
    await forms(tmp_path, []).compile(ONE)
    before = load_compiled_surface(tmp_path)
    off = forms(tmp_path, [], enabled=False)
    off.load(ONE)
    off.surface_changed(ONE)
    await off.compile(OTHER)
    assert dict(off.plans) == {}
    assert load_compiled_surface(tmp_path) == before


async def test_plans_that_cannot_be_kept_are_in_force_even_so_and_that_is_told(tmp_path: Path) -> None:
    full = FaultyFiles(RealFiles(), on="write", error=OSError(errno.ENOSPC, "No space left on device"))
    told: list[str] = []
    made = forms(tmp_path, told, files=full)
    made.load(ONE)
    await made.compile(ONE)
    assert list(made.plans) == ["x.run"]
    assert len(told) == 1
    assert "No space left on device" in told[0]
    assert load_compiled_surface(tmp_path) is None
