"""``pi.read``: exact lines, told apart from what is not text, whatever the size."""

from __future__ import annotations

import os
import socket
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.durable.confine import Confined
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import InvokeError
from toolfabric.protocols import CallContext
from toolfabric.providers.pi import PiLimits, PiProvider
from toolfabric.providers.pi.read import binary_reason, read_action
from toolfabric.providers.pi.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "content",
    ["", "a", "a\n", "a\nb", "a\r\nb\r\n", "\n\n", "\ufeffa\n", "é\u2028x\n", "a\rb\n", "\tx\x1b[0m\n"],
)
async def test_a_whole_text_file_comes_back_character_for_character(
    content: str, call: Any, ws: Path
) -> None:
    (ws / "f").write_bytes(content.encode())
    result = await call("read", path="f")
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    assert result["text"] == content
    assert (result["lines"], result["totalLines"], result["truncated"]) == (lines, lines, False)
    assert (result["kind"], result["bytes"], result["path"]) == ("text", len(content.encode()), "f")
    assert "nextOffset" not in result


@pytest.mark.parametrize(
    ("offset", "limit", "text", "following"),
    [
        (1, 2, "1\n2\n", 3),
        (0, 2, "1\n2\n", 3),
        (2, 3, "2\n3\n4\n", 5),
        (5, 1, "5", None),
        (4, 9, "4\n5", None),
        (4, 2, "4\n5", None),
        (2.0, 1.0, "2\n", 3),
    ],
)
async def test_a_window_of_lines_says_where_to_go_on(
    offset: int, limit: int, text: str, following: int | None, call: Any, ws: Path
) -> None:
    (ws / "f").write_text("1\n2\n3\n4\n5")
    result = await call("read", path="f", offset=offset, limit=limit)
    assert (result["text"], result["totalLines"]) == (text, 5)
    assert (result.get("nextOffset"), result["truncated"]) == (following, following is not None)


@pytest.mark.parametrize(
    ("content", "offset", "total"), [("1\n2\n3", 4, 3), ("1\n2\n3\n", 4, 3), ("", 2, 0), ("1", 1_000_000, 1)]
)
async def test_an_offset_beyond_the_end_says_how_many_lines_there_are(
    content: str, offset: int, total: int, call: Any, ws: Path
) -> None:
    (ws / "f").write_text(content)
    with pytest.raises(InvokeError, match=rf"offset {offset} is beyond the end: the file has {total} lines"):
        await call("read", path="f", offset=offset)


async def test_going_on_from_window_to_window_gives_the_whole_file(call: Any, ws: Path) -> None:
    content = "".join(f"line {number}\n" for number in range(1_003))
    (ws / "f").write_text(content)
    text, offset = "", 1
    while offset:
        result = await call("read", path="f", offset=offset, limit=100)
        text += result["text"]
        offset = result.get("nextOffset")
    assert text == content


async def test_a_long_line_is_cut_with_a_mark_and_the_rest_is_read(
    caller: Callable[..., Any], ws: Path
) -> None:
    (ws / "f").write_text("short\n" + "x" * 1_000 + "\nlast\n")
    result = await caller(limits=PiLimits(line_chars=100))("read", path="f")
    assert result["text"] == "short\n" + "x" * 100 + "…[900 more bytes in this line]\nlast\n"
    assert result["truncated"] is True
    assert result["totalLines"] == 3
    assert "1 long lines were cut" in result["note"]


async def test_a_long_last_line_without_an_end_gets_none(caller: Callable[..., Any], ws: Path) -> None:
    (ws / "f").write_text("é" * 300)
    result = await caller(limits=PiLimits(line_chars=100))("read", path="f")
    assert result["text"] == "é" * 100 + "…[400 more bytes in this line]"
    assert (result["lines"], result["totalLines"]) == (1, 1)


async def test_an_answer_stops_at_its_bound_and_says_where(caller: Callable[..., Any], ws: Path) -> None:
    (ws / "f").write_text("0123456789\n" * 100)
    result = await caller(limits=PiLimits(read_bytes=55))("read", path="f")
    assert (result["lines"], result["nextOffset"], result["totalLines"]) == (5, 6, 100)


async def test_a_sparse_gigabyte_is_answered_from_its_beginning(caller: Callable[..., Any], ws: Path) -> None:
    with (ws / "f").open("wb") as file:
        file.write(b"text\n" * 4_000)
        file.truncate(2**30)
    result = await caller(limits=PiLimits(count_bytes=1024))("read", path="f", limit=2)
    assert (result["text"], result["bytes"], result["nextOffset"]) == ("text\ntext\n", 2**30, 3)
    assert "totalLines" not in result


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\0\0", "NUL bytes"),
        (b"text\0text", "NUL bytes"),
        ("wide".encode("utf-16"), "UTF-16"),
        (b"\xfe\xff\0a", "UTF-16"),
        (bytes(range(128, 256)) * 4, "not UTF-8"),
        (bytes(range(1, 9)) * 9, "not UTF-8"),
    ],
)
async def test_binary_content_is_noted_and_not_shown(
    content: bytes, reason: str, call: Any, ws: Path
) -> None:
    (ws / "f").write_bytes(content)
    result = await call("read", path="f")
    assert (result["kind"], result["text"], result["lines"]) == ("binary", "", 0)
    assert reason in result["note"]
    assert str(len(content)) in result["note"]


