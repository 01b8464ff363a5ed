"""fabric demo."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from toolfabric.cli.output import Exit

from ..conftest import Run, read


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


def test_the_demo_shows_program_value_record_witness_and_next_commands(run: Run) -> None:
    result = run("demo")
    assert result.exit_code == Exit.OK
    for part in (
        "await workflow.parallel",
        '"todos": 3',
        "succeeded, normalized",
        "key-form of path",
        "sessions show",
    ):
        assert part in result.stdout


def test_its_workspace_is_a_git_repository_with_the_written_file(run: Run) -> None:
    form = read(run("demo", "--json"))
    workspace = Path(form["workspace"])
    assert (workspace / ".git").is_dir()
    assert (workspace / "TODO.md").read_text(encoding="utf-8").count("- shop/") == 3
    assert "generated" not in (workspace / "TODO.md").read_text(encoding="utf-8")
    saved = [one for one in form["trace"]["operations"] if "normalization" in one]
    assert [one["ref"] for one in saved] == ["pi.read"]


def test_without_git_it_says_so(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    result = run("demo")
    assert "git is not installed" in str(result.exception)
