"""The looks behind ``fabric doctor``."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.cli.checkup import examine


def test_what_is_missing_says_what_it_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_AGENT_DIR", str(tmp_path / "agent"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {one.what: one for one in examine(tmp_path)}
    assert found["git"].level == "limited"
    assert "demo" in found["git"].cost
    assert found["Python"].level == "good"


def test_a_program_that_does_not_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_AGENT_DIR", str(tmp_path / "agent"))
    fake = tmp_path / "git"
    fake.write_text("not a program", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {one.what: one for one in examine(tmp_path)}
    assert "does not run" in found["git"].found
