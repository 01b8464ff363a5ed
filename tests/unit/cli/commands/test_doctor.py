"""fabric doctor."""

from __future__ import annotations

from pathlib import Path

from toolfabric.cli.output import Exit

from ..conftest import Run, read


def test_a_good_machine_passes_and_a_program_was_really_run(run: Run, tmp_path: Path) -> None:
    result = run("doctor", "--json")
    found = {one["what"]: one for one in read(result)}
    assert result.exit_code == Exit.OK
    assert found["a program"] == {"what": "a program", "level": "good", "found": "runs", "cost": ""}
    assert "pi (7)" in found["providers"]["found"]
    assert not (tmp_path / "agent" / "sessions").exists()


def test_a_wrong_configuration_is_missing_and_says_where(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "fabric.json").write_text('{"executor": {"timeoutMs": "soon"}}', encoding="utf-8")
    result = run("doctor")
    assert result.exit_code == Exit.FAILED
    assert "executor.timeoutMs" in result.stdout
    assert "!!" in result.stdout


def test_a_typo_in_the_configuration_is_only_limited(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "fabric.json").write_text('{"executr": {}}', encoding="utf-8")
    result = run("doctor")
    assert result.exit_code == Exit.OK
    assert "executor" in result.stdout
