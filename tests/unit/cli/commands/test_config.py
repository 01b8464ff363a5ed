from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolfabric.cli.commands.config import command
from toolfabric.cli.output import Exit
from toolfabric.config.parse import parse
from toolfabric.config.trust import trust_project
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import ConfigError


@pytest.fixture(name="agent")
def fixture_agent(tmp_path: Path) -> Path:
    agent = tmp_path / "agent"
    agent.mkdir()
    return agent


@pytest.fixture(name="project")
def fixture_project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return tmp_path / "project"


def run(agent: Path, *arguments: str) -> Result:
    runner = CliRunner(env={"FABRIC_AGENT_DIR": str(agent)})
    return runner.invoke(command, arguments, standalone_mode=False)


def test_show_lists_every_setting_with_its_value_and_origin(agent: Path, project: Path) -> None:
    (agent / "fabric.json").write_text('{"executor": {"timeoutMs": 5}}')
    result = run(agent, "show", "--cwd", str(project))
    assert result.return_value is Exit.OK
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["setting", "value", "from"]
    assert [line.split()[0] for line in lines[1:]] == ["agentDir", *(leaf.path for leaf in parse([]).leaves)]
    (timeout,) = [line.split() for line in lines if line.startswith("executor.timeoutMs")]
    assert timeout[1:] == ["5", "global", "file", repr(str(agent / "fabric.json"))]
    assert result.stderr == ""


def test_show_with_a_prefix_lists_what_is_below_it(agent: Path, project: Path) -> None:
    result = run(agent, "show", "mesh", "--cwd", str(project))
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == [
        "mesh.maxEventBytes",
        "mesh.maxReadEvents",
    ]
    one = run(agent, "show", "mesh.maxReadEvents", "--cwd", str(project))
    assert len(one.stdout.splitlines()) == 2
    assert "no setting is below mes" in str(run(agent, "show", "mes", "--cwd", str(project)).exception)


def test_show_as_json_has_sources_settings_and_warnings(agent: Path, project: Path) -> None:
    (agent / "fabric.json").write_text(
        '{"schema": {"mode": "loud"}, "mcp": {"servers": {"a": {"url": "http://x?k"}}}}'
    )
    (project / ".pi" / "fabric.json").write_text('{"pi": {"allowOutside": true}}')
    result = run(agent, "show", "--json", "--cwd", str(project))
    shown: dict[str, Any] = json.loads(result.stdout)
    assert shown["agentDir"] == str(agent)
    assert shown["sources"] == [
        {"kind": "global file", "path": str(agent / "fabric.json"), "state": "used"},
        {"kind": "project file", "path": str(project / ".pi" / "fabric.json"), "state": "untrusted"},
    ]
    settings = {one["path"]: one for one in shown["settings"]}
    assert settings["mcp.servers.a"] == {
        "path": "mcp.servers.a",
        "value": {"url": "http://x?(hidden)"},
        "from": "global file",
        "file": str(agent / "fabric.json"),
        "allowed": "a server object",
    }
    assert settings["pi.allowOutside"]["value"] is False
    assert [(one["from"], one["path"]) for one in shown["warnings"]] == [
        ("project file", ""),
        ("global file", "schema.mode"),
    ]
    assert result.stderr.count("note: ") == 2


def test_show_of_a_wrong_file_is_an_error(agent: Path, project: Path) -> None:
    (agent / "fabric.json").write_text("[")
    result = run(agent, "show", "--cwd", str(project))
    assert isinstance(result.exception, ConfigError)
    assert result.stdout == ""


def test_check_of_right_files_is_quiet_about_them(agent: Path, project: Path) -> None:
    (agent / "fabric.json").write_text("{}")
    (project / ".pi" / "fabric.json").write_text("{}")
    trust_project(project, b"{}", agent_dir=agent, files=RealFiles())
    result = run(agent, "check", "--cwd", str(project))
    assert result.return_value is Exit.OK
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows == [
        ["source", "file", "state"],
        ["global", "file", str(agent / "fabric.json"), "used"],
        ["project", "file", str(project / ".pi" / "fabric.json"), "used"],
    ]
    assert result.stderr == ""


def test_check_tells_all_that_is_wrong_with_the_code_for_it(agent: Path, project: Path) -> None:
    (agent / "fabric.json").write_text('{"mesh": 1, "pi": {"allowOutside": 1}, "x": 1}')
    result = run(agent, "check", "--cwd", str(project))
    assert result.return_value is Exit.CONFIG
    file = repr(str(agent / "fabric.json"))
    known = "executor, approvals, entropy, repairs, schema, mcp, mesh, components, pi"
    assert result.stderr.splitlines() == [
        f"note: global file {file}: x: is not a known key and has no effect; known are {known}",
        f"wrong: global file {file}: mesh: is a number; allowed: an object",
        f"wrong: global file {file}: pi.allowOutside: is a number; allowed: true or false",
    ]
    as_json = run(agent, "check", "--json", "--cwd", str(project))
    assert as_json.return_value is Exit.CONFIG
    told = json.loads(as_json.stdout)
    assert told["ok"] is False
    assert [one["path"] for one in told["problems"]] == ["mesh", "pi.allowOutside"]
    assert [one["path"] for one in told["warnings"]] == ["x"]
    assert [one["state"] for one in told["sources"]] == ["used", "absent"]


def test_remarks_alone_are_no_failure(agent: Path, project: Path) -> None:
    (agent / "fabric.json").write_text('{"x": 1}')
    result = run(agent, "check", "--json", "--cwd", str(project))
    assert result.return_value is Exit.OK
    assert json.loads(result.stdout)["ok"] is True


def test_keys_of_a_file_cannot_steer_the_terminal(agent: Path, project: Path) -> None:
    (agent / "fabric.json").write_text('{"\\u001b[2J": 1, "approvals": {"\\u009b": 1}, "mesh": {"a\\nb": 2}}')
    for arguments in (("show",), ("show", "--json"), ("check",), ("check", "--json")):
        result = run(agent, *arguments, "--cwd", str(project))
        assert not set("\x1b\x9b") & set(result.output)
        assert "a\nb" not in result.output
