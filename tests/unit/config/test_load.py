from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs
import pytest

from toolfabric.config.load import (
    agent_folder,
    environment,
    examine_bytes,
    examine_config,
    load_config,
)
from toolfabric.config.records import Config, Loaded, SchemaMode, Source, SourceKind, SourceState
from toolfabric.config.trust import trust_project
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import ConfigError
from toolfabric.policy.risk import Permission
from toolfabric.values import Json, JsonObject


class Place:
    """An agent dir and a project, with their files."""

    def __init__(self, root: Path) -> None:
        self.agent = root / "agent"
        self.project = root / "project"
        self.agent.mkdir()
        (self.project / ".pi").mkdir(parents=True)
        self.globals = self.agent / "fabric.json"
        self.locals = self.project / ".pi" / "fabric.json"
        self.environ = {"FABRIC_AGENT_DIR": str(self.agent)}

    def trust(self) -> None:
        trust_project(self.project, self.locals.read_bytes(), agent_dir=self.agent, files=RealFiles())

    def load(self, overrides: Mapping[str, Json] | None = None) -> Loaded:
        return load_config(self.project, environ=self.environ, overrides=overrides)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def write(path: Path, content: JsonObject) -> None:
    path.write_text(json.dumps(content))


def origin(loaded: Loaded, path: str) -> tuple[Json, SourceKind]:
    (leaf,) = [leaf for leaf in loaded.explain() if leaf.path == path]
    return leaf.value, leaf.source.kind


def test_without_files_everything_is_default_and_nothing_is_made(place: Place) -> None:
    loaded = place.load()
    assert loaded.config == Config()
    assert loaded.warnings == ()
    assert [(one.kind, one.path, one.state) for one in loaded.sources] == [
        (SourceKind.GLOBAL, place.globals, SourceState.ABSENT),
        (SourceKind.PROJECT, place.locals, SourceState.ABSENT),
    ]
    assert list(place.agent.iterdir()) == []


def test_stronger_sources_win_setting_by_setting(place: Place) -> None:
    write(place.globals, {"executor": {"timeoutMs": 1, "maxOutputChars": 101}, "pi": {"allowOutside": True}})
    write(place.locals, {"executor": {"timeoutMs": 2, "memoryLimitBytes": 2_000_000}})
    place.trust()
    loaded = place.load({"executor": {"timeoutMs": 3}})
    assert origin(loaded, "executor.timeoutMs") == (3, SourceKind.COMMAND_LINE)
    assert origin(loaded, "executor.memoryLimitBytes") == (2_000_000, SourceKind.PROJECT)
    assert origin(loaded, "executor.maxOutputChars") == (101, SourceKind.GLOBAL)
    assert origin(loaded, "executor.kernel") == ("python", SourceKind.DEFAULT)
    assert origin(loaded, "agentDir") == (str(place.agent), SourceKind.ENVIRONMENT)
    executor = loaded.config.executor
    assert (executor.timeout_ms, executor.memory_limit_bytes, executor.max_output_chars) == (
        3,
        2_000_000,
        101,
    )
    assert loaded.config.pi.allow_outside
    assert {one.state for one in loaded.sources} == {SourceState.USED}


@pytest.mark.requirement("SCH-008")
def test_the_global_file_may_supply_trusted_commands(place: Place) -> None:
    write(place.globals, {"schema": {"mode": "enforce", "trustedCommands": {"t": {"command": "make"}}}})
    schema = place.load().config.schema
    assert schema.mode is SchemaMode.ENFORCE
    assert list(schema.trusted_commands) == ["t"]


@pytest.mark.requirement("SCH-009", "SCH-010")
def test_the_file_of_an_untrusted_project_is_not_even_opened(place: Place) -> None:
    os.mkfifo(place.locals)  # whoever opened and read it would get an error or wait
    loaded = place.load()
    assert loaded.config == Config()
    assert loaded.sources[1].state is SourceState.UNTRUSTED
    (warning,) = loaded.warnings
    assert "is not trusted and was not read" in str(warning)
    assert "fabric trust" in str(warning)


@pytest.mark.requirement("SCH-009", "SCH-010")
@pytest.mark.parametrize(
    "content", [b"{ malformed", b'{"schema": {"trustedCommands": {"t": {"command": "sh"}}}}']
)
def test_an_untrusted_file_is_never_parsed(place: Place, content: bytes) -> None:
    place.locals.write_bytes(content)
    loaded = place.load()
    assert loaded.config == Config()
    assert len(loaded.warnings) == 1


@pytest.mark.requirement("SCH-009")
def test_a_trusted_file_counts_until_one_byte_changes(place: Place) -> None:
    write(place.locals, {"approvals": {"execute": "allow"}})
    place.trust()
    assert place.load().config.approvals.execute is Permission.ALLOW
    place.locals.write_bytes(place.locals.read_bytes() + b" ")
    loaded = place.load()
    assert loaded.config == Config()
    assert loaded.sources[1].state is SourceState.CHANGED
    assert "has changed since it was trusted" in str(loaded.warnings[0])
    place.trust()
    assert place.load().config.approvals.execute is Permission.ALLOW


@pytest.mark.requirement("SCH-010")
def test_trust_belongs_to_one_folder_and_is_found_through_links_to_it(place: Place, tmp_path: Path) -> None:
    write(place.locals, {"approvals": {"execute": "allow"}})
    place.trust()
    other = tmp_path / "other" / ".pi"
    other.mkdir(parents=True)
    (other / "fabric.json").write_bytes(place.locals.read_bytes())
    (tmp_path / "link").symlink_to("project")
    environ = place.environ
    assert load_config(tmp_path / "other", environ=environ).config == Config()
    linked = load_config(tmp_path / "link", environ=environ)
    assert linked.config.approvals.execute is Permission.ALLOW
    assert linked.sources[1].path == place.locals


