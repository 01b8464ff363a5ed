"""``pi.edit`` and ``pi.write``: exactly the named bytes, whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import InvokeError
from toolfabric.protocols import FileOps
from toolfabric.providers.pi import PiLimits
from toolfabric.providers.pi.edit import edited
from toolfabric.testing.files import FaultyFiles, FullDisk, WatchedFiles
from toolfabric.values import Json

pytestmark = pytest.mark.anyio

FILES: list[bytes] = [
    b"one\ntwo\nthree\n",
    b"one\r\ntwo\r\nthree\r\n",
    b"one\r\ntwo\nthree",
    b"two",
    b"\xef\xbb\xbfone\ntwo\n",
    b"\xff\xfe two \x80\n",
    b"a\0two\0b",
    b"one\rtwo\rthree",
    "naïve two ünï\n".encode("latin-1"),
]


@pytest.mark.parametrize("content", FILES)
async def test_every_byte_outside_the_text_survives(content: bytes, call: Any, ws: Path) -> None:
    (ws / "f").write_bytes(content)
    result = await call("edit", path="f", oldText="two", newText="2️⃣")
    assert (ws / "f").read_bytes() == content.replace(b"two", "2️⃣".encode())
    assert (result["ok"], result["details"]["replacements"], result["details"]["path"]) == (True, 1, "f")


@given(
    before=st.binary(max_size=20),
    after=st.binary(max_size=20),
    old=st.text(min_size=1, max_size=5),
    new=st.text(max_size=5),
)
def test_an_edit_is_that_replacement_and_nothing_else(
    before: bytes, after: bytes, old: str, new: str
) -> None:
    data = before + old.encode() + after
    first = data.find(old.encode())
    unique = first == data.rfind(old.encode())
    if not unique or old == new or b"\r\n" in data or "\n" in old + new:
        return
    changed, count = edited(data, {"oldText": old, "newText": new}, "f")
    assert (changed, count) == (data[:first] + new.encode() + data[first + len(old.encode()) :], 1)


@pytest.mark.parametrize(
    ("content", "old", "new", "changed"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\n", "a", "x\ny", b"x\r\ny\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\ny", b"x\ny\r\n"),
        (b"a\r\nb\nc\r\n", "b\n", "x\n", b"a\r\nx\nc\r\n"),
        (b"a\nb\n", "a\nb", "x\ny", b"x\ny\n"),
    ],
)
async def test_line_ends_stay_those_of_the_file(
    content: bytes, old: str, new: str, changed: bytes, call: Any, ws: Path
) -> None:
    (ws / "f").write_bytes(content)
    await call("edit", path="f", oldText=old, newText=new)
    assert (ws / "f").read_bytes() == changed


async def test_several_edits_are_made_together_against_the_file_as_it_was(call: Any, ws: Path) -> None:
    (ws / "f").write_text("a b c")
    edits: Json = [
        {"oldText": "c", "newText": "a"},
        {"oldText": "a", "newText": "b"},
        {"oldText": "b", "newText": "c"},
    ]
    result = await call("edit", path="f", edits=edits)
    assert (ws / "f").read_text() == "b c a"
    assert result["output"] == "Replaced 3 pieces of text in f."


async def test_of_several_edits_none_is_made_when_one_cannot_be(call: Any, ws: Path) -> None:
    (ws / "f").write_text("a b")
    edits: Json = [{"oldText": "a", "newText": "x"}, {"oldText": "c", "newText": "y"}]
    with pytest.raises(InvokeError, match=r"edits\[1\]\.oldText does not occur in f"):
        await call("edit", path="f", edits=edits)
    assert (ws / "f").read_text() == "a b"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"oldText": "x", "newText": ""}, r"oldText does not occur in f \(0 times\)"),
        (
            {"oldText": "q", "newText": ""},
            r"oldText occurs 3 times in f, at lines 1, 2, 3; .* add lines around",
        ),
        ({"oldText": "bb", "newText": ""}, r"occurs 2 times in f, at lines 4, 4"),
        ({"oldText": "", "newText": "x"}, r"oldText is empty; .* pi\.write"),
        ({"oldText": "c", "newText": "c"}, r"nothing would change in f"),
        ({"oldText": "\ud800", "newText": ""}, r"oldText holds half of a surrogate pair"),
        ({"oldText": "c", "newText": "\ud800"}, r"newText holds half of a surrogate pair"),
        (
            {"edits": [{"oldText": "bbb", "newText": "x"}, {"oldText": "b\nc", "newText": "y"}]},
            r"edits\[0\]\.oldText and edits\[1\]\.oldText overlap in f",
        ),
        ({"oldText": "  return total ", "newText": ""}, r"line 6 begins it, but white space"),
        ({"oldText": "return totl", "newText": ""}, r"the nearest is line 6: 'return total'"),
        ({"oldText": "\n\n\n\n", "newText": ""}, r"does not occur in f \(0 times\); read the file again"),
    ],
)
async def test_an_edit_that_cannot_be_made_says_why_and_changes_nothing(
    args: dict[str, Json], message: str, call: Any, ws: Path
) -> None:
    content = "q\nq\nq\nbbb\nc\n\treturn total\n"
    (ws / "f").write_text(content)
    with pytest.raises(InvokeError, match=message):
        await call.provider.invoke("edit", {"path": "f", **args}, call.context)
    assert (ws / "f").read_text() == content


async def test_the_older_forms_of_edits_are_understood(call: Any, ws: Path) -> None:
    (ws / "f").write_text("a b")
    await call("edit", path="f", edits='[{"oldText": "a", "newText": "x"}]', oldText="b", newText="y")
    assert (ws / "f").read_text() == "x y"
    (ws / "f").write_text("a b")
    pair: Json = [{"oldText": "a", "newText": "x"}]
    await call.provider.invoke(
        "edit", {"path": "f", "edits": pair, "oldText": "b", "newText": "y"}, call.context
    )
    assert (ws / "f").read_text() == "x y"


async def test_the_answer_shows_what_changed_and_where(call: Any, ws: Path) -> None:
    (ws / "f").write_text("".join(f"{number}\n" for number in range(1, 21)))
    details = (await call("edit", path="f", oldText="10\n", newText="ten\n"))["details"]
    assert details == {
        "path": "f",
        "replacements": 1,
        "firstChangedLine": 10,
        "diff": "--- f\n+++ f\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13",
    }


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o4711])
async def test_the_mode_survives(mode: int, call: Any, ws: Path) -> None:
    (ws / "f").write_text("a")
    (ws / "f").chmod(mode)
    await call("edit", path="f", oldText="a", newText="b")
    assert stat.S_IMODE((ws / "f").stat().st_mode) == mode
    await call("write", path="f", content="c")
    assert stat.S_IMODE((ws / "f").stat().st_mode) == mode


async def test_writing_creates_folders_and_says_what_was_created(call: Any, ws: Path) -> None:
    assert await call("write", path="a/b/f.txt", content="é") == {
        "ok": True,
        "output": "Created a/b/f.txt (2 bytes).",
        "details": {"path": "a/b/f.txt", "bytes": 2, "created": True},
    }
    assert await call("write", path="a/b/f.txt", content="") == {
        "ok": True,
        "output": "Replaced a/b/f.txt (0 bytes).",
        "details": {"path": "a/b/f.txt", "bytes": 0},
    }
    assert (ws / "a/b/f.txt").read_bytes() == b""


async def test_a_new_file_has_the_mode_of_any_new_file(call: Any, ws: Path) -> None:
    (ws / "plain").touch()
    await call("write", path="new", content="x")
    assert (ws / "new").stat().st_mode == (ws / "plain").stat().st_mode


async def test_changes_go_through_links_inside_and_never_outside(call: Any, ws: Path) -> None:
    (ws / "real").write_text("a")
    (ws / "link").symlink_to("real")
    (ws / "out").symlink_to("../secret.txt")
    (ws / "out_folder").symlink_to("..")
    assert (await call("edit", path="link", oldText="a", newText="b"))["details"]["path"] == "real"
    assert (ws / "link").is_symlink()
    for path in ("out", "out_folder/secret.txt", "out_folder/new", "../new"):
        with pytest.raises(InvokeError, match="leads out of"):
            await call("write", path=path, content="x")
    with pytest.raises(InvokeError, match="leads out of"):
        await call("edit", path="out", oldText="secret", newText="x")
    assert sorted(path.name for path in ws.parent.iterdir()) == ["secret.txt", "ws"]
    assert (ws.parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("path", [".git/config", ".pi/fabric.json", ".GIT/x", "sub/.git/x", "host/mesh.db"])
async def test_git_pi_and_the_hosts_storage_are_never_written(
    path: str, caller: Callable[..., Any], ws: Path
) -> None:
    for folder in (".git", ".pi", "sub/.git", "host"):
        (ws / folder).mkdir(parents=True)
    for name in (".git/config", ".pi/fabric.json", "host/mesh.db"):
        (ws / name).write_text("a")
    for outside in (False, True):
        call = caller(protected=(ws / "host",), allow_outside=outside)
        with pytest.raises(InvokeError, match="never written to"):
            await call("write", path=path, content="x")
        with pytest.raises(InvokeError, match=r"never written to|there is no"):
            await call("edit", path=path, oldText="a", newText="x")
    assert (ws / ".git/config").read_text() == "a"


async def test_parallel_edits_of_one_file_are_all_in_it(call: Any, ws: Path) -> None:
    (ws / "f").write_text("".join(f"<{number}>\n" for number in range(40)))
    async with asyncio.TaskGroup() as group:
        for number in range(40):
            group.create_task(call("edit", path="f", oldText=f"<{number}>", newText=f"[{number}]"))
    assert (ws / "f").read_text() == "".join(f"[{number}]\n" for number in range(40))


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


class Meddler(WatchedFiles):
    """Somebody else writes the file while the new content is being written beside it."""

    def __init__(self, path: Path) -> None:
        super().__init__(RealFiles())
        self._path = path

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._path.write_text("theirs")
        return super().write(fd, data)


async def test_a_change_of_somebody_else_in_between_is_noticed(caller: Callable[..., Any], ws: Path) -> None:
    (ws / "f").write_text("ours")
    with pytest.raises(InvokeError, match="changed by somebody else"):
        await caller(files=Meddler(ws / "f"))("edit", path="f", oldText="ours", newText="mine")
    assert contents(ws) == {"f": "theirs"}


@pytest.mark.parametrize("name", ["write", "edit"])
@pytest.mark.parametrize(
    "files",
    [
        lambda: FullDisk(RealFiles(), room=3),
        lambda: FaultyFiles(RealFiles(), on="replace"),
        lambda: FaultyFiles(RealFiles(), on="open", error=PermissionError(13, "Permission denied")),
    ],
)
async def test_a_disk_that_fails_leaves_the_old_file(
    name: str, files: Callable[[], FileOps], caller: Callable[..., Any], ws: Path
) -> None:
    (ws / "f").write_text("old content")
    args = {"content": "new content"} if name == "write" else {"oldText": "old", "newText": "new"}
    with pytest.raises(InvokeError, match=r"could not write 'f': (No space left|Permission denied)"):
        await caller(files=files())(name, path="f", **args)
    assert contents(ws) == {"f": "old content"}


async def test_what_is_too_large_is_refused(caller: Callable[..., Any], ws: Path) -> None:
    call = caller(limits=PiLimits(changed_bytes=10))
    (ws / "f").write_text("0123456789x")
    with pytest.raises(InvokeError, match="f is larger than 10 bytes"):
        await call("edit", path="f", oldText="x", newText="y")
    with pytest.raises(InvokeError, match="at most 10 are written at once"):
        await call("write", path="g", content="0123456789x")
    (ws / "f").write_text("0123456789")
    with pytest.raises(InvokeError, match="at most 10 are written at once"):
        await call("edit", path="f", oldText="0", newText="00")
    assert not (ws / "g").exists()


async def test_a_missing_file_is_not_made_by_an_edit(call: Any, ws: Path) -> None:
    (ws / "main.py").touch()
    with pytest.raises(InvokeError, match=r"there is no 'mian\.py'; did you mean 'main\.py'"):
        await call("edit", path="mian.py", oldText="a", newText="b")
    assert not (ws / "mian.py").exists()


async def test_folders_and_pipes_are_not_written(call: Any, ws: Path) -> None:
    (ws / "folder").mkdir()
    os.mkfifo(ws / "pipe")
    for path, reason in (
        ("folder", "a folder"),
        ("folder/", "names a folder"),
        ("pipe", "a named pipe"),
        (".", "folder"),
    ):
        with pytest.raises(InvokeError, match=reason):
            await call("write", path=path, content="x")
    (ws / "f").touch()
    with pytest.raises(InvokeError, match="'f/x': not a directory"):
        await call("write", path="f/x", content="x")


def test_without_the_right_to_write_nothing_is_written(tmp_path: Path) -> None:
    """Root may do everything; where tests run as root, the calls are made by a process that is not."""
    (tmp_path / "read_only").write_text("a")
    (tmp_path / "read_only").chmod(0o444)
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0o000)
    program = textwrap.dedent("""
        import asyncio, concurrent.futures.thread, os, sys
        from pathlib import Path
        from toolfabric.durable.fileops import RealFiles
        from toolfabric.errors import InvokeError
        from toolfabric.protocols import CallContext
        from toolfabric.providers.pi import PiProvider
        import toolfabric.providers.pi.edit, toolfabric.providers.pi.read, toolfabric.providers.pi.find
        folder = Path(sys.argv[1])
        provider = PiProvider(folder, files=RealFiles())
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        context = CallContext(invocation_id="i", call_id="fabric_1", cwd=folder)
        for name, args in (
            ("edit", {"path": "read_only", "oldText": "a", "newText": "b"}),
            ("write", {"path": "read_only", "content": "b"}),
            ("write", {"path": "closed/f", "content": "b"}),
            ("ls", {"path": "closed"}),
            ("read", {"path": "closed/f"}),
        ):
            try:
                print(name, asyncio.run(provider.invoke(name, args, context)))
            except InvokeError as error:
                print(name, error)
    """)
    tmp_path.chmod(0o777)
    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False
    )
    (tmp_path / "closed").chmod(0o700)
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "edit 'read_only': the file is read-only",
        "write 'read_only': the file is read-only",
        "write 'closed/f': permission denied",
        "ls 'closed': permission denied",
        "read 'closed/f': permission denied",
    ]
    assert (tmp_path / "read_only").read_text() == "a"
