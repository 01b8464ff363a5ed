"""fabric entropy."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from toolfabric.cli.output import Exit

from ..conftest import Run, read


@pytest.fixture
def recorded(run: Run) -> None:
    """Two sessions: one call in three was rejected, one was saved."""
    run("exec", "-", given='return await pi.read(path="a.txt")')
    run("exec", "-", "--model", "maker/m-1", given='await pi.read(Path="a.txt")\nawait pi.read(pth="a.txt")')


@pytest.mark.usefixtures("recorded")
@pytest.mark.requirement("ENT-110")
def test_the_report_counts_rejections_models_and_saved_calls(run: Run) -> None:
    form = read(run("entropy", "--json"))
    assert form["report"]["totals"]["actionOperations"] == 3
    assert form["report"]["totals"]["invocationRejections"] == 1
    assert form["report"]["score"] == 0.333333
    assert [one["model"] for one in form["report"]["byModel"]] == ["maker/m-1"]
    assert form["witnesses"] == {"normalized": 1, "succeeded": 1}
    assert form["trend"]["count"] == 2
    shown = run("entropy").stdout
    assert "333.333 per 1,000" in shown
    assert "Normal forms saved 1 calls" in shown


@pytest.mark.requirement("ENT-111", "ENT-114", "ENT-116")
def test_the_declared_surface_is_exported_whole_and_can_be_reported_against(run: Run) -> None:
    printed = read(run("entropy", "export"))
    assert run("entropy", "export", "surface.json").exit_code == Exit.OK
    assert json.loads(Path("surface.json").read_text(encoding="utf-8")) == printed
    assert [one["ref"] for one in printed["actions"]][:2] == ["pi.bash", "pi.edit"]
    assert len(read(run("entropy", "--surface", "surface.json", "--json"))["plans"]) == 7


@pytest.mark.requirement("ENT-112", "ENT-113", "ENT-115")
def test_an_artifact_goes_out_and_comes_back_proved(run: Run, tmp_path: Path) -> None:
    assert run("entropy", "compile").exit_code == Exit.OK
    assert run("entropy", "export-artifact", "artifact.json").exit_code == Exit.OK
    form = json.loads(Path("artifact.json").read_text(encoding="utf-8"))
    form["normalizations"][0]["rules"][0]["key"] = "forged"
    Path("forged.json").write_text(json.dumps(form), encoding="utf-8")
    (tmp_path / "agent" / "fabric" / "entropy" / "compiled.json").unlink()
    imported = read(run("entropy", "import", "forged.json", "--json"))
    assert imported["merged"]["droppedNormalizations"] == 1
    assert len(imported["merged"]["file"]["normalizations"]) == 6
    assert "pi.bash" in run("entropy", "import", "forged.json").stdout


def test_compiling_twice_converges(run: Run) -> None:
    run("entropy", "compile")
    assert read(run("entropy", "compile", "--json"))["status"] == "converged"


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere",),
        ("--surface", "nowhere"),
        ("--surface", "a.txt"),
        ("import", "a.txt"),
        ("export-artifact",),
    ],
)
def test_invalid_input_is_told(run: Run, arguments: tuple[str, ...]) -> None:
    assert isinstance(run("entropy", *arguments).exception, click.UsageError)


def test_no_session_at_all_is_a_report_of_nothing(run: Run) -> None:
    assert read(run("entropy", "--json"))["report"]["score"] == 0
