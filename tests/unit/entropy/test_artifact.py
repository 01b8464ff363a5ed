"""One guarded reader, and a file that is whole, private, and never overwritten when damaged."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.entropy import (
    CompiledSurface,
    compile_entropy_surface,
    load_compiled_surface,
    parse_compiled_surface,
    save_compiled_surface,
)
from toolfabric.entropy.artifact import (
    MAX_BYTES,
    artifact_bytes,
    compiled_surface_path,
    read_compiled_surface,
    trusted_artifact,
)
from toolfabric.entropy.probes import SCHEMA, legacy_artifact, surface
from toolfabric.errors import RecordError, StorageError


def compiled(**schemas: Any) -> CompiledSurface:
    artifact = compile_entropy_surface([], surface(**(schemas or {"search": SCHEMA}))).artifact
    assert isinstance(artifact, CompiledSurface)
    return artifact


def form(**change: Any) -> dict[str, Any]:
    return {**compiled().to_json(), **change}


@pytest.mark.requirement("ENT-092")
def test_a_compiled_surface_has_exactly_this_form() -> None:
    made = compiled().to_json()
    assert list(made) == [
        *(
            "version",
            "metricVersion",
            "actions",
            "quarantined",
            "normalizations",
            "applied",
            "gate",
            "evidenceDigest",
        ),
    ]
    assert (made["version"], made["metricVersion"], made["actions"], made["quarantined"]) == (2, 3, [], [])
    assert parse_compiled_surface(made) == compiled()
    assert parse_compiled_surface(json.loads(json.dumps(made))) == compiled()


PLAN: dict[str, Any] = compiled().plans[0].to_json()
ENTRY = {"kind": "normal-form", "ref": "a.b", "detail": "1 proven rules"}
GATE: dict[str, Any] = {"passed": True, "beforeScore": 0.5, "afterScore": 0.5, "reasons": []}
OVERLAY = {"ref": "a.b", "inputSchema": {"type": "object"}, "baseSchemaDigest": "any text"}


def with_rules(*rules: Any) -> dict[str, Any]:
    return {"normalizations": [{**PLAN, "rules": list(rules)}]}


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("another version", {"version": 3}),
    ("a version that is no integer", {"version": 2.0}),
    ("a version that is a truth", {"version": True}),
    ("an unknown field", {"hidden": []}),
    ("restrictions", {"actions": [OVERLAY]}),
    ("quarantines", {"quarantined": [{"ref": "a.b", "baseSchemaDigest": "x"}]}),
    ("no plans", {"normalizations": None}),
    ("a plan twice", {"normalizations": [PLAN, PLAN]}),
    ("two plans of a ref", {"normalizations": [PLAN, {**PLAN, "baseSchemaDigest": "0" * 64}]}),
    ("too many plans", {"normalizations": [{**PLAN, "ref": f"a.{at}"} for at in range(1_001)]}),
    ("a plan of another version", {"normalizations": [{**PLAN, "version": 2}]}),
    ("a plan with more in it", {"normalizations": [{**PLAN, "schema": {}}]}),
    ("a plan without a ref", {"normalizations": [{**PLAN, "ref": ""}]}),
    ("a plan with a blank ref", {"normalizations": [{**PLAN, "ref": " \t"}]}),
    ("a plan with an endless ref", {"normalizations": [{**PLAN, "ref": "r" * 1_025}]}),
    ("a plan with half a ref", {"normalizations": [{**PLAN, "ref": "a.\ud800"}]}),
    ("a plan with no digest", {"normalizations": [{**PLAN, "baseSchemaDigest": "x"}]}),
    ("a plan with a digest in capitals", {"normalizations": [{**PLAN, "baseSchemaDigest": "A" * 64}]}),
    ("no rules", with_rules()),
    ("an unknown kind", with_rules({"kind": "default-value", "key": "x"})),
    ("a rule with more in it", with_rules({"kind": "key-form", "key": "x", "to": "y"})),
    ("a rule without a key", with_rules({"kind": "key-form"})),
    ("an endless key", with_rules({"kind": "key-form", "key": "k" * 129})),
    ("too many rules", with_rules(*[{"kind": "key-form", "key": "x"}] * 129)),
    ("a metric version of 0", {"metricVersion": 0}),
    ("a metric version that is no integer", {"metricVersion": 3.5}),
    ("a metric version without end", {"metricVersion": 2**60}),
    ("a blank digest", {"evidenceDigest": "  "}),
    ("no digest", {"evidenceDigest": None}),
    ("a blank kind", {"applied": [{**ENTRY, "kind": ""}]}),
    ("a blank ref", {"applied": [{**ENTRY, "ref": " "}]}),
    ("a blank detail", {"applied": [{**ENTRY, "detail": "\n"}]}),
    ("too many entries", {"applied": [ENTRY] * 257}),
    ("an entry with more in it", {"applied": [{**ENTRY, "by": "me"}]}),
    ("a gate that is none", {"gate": True}),
    ("a gate without scores", {"gate": {"passed": True, "reasons": []}}),
    ("a gate that says 1", {"gate": {**GATE, "passed": 1}}),
    ("a score that is none", {"gate": {**GATE, "afterScore": float("nan")}}),
    ("an infinite score", {"gate": {**GATE, "beforeScore": float("inf")}}),
    ("a score below zero", {"gate": {**GATE, "beforeScore": -0.5}}),
    ("a blank reason", {"gate": {**GATE, "reasons": [""]}}),
]


@pytest.mark.requirement("ENT-102", "ENT-109")
@pytest.mark.parametrize(("name", "change"), REFUSED)
def test_the_reader_refuses(name: str, change: dict[str, Any]) -> None:
    assert parse_compiled_surface(form(**change)) is None, name
    with pytest.raises(RecordError, match="not a compiled surface: "):
        read_compiled_surface(form(**change))
    with pytest.raises(ValueError, match="not a compiled surface: "):
        trusted_artifact(form(**change))


def test_bounds_of_the_reader_are_met_exactly() -> None:
    plans = [{**PLAN, "ref": f"a.{at:04}"} for at in range(1_000)]
    changes: list[dict[str, Any]] = [
        {"normalizations": plans},
        {"normalizations": []},
        {"applied": [ENTRY] * 256},
        {"gate": {**GATE, "passed": False, "reasons": ["a reason"]}},
        with_rules(*[{"kind": "key-form", "key": "k" * 128}] * 128),
    ]
    for change in changes:
        assert parse_compiled_surface(form(**change)) is not None


@pytest.mark.parametrize("value", [None, True, 5, 0.5, "text", [], {}, [form()], b"{}", object(), {1: 2}])
def test_what_is_no_artifact_is_none(value: Any) -> None:
    assert parse_compiled_surface(value) is None


@pytest.mark.requirement("ENT-096", "ENT-097")
def test_a_version_1_artifact_loads_and_has_no_plans() -> None:
    legacy = read_compiled_surface(legacy_artifact())
    assert legacy.to_json() == legacy_artifact()
    assert legacy.plans == ()
    assert parse_compiled_surface({**legacy_artifact(), "normalizations": []}) is not None


LEGACY_FLAWS: list[dict[str, Any]] = [
    {"normalizations": [PLAN]},
    {"actions": [{**OVERLAY, "ref": ""}]},
    {"actions": [{**OVERLAY, "baseSchemaDigest": " "}]},
    {"actions": [{"ref": "a.b", "baseSchemaDigest": "x"}]},
    {"quarantined": [{"ref": "a.b"}]},
    {"quarantined": ["a.b"]},
    {"unknown": 1},
]


@pytest.mark.parametrize("change", LEGACY_FLAWS)
def test_a_version_1_artifact_is_guarded_as_well(change: Any) -> None:
    assert parse_compiled_surface({**legacy_artifact(), **change}) is None


def test_a_record_that_was_made_by_hand_goes_through_the_same_reader() -> None:
    forged = CompiledSurface.from_json(form(evidenceDigest=""))
    with pytest.raises(ValueError, match="blank"):
        trusted_artifact(forged)


# --- the file ------------------------------------------------------------------------------------


@pytest.mark.requirement("ENT-105")
def test_the_artifact_lives_below_the_agent_directory(tmp_path: Path) -> None:
    assert load_compiled_surface(tmp_path) is None
    assert save_compiled_surface(tmp_path, compiled()) is True
    assert (tmp_path / "fabric" / "entropy" / "compiled.json").is_file()
    assert load_compiled_surface(tmp_path) == compiled()


def test_the_file_is_private_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        save_compiled_surface(tmp_path, compiled())
    finally:
        os.umask(before)
    path = compiled_surface_path(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


class CountingFiles(RealFiles):
    """The real file system, counting what is put in place."""

    def __init__(self) -> None:
        self.replaced = 0

    def replace(self, *args: Any, **kwargs: Any) -> None:
        self.replaced += 1
        super().replace(*args, **kwargs)


def test_saving_identical_bytes_does_nothing(tmp_path: Path) -> None:
    files = CountingFiles()
    assert save_compiled_surface(tmp_path, compiled(), files=files) is True
    before = compiled_surface_path(tmp_path).stat()
    assert save_compiled_surface(tmp_path, compiled().to_json(), files=files) is False
    after = compiled_surface_path(tmp_path).stat()
    assert files.replaced == 1
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert (
        save_compiled_surface(tmp_path, compiled(open={"type": "object"}, search=SCHEMA), files=files) is True
    )


@pytest.mark.requirement("ENT-095")
def test_the_bytes_hold_no_clock_and_no_chance() -> None:
    first = artifact_bytes(compiled())
    assert first == artifact_bytes(compiled())
    assert first.endswith(b"}\n")
    assert json.loads(first) == compiled().to_json()


DAMAGE = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff",
    b"\xef\xbb\xbf{}",
    b'{"version":2}',
    b"[" * 100_000,
    b'{"version":NaN}',
]


@pytest.mark.requirement("ENT-109")
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_shown_and_never_overwritten(tmp_path: Path, damage: bytes) -> None:
    save_compiled_surface(tmp_path, compiled())
    path = compiled_surface_path(tmp_path)
    path.write_bytes(damage)
    with pytest.raises(RecordError, match=r"compiled\.json' is damaged and is left as it is"):
        load_compiled_surface(tmp_path)
    with pytest.raises(RecordError, match="move it away to compile anew"):
        save_compiled_surface(tmp_path, compiled())
    assert path.read_bytes() == damage


@pytest.mark.requirement("ENT-102", "ENT-109")
@pytest.mark.parametrize(
    ("name", "change"), [case for case in REFUSED if "ref" not in case[0] and "score" not in case[0]]
)
def test_a_refused_artifact_is_damage(tmp_path: Path, name: str, change: dict[str, Any]) -> None:
    save_compiled_surface(tmp_path, compiled())
    compiled_surface_path(tmp_path).write_text(json.dumps(form(**change)), encoding="utf-8")
    with pytest.raises(RecordError):
        load_compiled_surface(tmp_path)
    assert name


def test_an_endless_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    save_compiled_surface(tmp_path, compiled())
    with compiled_surface_path(tmp_path).open("r+b") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(RecordError, match="more than"):
        load_compiled_surface(tmp_path)


def test_what_cannot_be_read_is_shown(tmp_path: Path) -> None:
    path = compiled_surface_path(tmp_path)
    path.mkdir(parents=True)
    with pytest.raises(StorageError, match="could not read"):
        load_compiled_surface(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "fabric").write_bytes(b"")
    with pytest.raises(StorageError):
        load_compiled_surface(tmp_path / "other")


def test_a_pipe_in_the_place_of_the_file_does_not_hang(tmp_path: Path) -> None:
    path = compiled_surface_path(tmp_path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(RecordError, match="no regular file"):
        load_compiled_surface(tmp_path)


def test_what_the_reader_refuses_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a compiled surface"):
        save_compiled_surface(tmp_path, form(version=7))
    assert not (tmp_path / "fabric").exists()
