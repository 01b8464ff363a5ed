"""How places are named, and how the system's errors become sentences."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolfabric.durable.confine import Confined
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import PathError, StorageError
from toolfabric.providers.pi.workspace import PiLimits, Workspace, explained, json_name


@pytest.fixture
def workspace(ws: Path) -> Iterator[Workspace]:
    with Confined(ws) as confined:
        yield Workspace(confined=confined, folder=ws, files=RealFiles(), limits=PiLimits())


@pytest.fixture
def outside(ws: Path) -> Iterator[Workspace]:
    with Confined(Path("/"), base=ws) as confined:
        yield Workspace(confined=confined, folder=ws, files=RealFiles(), limits=PiLimits())


def test_a_place_has_the_name_that_leads_there(workspace: Workspace, outside: Workspace, ws: Path) -> None:
    assert workspace.name_of(()) == "."
    assert workspace.name_of(("a", "b")) == "a/b"
    inside = (*outside.confined.base, "a")
    assert outside.name_of(outside.confined.base) == "."
    assert outside.name_of(inside) == "a"
    assert outside.name_of(("etc", "passwd")) == "/etc/passwd"
    assert outside.name_of(outside.confined.base[:-1]) == os.path.realpath(ws.parent)


def test_a_name_that_is_not_utf8_is_spelled_out() -> None:
    assert json_name("a\udcff\udce9b") == r"a\xff\xe9b"
    assert json_name("é\n") == "é\n"


@pytest.mark.parametrize(
    ("error", "path", "message"),
    [
        (PathError("as it is"), "f", "as it is"),
        (StorageError("as it is"), "f", "as it is"),
        (PermissionError(errno.EACCES, "Permission denied"), "a\nb", r"'a\nb': permission denied"),
        (OSError(errno.EIO, "Input/output error"), None, "'.': input/output error"),
        (OSError(), "f", "'f': oSError"),
    ],
)
def test_an_error_is_told_with_the_path(
    error: Exception, path: str | None, message: str, workspace: Workspace
) -> None:
    assert str(explained(error, path, workspace)) == message


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("readme.md", "did you mean 'README.md'?"),
        ("src/man.py", "did you mean 'src/main.py'?"),
        ("sc/main.py", "did you mean 'src'?"),
        ("{ws}/src/man.py", "did you mean '{ws}/src/main.py'?"),
        ("@src/main.py", "did you mean 'src/main.py'?"),
        ("zzz", "pi.ls and pi.find show what is there"),
        ("https://x/y", "pi.ls and pi.find show what is there"),
    ],
)
def test_a_missing_path_brings_what_is_near(path: str, hint: str, workspace: Workspace, ws: Path) -> None:
    (ws / "src").mkdir()
    (ws / "src/main.py").touch()
    (ws / "README.md").touch()
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory")
    message = str(explained(missing, path.format(ws=ws), workspace))
    assert message == f"there is no '{path.format(ws=ws)}'; {hint.format(ws=ws)}"


def test_a_workspace_is_gone_when_its_path_leads_elsewhere(
    workspace: Workspace, outside: Workspace, ws: Path
) -> None:
    assert not workspace.gone()
    assert not outside.gone()
    ws.rename(ws.parent / "moved")
    assert workspace.gone()
    assert outside.gone()
    assert "is gone or was replaced" in str(explained(FileNotFoundError(errno.ENOENT, ""), "f", workspace))