def test_a_list_of_trusted_projects_that_cannot_be_read_trusts_nothing(place: Place) -> None:
    write(place.locals, {"approvals": {"execute": "allow"}})
    place.trust()
    (place.agent / "trust.json").write_text("{")
    loaded = place.load()
    assert loaded.config == Config()
    assert loaded.sources[1].state is SourceState.UNTRUSTED
    assert "is not a list of trusted projects" in str(loaded.warnings[0])


def test_a_trusted_project_whose_file_is_gone_is_absent_without_a_word(place: Place) -> None:
    write(place.locals, {})
    place.trust()
    place.locals.unlink()
    loaded = place.load()
    assert loaded.sources[1].state is SourceState.ABSENT
    assert loaded.warnings == ()
    place.locals.symlink_to("nowhere")
    assert place.load().sources[1].state is SourceState.ABSENT


def test_malformed_files_are_told_with_line_and_column(place: Place) -> None:
    place.globals.write_text('{\n  "executor": {,}\n}')
    with pytest.raises(ConfigError) as raised:
        place.load()
    assert str(raised.value) == (
        f"global file {str(place.globals)!r}: line 2, column 16: "
        "not JSON: expecting property name enclosed in double quotes"
    )


def test_all_problems_of_all_sources_are_told_at_once(place: Place) -> None:
    write(place.globals, {"executor": {"timeoutMs": "x", "kernel": 1}})
    write(place.locals, {"mesh": 1})
    place.trust()
    with pytest.raises(ConfigError) as raised:
        place.load({"pi": {"allowOutside": 1}})
    first, second = f"global file {str(place.globals)!r}", f"project file {str(place.locals)!r}"
    assert str(raised.value).splitlines() == [
        f"{first}: executor.kernel: is a number; allowed: one of python, typescript",
        f"{first}: executor.timeoutMs: is a string; allowed: an integer from 1 to 86400000",
        f"{second}: mesh: is a number; allowed: an object",
        "command line: pi.allowOutside: is a number; allowed: true or false",
    ]


def test_examining_gives_problems_as_values(place: Place) -> None:
    place.globals.write_text("[]")
    examined = examine_config(place.project, environ=place.environ)
    assert [one.message for one in examined.problems] == ["is an array; allowed: one JSON object"]
    assert examined.loaded.config == Config()


@pytest.mark.parametrize("which", ["globals", "locals"])
def test_what_is_not_a_regular_file_is_a_problem_and_hangs_nobody(place: Place, which: str) -> None:
    write(place.locals, {})
    place.trust()
    path: Path = getattr(place, which)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="cannot be read: it is not a regular file"):
        place.load()
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read: "):
        place.load()


def test_a_huge_file_is_refused_without_being_held(place: Place) -> None:
    with place.globals.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ConfigError, match="is larger than 1048576 bytes"):
        place.load()


def test_keys_given_twice_are_remarked_on(place: Place) -> None:
    place.globals.write_text('{"pi": {"allowOutside": true, "allowOutside": false}}')
    loaded = place.load()
    assert not loaded.config.pi.allow_outside
    assert [one.path for one in loaded.warnings] == ["pi.allowOutside"]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"FABRIC_AGENT_DIR": "/some/where"}, "/some/where"),
        ({"FABRIC_AGENT_DIR": "~/agent", "HOME": "/home/me"}, "/home/me/agent"),
        ({"FABRIC_AGENT_DIR": "~", "HOME": "/home/me"}, "/home/me"),
    ],
)
def test_the_agent_dir_comes_from_the_environment(environ: dict[str, str], folder: str) -> None:
    assert agent_folder(environ) == (Path(folder), Source(kind=SourceKind.ENVIRONMENT))


@pytest.mark.parametrize("environ", [{}, {"FABRIC_AGENT_DIR": ""}])
def test_else_it_is_the_platforms_user_data_folder(environ: dict[str, str]) -> None:
    expected = platformdirs.user_data_path("fabric", appauthor=False)
    assert agent_folder(environ) == (expected, Source(kind=SourceKind.DEFAULT))
    assert expected.name == "fabric"


@pytest.mark.parametrize("given", ["agent", "./agent", "~other/agent", "~/agent"])
def test_an_agent_dir_that_depends_on_the_working_folder_is_refused(given: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"FABRIC_AGENT_DIR is .* allowed: an absolute path"):
        load_config(tmp_path, environ={"FABRIC_AGENT_DIR": given})


def test_the_environment_is_the_processs_own() -> None:
    assert environment() is os.environ


def test_one_files_content_can_be_examined_before_it_counts() -> None:
    source = Source(kind=SourceKind.PROJECT, path=Path("/p/.pi/fabric.json"))
    parsed = examine_bytes(b'{"pi": {"allowOutside": true}, "x": 1, "mesh": {"maxReadEvents": 0}}', source)
    assert [(leaf.path, leaf.value) for leaf in parsed.leaves] == [("pi.allowOutside", True)]
    assert [one.path for one in parsed.problems] == ["mesh.maxReadEvents"]
    assert [one.path for one in parsed.warnings] == ["x"]
    assert [one.message for one in examine_bytes(b"", source).problems] == [
        "line 1, column 1: not JSON: expecting value"
    ]
