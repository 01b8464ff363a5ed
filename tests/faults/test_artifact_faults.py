"""Every file call of saving the compiled surface fails once, and the process stops once at each."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.entropy import (
    CompiledSurface,
    compile_entropy_surface,
    load_compiled_surface,
    save_compiled_surface,
)
from toolfabric.entropy.artifact import compiled_surface_path
from toolfabric.entropy.probes import SCHEMA, surface
from toolfabric.errors import StorageError
from toolfabric.testing.files import Crashed, CrashFiles, FaultyFiles, FullDisk, WatchedFiles

REAL = RealFiles()
LEFT = {"compiled.json", "compiled.json.lock"}


def compiled(name: str) -> CompiledSurface:
    artifact = compile_entropy_surface([], surface(**{name: SCHEMA})).artifact
    assert isinstance(artifact, CompiledSurface)
    return artifact


OLD, NEW = compiled("old"), compiled("new")


def calls_of_saving(folder: Path, old: CompiledSurface | None) -> int:
    if old is not None:
        save_compiled_surface(folder, old)
    probe = WatchedFiles(REAL)
    save_compiled_surface(folder, NEW, files=probe)
    assert probe.open_files == 0
    return probe.calls


def beside(folder: Path) -> set[str]:
    parent = compiled_surface_path(folder).parent
    return {path.name for path in parent.iterdir()} if parent.exists() else set()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("old", [None, OLD], ids=["first", "again"])
def test_a_save_that_fails_anywhere_leaves_the_old_or_the_new_artifact(
    tmp_path: Path, code: int, old: CompiledSurface | None
) -> None:
    total = calls_of_saving(tmp_path / "probe", old)
    for number in range(1, total + 1):
        folder = tmp_path / f"{number}"
        if old is not None:
            save_compiled_surface(folder, old)
        files = FaultyFiles(REAL, fail_at=number, error=OSError(code, os.strerror(code)))
        with pytest.raises(StorageError):
            save_compiled_surface(folder, NEW, files=files)
        assert files.open_files == 0
        assert load_compiled_surface(folder) in (old, NEW)
        assert beside(folder) <= LEFT


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("old", [None, OLD], ids=["first", "again"])
def test_a_save_that_is_stopped_anywhere_leaves_the_old_or_the_new_artifact_and_can_be_repeated(
    tmp_path: Path, old: CompiledSurface | None, *, torn: bool
) -> None:
    total = calls_of_saving(tmp_path / "probe", old)
    for number in range(1, total + 1):
        folder = tmp_path / f"{number}"
        if old is not None:
            save_compiled_surface(folder, old)
        with pytest.raises(Crashed):
            save_compiled_surface(folder, NEW, files=CrashFiles(REAL, stop_at=number, torn=torn))
        assert load_compiled_surface(folder) in (old, NEW)
        save_compiled_surface(folder, NEW)
        assert load_compiled_surface(folder) == NEW


@pytest.mark.parametrize("room", [0, 1, 1_000])
def test_a_full_disk_loses_nothing(tmp_path: Path, room: int) -> None:
    save_compiled_surface(tmp_path, OLD)
    with pytest.raises(StorageError, match="No space left"):
        save_compiled_surface(tmp_path, NEW, files=FullDisk(REAL, room=room))
    assert load_compiled_surface(tmp_path) == OLD
    assert beside(tmp_path) == LEFT