async def test_text_in_an_old_encoding_is_still_read(call: Any, ws: Path) -> None:
    (ws / "f").write_bytes("naïve café, twice naïve\n".encode("latin-1") * 2 + b"plain\n")
    result = await call("read", path="f")
    assert result["text"].count("\ufffd") == 6
    assert "2 lines hold bytes that are not UTF-8" in result["note"]


async def test_a_replacement_character_of_the_file_itself_is_not_called_odd(call: Any, ws: Path) -> None:
    (ws / "f").write_text("seen \ufffd before and very often in such texts\n")
    assert "note" not in await call("read", path="f")


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


async def test_an_image_is_a_note_with_its_type_and_size(call: Any, ws: Path) -> None:
    (ws / "f.png").write_bytes(png(640, 480))
    result = await call("read", path="f.png")
    assert (result["kind"], result["text"]) == ("image", "")
    assert "image/png image, 640 x 480 pixels" in result["note"]


async def test_a_missing_file_brings_near_names(call: Any, ws: Path) -> None:
    (ws / "src").mkdir()
    (ws / "src/main.py").touch()
    with pytest.raises(InvokeError, match=r"there is no 'src/mian\.py'; did you mean 'src/main\.py'\?"):
        await call("read", path="src/mian.py")
    with pytest.raises(InvokeError, match=r"did you mean 'src'\?"):
        await call("read", path="scr/main.py")
    with pytest.raises(InvokeError, match=r"did you mean 'src/main\.py'\?"):
        await call("read", path="@src/main.py")
    with pytest.raises(InvokeError, match=r"pi\.ls and pi\.find show what is there"):
        await call("read", path="zzz")


async def test_what_is_no_regular_file_is_refused_without_opening_it(call: Any, ws: Path) -> None:
    (ws / "folder").mkdir()
    os.mkfifo(ws / "pipe")
    with pytest.raises(InvokeError, match="is a folder, not a file"):
        await call("read", path="folder")
    with pytest.raises(InvokeError, match="is a named pipe, not a file"):
        await call("read", path="pipe")


async def test_a_hostile_name_is_printable_in_the_message(call: Any, ws: Path) -> None:
    (ws / "\x1b[2Jevil\n\u202e").write_text("x")
    assert (await call("read", path="\x1b[2Jevil\n\u202e"))["text"] == "x"
    with pytest.raises(InvokeError) as caught:
        await call("read", path="\x1b[2Jevil")
    assert str(caught.value).isprintable()


async def test_a_name_that_is_not_utf8_can_be_addressed_only_by_its_bytes(call: Any, ws: Path) -> None:
    (ws / "\udcff.txt").write_text("x")
    result = await call("read", path="\udcff.txt")
    assert (result["text"], result["path"]) == ("x", r"\xff.txt")


async def test_links_inside_are_followed_and_named_by_their_target(call: Any, ws: Path) -> None:
    (ws / "real.txt").write_text("x")
    (ws / "link").symlink_to("real.txt")
    (ws / "out").symlink_to("../secret.txt")
    assert (await call("read", path="link"))["path"] == "real.txt"
    with pytest.raises(InvokeError, match="leads out of"):
        await call("read", path="out")


async def test_outside_is_readable_only_when_allowed(call: Any, caller: Callable[..., Any], ws: Path) -> None:
    for path in ("../secret.txt", str(ws.parent / "secret.txt")):
        with pytest.raises(InvokeError):
            await call("read", path=path)
        result = await caller(allow_outside=True)("read", path=path)
        assert (result["text"], result["path"]) == ("secret", str(ws.parent / "secret.txt"))
    (ws / "in.txt").touch()
    assert (await caller(allow_outside=True)("read", path="in.txt"))["path"] == "in.txt"


async def test_a_workspace_that_vanished_is_said_so(call: Any, ws: Path) -> None:
    (ws.parent / "ws").rmdir()
    with pytest.raises(InvokeError, match=r"the workspace .* is gone"):
        await call("read", path="f")
    (ws.parent / "ws").mkdir()
    (ws / "f").write_text("another folder's")
    with pytest.raises(InvokeError, match=r"the workspace .* is gone"):
        await call("read", path="f")


def test_a_cancelled_read_stops_between_pieces(ws: Path) -> None:
    (ws / "f").write_text("x\n" * 100)
    asked: list[int] = []

    def stopped() -> bool:
        asked.append(1)
        return len(asked) > 10

    with Confined(ws) as confined:
        workspace = Workspace(confined=confined, folder=ws, files=RealFiles(), limits=PiLimits())
        with pytest.raises(InvokeError, match="cancelled"):
            read_action(workspace, {"path": "f"}, stopped)
    assert len(asked) == 11


@given(st.binary(max_size=200))
def test_bytes_are_text_or_have_a_reason_not_to_be(sample: bytes) -> None:
    reason = binary_reason(sample)
    assert (reason is None) or (b"\0" in sample) or "UTF" in reason
    if b"\0" in sample:
        assert reason is not None


async def test_reading_a_socket_is_refused(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ws)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    provider = PiProvider(ws, files=RealFiles())
    context = CallContext(invocation_id="i", call_id="fabric_1", cwd=ws)
    with pytest.raises(InvokeError, match="is a socket, not a file"):
        await provider.invoke("read", {"path": "socket"}, context)
    provider.close()
