from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from toolfabric.cli.commands.trust import command
from toolfabric.cli.output import Exit
from toolfabric.config.load import load_config
from toolfabric.config.trust import content_digest, trusted_projects
from toolfabric.errors import ConfigError
from toolfabric.policy.risk import Permission


@pytest.fixture(name="agent")
def fixture_agent(tmp_path: Path) -> Path:
    return tmp_path / "agent"


@pytest.fixture(name="project")
def fixture_project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".pi").mkdir(parents=True)
    (folder / ".pi" / "fabric.json").write_text('{"approvals": {"execute": "allow"}}')
    return folder


def run(agent: Path, *arguments: str) -> Result:
    runner = CliRunner(env={"FABRIC_AGENT_DIR": str(agent)})
    return runner.invoke(command, arguments, standalone_mode=False)


def execute_permission(agent: Path, project: Path) -> Permission:
    return load_config(project, environ={"FABRIC_AGENT_DIR": str(agent)}).config.approvals.execute


def test_trusting_shows_what_the_file_sets_and_makes_it_count(agent: Path, project: Path) -> None:
    assert execute_permission(agent, project) is Permission.ASK
    result = run(agent, str(project))
    assert result.return_value is Exit.OK
    digest = content_digest((project / ".pi" / "fabric.json").read_bytes())
    assert result.stdout.splitlines() == [
        f"Trusted {project} with this content of .pi/fabric.json ({digest}). It sets:",
        "setting            value",
        'approvals.execute  "allow"',
    ]
    assert execute_permission(agent, project) is Permission.ALLOW


def test_json_has_the_project_the_digest_and_the_settings(agent: Path, project: Path) -> None:
    told = json.loads(run(agent, "--json", str(project)).stdout)
    assert told == {
        "project": str(project),
        "trusted": True,
        "digest": content_digest((project / ".pi" / "fabric.json").read_bytes()),
        "settings": [{"path": "approvals.execute", "value": "allow"}],
    }


def test_a_file_that_sets_nothing_says_so_and_its_remarks_are_told(agent: Path, project: Path) -> None:
    (project / ".pi" / "fabric.json").write_text('{"approval": {}}')
    result = run(agent, str(project))
    assert result.stdout.splitlines()[-1] == "(nothing)"
    assert "did you mean 'approvals'?" in result.stderr


@pytest.mark.parametrize("content", ["{", '{"approvals": {"execute": "always"}}'])
def test_a_wrong_file_is_not_trusted(agent: Path, project: Path, content: str) -> None:
    (project / ".pi" / "fabric.json").write_text(content)
    result = run(agent, str(project))
    assert isinstance(result.exception, ConfigError)
    assert "was not trusted, because its file is wrong" in str(result.exception)
    assert not agent.exists()


def test_where_there_is_no_file_there_is_nothing_to_trust(agent: Path, tmp_path: Path) -> None:
    result = run(agent, str(tmp_path))
    assert isinstance(result.exception, click.UsageError)
    assert "there is nothing to trust" in str(result.exception)
    assert not agent.exists()


def test_a_file_that_cannot_be_read_is_not_trusted(agent: Path, project: Path) -> None:
    (project / ".pi" / "fabric.json").unlink()
    (project / ".pi" / "fabric.json").mkdir()
    result = run(agent, str(project))
    assert isinstance(result.exception, ConfigError)
    assert "cannot be read: it is not a regular file" in str(result.exception)


def test_revoking_ends_it_also_when_the_folder_is_gone(agent: Path, project: Path) -> None:
    run(agent, str(project))
    (project / ".pi" / "fabric.json").unlink()
    (project / ".pi").rmdir()
    project.rmdir()
    assert run(agent, "--revoke", str(project)).stdout == f"{project} is not trusted any more.\n"
    assert trusted_projects(agent) == {}
    again = run(agent, "--revoke", str(project))
    assert again.stdout == f"{project} was not trusted.\n"
    assert again.return_value is Exit.OK
    told = json.loads(run(agent, "--revoke", "--json", str(project)).stdout)
    assert told == {"project": str(project), "trusted": False, "was": False}


def test_the_list_says_what_became_of_each_file(agent: Path, tmp_path: Path) -> None:
    for name in ("changed", "gone", "odd", "same"):
        (tmp_path / name / ".pi").mkdir(parents=True)
        (tmp_path / name / ".pi" / "fabric.json").write_text("{}")
        run(agent, str(tmp_path / name))
    (tmp_path / "changed" / ".pi" / "fabric.json").write_text('{"pi": {}}')
    (tmp_path / "gone" / ".pi" / "fabric.json").unlink()
    (tmp_path / "odd" / ".pi" / "fabric.json").unlink()
    (tmp_path / "odd" / ".pi" / "fabric.json").mkdir()
    told = json.loads(run(agent, "--list", "--json").stdout)
    assert [(Path(one["project"]).name, one["state"]) for one in told] == [
        ("changed", "changed"),
        ("gone", "gone"),
        ("odd", "unreadable"),
        ("same", "trusted"),
    ]
    rows = [line.split() for line in run(agent, "--list").stdout.splitlines()]
    assert rows[0] == ["project", "state"]
    assert rows[4] == [str(tmp_path / "same"), "trusted"]


def test_an_empty_list_is_told_as_a_remark(agent: Path) -> None:
    result = run(agent, "--list")
    assert (result.stdout, result.stderr) == ("", "No project is trusted.\n")
    assert json.loads(run(agent, "--list", "--json").stdout) == []


def test_listing_and_revoking_at_once_is_wrong_use(agent: Path) -> None:
    assert isinstance(run(agent, "--list", "--revoke").exception, click.UsageError)


def test_names_of_folders_cannot_steer_the_terminal(agent: Path, tmp_path: Path) -> None:
    folder = tmp_path / "\x1b[2J\n"
    (folder / ".pi").mkdir(parents=True)
    (folder / ".pi" / "fabric.json").write_text("{}")
    for arguments in ((str(folder),), ("--list",), ("--list", "--json"), ("--revoke", str(folder))):
        assert "\x1b" not in run(agent, *arguments).output
    assert "\x1b" not in str(run(agent, str(folder / "none")).exception)
