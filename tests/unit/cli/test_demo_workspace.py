"""The demo's workspace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolfabric.cli.demo_workspace import PROGRAM_NAME, make_workspace
from toolfabric.errors import StorageError


def test_it_is_a_clean_repository_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    folder = make_workspace()
    monkeypatch.delenv("GIT_DIR")
    ran = subprocess.run(
        ["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
    assert (folder / PROGRAM_NAME).is_file()
    assert folder.parent == tmp_path.resolve()


def test_a_temporary_folder_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StorageError, match="TMPDIR"):
        make_workspace()
