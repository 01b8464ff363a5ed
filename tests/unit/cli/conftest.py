"""The command line in process, over a small workspace and a private agent folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolfabric.cli.main import fabric

Run = Callable[..., Result]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("one\nTODO two\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(tmp_path: Path, workspace: Path) -> Run:
    """Run one command; ``exit_code`` is what the command returned, or click's own for wrong use."""

    def go(*arguments: str, given: str | bytes | None = None) -> Result:
        runner = CliRunner(env={"FABRIC_AGENT_DIR": str(tmp_path / "agent")})
        result = runner.invoke(fabric, arguments, input=given, standalone_mode=False)
        if isinstance(result.return_value, int) and result.exception is None:
            result.exit_code = result.return_value
        return result

    return go


def read(result: Result) -> Any:
    """The JSON that a command printed."""
    return json.loads(result.stdout)
