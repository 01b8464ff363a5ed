"""fabric sessions."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from ..conftest import Run, read


def test_recorded_sessions_are_listed_newest_first_and_shown(run: Run, workspace: Path) -> None:
    assert read(run("sessions", "list", "--json")) == []
    assert "No session is recorded" in run("sessions", "list").stderr
    run("exec", "-", given="return 1")
    run("exec", "-", given='await pi.read(path="a.txt")\nawait pi.raed(path="a.txt")')
    listed = read(run("sessions", "list", "--json"))
    assert [one["cwd"] for one in listed] == [str(workspace)] * 2
    assert listed[0]["timestamp"] >= listed[1]["timestamp"]
    shown = run("sessions", "show").stdout
    assert "fabric_exec" in shown
    assert "failed at resolve" in shown
    by_id = read(run("sessions", "show", listed[1]["id"], "--json"))
    assert [one["trace"]["outcome"] for one in by_id["executions"]] == ["succeeded"]
    assert read(run("sessions", "show", listed[1]["path"], "--json")) == by_id


def test_all_workspaces_can_be_listed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("exec", "-", given="return 1")
    monkeypatch.chdir(tmp_path)
    assert read(run("sessions", "list", "--json")) == []
    assert len(read(run("sessions", "list", "--all", "--json"))) == 1


@pytest.mark.parametrize("session", [(), ("ffffffff",)])
def test_a_session_that_is_not_there_is_told(run: Run, session: tuple[str, ...]) -> None:
    result = run("sessions", "show", *session)
    assert isinstance(result.exception, click.UsageError)
    assert "sessions list --all" in result.exception.format_message()


def test_an_ambiguous_beginning_is_told(run: Run) -> None:
    run("exec", "-", given="return 1")
    run("exec", "-", given="return 1")
    result = run("sessions", "show", "0")
    assert isinstance(result.exception, click.UsageError)
    assert "2 sessions begin so" in result.exception.format_message()
