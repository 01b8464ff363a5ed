"""fabric certify entropy."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from toolfabric.cli.output import Exit

from ..conftest import Run, read


@pytest.mark.requirement("ENT-117", "ENT-118", "ENT-122", "ENT-123")
def test_every_check_is_told_with_its_cases_and_the_report_is_written(run: Run, tmp_path: Path) -> None:
    run("exec", "-", given='await pi.read(Path="a.txt")')
    run("entropy", "export", "surface.json")
    sessions = next((tmp_path / "agent" / "sessions").iterdir())
    result = run(
        "certify",
        "entropy",
        "--sessions",
        str(sessions),
        "--surface",
        "surface.json",
        "--trial",
        "--json",
        "report.json",
    )
    assert result.exit_code == Exit.OK
    assert "certified" in result.stdout
    assert "trial: clean; 1 calls" in result.stdout
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["passed"] is True
    assert all(check["cases"] > 0 for check in report["checks"])
    assert read(run("certify", "entropy", "--json", "-"))["passed"] is True


@pytest.mark.requirement("ENT-119", "ENT-124")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--surface", "a.txt"),
        ("--trial",),
        ("--trial", "--sessions", "."),
        ("--sessions", ".", "--surface", "a.txt"),
        ("--sessions", "nowhere"),
        ("--artifact", "a.txt"),
    ],
)
def test_invalid_input_exits_nonzero(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("certify", "entropy", *arguments)
    assert isinstance(result.exception, click.UsageError)
