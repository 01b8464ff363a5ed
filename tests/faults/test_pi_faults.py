"""Every call that changes files fails once, and stops once: ``pi.write`` and ``pi.edit`` leave old or new."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import InvokeError
from toolfabric.protocols import CallContext, FileOps
from toolfabric.providers.pi import PiProvider
from toolfabric.testing.files import Crashed, CrashFiles, FaultyFiles, FullDisk, WatchedFiles
from toolfabric.values import JsonObject

pytestmark = pytest.mark.anyio

OLD = b"old content\n" * 50
NEW = b"new content\n" * 50
CALLS: list[tuple[str, JsonObject]] = [
    ("write", {"path": "folder/f", "content": NEW.decode()}),
    ("edit", {"path": "folder/f", "oldText": OLD.decode(), "newText": NEW.decode()}),
    ("write", {"path": "made/deep/f", "content": NEW.decode()}),
]
ERRORS = [
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EIO, os.strerror(errno.EIO)),
    OSError(errno.EROFS, os.strerror(errno.EROFS)),
    PermissionError(errno.EACCES, os.strerror(errno.EACCES)),
]


def fresh(folder: Path) -> Path:
    (folder / "folder").mkdir(parents=True)
    (folder / "folder/f").write_bytes(OLD)
    return folder


async def made(folder: Path, files: FileOps, name: str, args: JsonObject) -> None:
    provider = PiProvider(folder, files=files)
    try:
        await provider.invoke(name, args, CallContext(invocation_id="i", call_id="fabric_1", cwd=folder))
    finally:
        provider.close()


async def how_many(folder: Path, name: str, args: JsonObject) -> int:
    watched = WatchedFiles(RealFiles())
    await made(fresh(folder), watched, name, args)
    assert watched.open_files == 0
    return watched.calls


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: errno.errorcode[error.errno])
@pytest.mark.parametrize(("name", "args"), CALLS)
async def test_whichever_call_fails_the_file_is_whole_and_nothing_else_is_left(
    name: str, args: JsonObject, error: OSError, tmp_path: Path
) -> None:
    total = await how_many(tmp_path / "count", name, args)
    path = str(args["path"])
    before = {"folder/f": OLD}
    for number in range(1, total + 1):
        folder = fresh(tmp_path / str(number))
        files = FaultyFiles(RealFiles(), fail_at=number, error=error)
        with pytest.raises(InvokeError) as caught:
            await made(folder, files, name, args)
        assert os.strerror(error.errno or 0) in str(caught.value)
        assert files.open_files == 0
        assert files_in(folder) in (before, {**before, path: NEW})


@pytest.mark.parametrize(("name", "args"), CALLS)
async def test_whichever_call_it_dies_at_the_file_is_whole(
    name: str, args: JsonObject, tmp_path: Path
) -> None:
    total = await how_many(tmp_path / "count", name, args)
    path = str(args["path"])
    for number in range(1, total + 1):
        folder = fresh(tmp_path / str(number))
        with pytest.raises(Crashed):
            await made(folder, CrashFiles(RealFiles(), stop_at=number, torn=True), name, args)
        left = files_in(folder)
        assert left["folder/f"] in {OLD, NEW}
        assert left.get(path) in {None, OLD, NEW}
        assert all("/.fabric-" in one for one in left if one not in {"folder/f", path})


@pytest.mark.parametrize(("name", "args"), CALLS)
async def test_a_disk_that_fills_up_at_any_byte_keeps_the_old_content(
    name: str, args: JsonObject, tmp_path: Path
) -> None:
    for room in range(0, len(NEW), 97):
        folder = fresh(tmp_path / str(room))
        with pytest.raises(InvokeError, match="No space left on device"):
            await made(folder, FullDisk(RealFiles(), room=room), name, args)
        assert files_in(folder) == {"folder/f": OLD}


@pytest.mark.parametrize(("name", "args"), CALLS[:2])
async def test_the_content_is_safe_before_it_has_the_name_and_the_name_before_it_is_told(
    name: str, args: JsonObject, tmp_path: Path
) -> None:
    files = CrashFiles(RealFiles())
    await made(fresh(tmp_path / "ws"), files, name, args)
    steps = [change.method for change in files.log]
    assert steps.index("fsync") < steps.index("replace")
    assert steps[-1] == "fsync"


@pytest.mark.parametrize(
    "name", ["new\nline", "\x1b[2J\x1b]0;title\x07", "\u202egnp.exe", "\udcff\udcfe", "a" * 255]
)
async def test_a_hostile_name_is_written_and_never_steers_a_terminal(name: str, tmp_path: Path) -> None:
    folder = fresh(tmp_path / "ws")
    await made(folder, RealFiles(), "write", {"path": name, "content": "x"})
    assert (folder / name).read_text() == "x"
    for files in (FullDisk(RealFiles(), room=0), FaultyFiles(RealFiles(), on="replace")):
        with pytest.raises(InvokeError) as caught:
            await made(folder, files, "write", {"path": name, "content": "y"})
        assert str(caught.value).isprintable()
    with pytest.raises(InvokeError) as caught:
        await made(folder, RealFiles(), "edit", {"path": name, "oldText": "z", "newText": ""})
    assert str(caught.value).isprintable()
    assert (folder / name).read_text() == "x"


@pytest.mark.parametrize(("what", "where"), [("ws", "away"), ("ws/folder", "ws/x")])
async def test_a_folder_that_vanishes_in_between_loses_nothing(what: str, where: str, tmp_path: Path) -> None:
    class Vanishing(WatchedFiles):
        """Takes the folder away while the new content is being written."""

        def write(self, fd: int, data: bytes | memoryview) -> int:
            (tmp_path / what).rename(tmp_path / where)
            return super().write(fd, data)

    fresh(tmp_path / "ws")
    await made(tmp_path / "ws", Vanishing(RealFiles()), *CALLS[0])
    assert list(files_in(tmp_path).values()) == [NEW]
