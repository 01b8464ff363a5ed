"""``pi.grep``: the same lines as a line-by-line search, in any file, in bounded memory."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolfabric.providers.pi.grep as module
from toolfabric.errors import InvokeError
from toolfabric.providers.pi import PiLimits
from toolfabric.providers.pi.patterns import LinePattern

pytestmark = pytest.mark.anyio


async def found(call: Any, pattern: str, **how: Any) -> list[tuple[str, int, str]]:
    result = await call("grep", pattern=pattern, **how)
    return [(match["path"], match["line"], match["text"]) for match in result["matches"]]


async def test_matches_are_told_by_path_line_and_text(call: Any, ws: Path) -> None:
    (ws / "src").mkdir()
    (ws / "src/b.py").write_text("import os\nx = 1\nimport sys")
    (ws / "a.py").write_text("import re\n")
    assert await call("grep", pattern="^import") == {
        "matches": [
            {"path": "a.py", "line": 1, "text": "import re"},
            {"path": "src/b.py", "line": 1, "text": "import os"},
            {"path": "src/b.py", "line": 3, "text": "import sys"},
        ],
        "files": 2,
        "truncated": False,
    }


async def test_what_is_searched_can_be_narrowed(call: Any, ws: Path) -> None:
    for path in ("a.py", "a.js", "src/b.py", "src/b.min.js", "out/c.py"):
        (ws / path).parent.mkdir(exist_ok=True)
        (ws / path).write_text("x.y\nX.Y\nxzy\n")
    (ws / ".gitignore").write_text("out/\n")
    assert [path for path, _, _ in await found(call, "x.y", literal=True)] == [
        "a.js",
        "a.py",
        "src/b.min.js",
        "src/b.py",
    ]
    assert await found(call, "x.y", path="src", glob="*.py") == [
        ("src/b.py", 1, "x.y"),
        ("src/b.py", 3, "xzy"),
    ]
    assert await found(call, "x.y", path="a.py", literal=True, ignoreCase=True) == [
        ("a.py", 1, "x.y"),
        ("a.py", 2, "X.Y"),
    ]
    assert {path for path, _, _ in await found(call, "x", glob="!*.min.js")} == {"a.js", "a.py", "src/b.py"}
    assert [path for path, _, _ in await found(call, "X", path="out")] == ["out/c.py"]


async def test_lines_around_a_match_are_shown_on_request(call: Any, ws: Path) -> None:
    (ws / "f").write_text("1\n\n3\nhit\n5\n\n7\nhit")
    result = await call("grep", pattern="hit", context=2)
    assert result["matches"] == [
        {"path": "f", "line": 4, "text": "hit", "before": ["", "3"], "after": ["5", ""]},
        {"path": "f", "line": 8, "text": "hit", "before": ["", "7"], "after": []},
    ]


async def test_binary_files_and_links_are_skipped_and_counted(call: Any, ws: Path) -> None:
    (ws / "bin").write_bytes(b"secret\0")
    (ws / "link").symlink_to("../secret.txt")
    (ws / "text").write_text("secret")
    os.mkfifo(ws / "pipe")
    result = await call("grep", pattern="secret")
    assert [match["path"] for match in result["matches"]] == ["text"]
    assert (result["files"], result["note"]) == (1, "1 binary files were not searched")


async def test_windows_line_ends_do_not_hide_the_end_of_a_line(call: Any, ws: Path) -> None:
    (ws / "f").write_bytes(b"one\r\ntwo\r\n")
    assert await found(call, "^one$") == [("f", 1, "one")]


async def test_the_limit_is_told(call: Any, caller: Callable[..., Any], ws: Path) -> None:
    (ws / "f").write_text("x\n" * 5)
    result = await call("grep", pattern="x", limit=2)
    assert (len(result["matches"]), result["truncated"]) == (2, True)
    assert result["note"] == "there are more matches than these 2"
    assert (await call("grep", pattern="x", limit=5))["truncated"] is False
    small = await caller(limits=PiLimits(grep_answer_chars=3))("grep", pattern="x")
    assert (len(small["matches"]), small["truncated"]) == (3, True)


async def test_a_long_line_is_cut_around_the_match(caller: Callable[..., Any], ws: Path) -> None:
    (ws / "f").write_text("a" * 10_000 + "HIT" + "é" * 10_000 + "\n")
    (match,) = (await caller(limits=PiLimits(grep_line_chars=40))("grep", pattern="HIT"))["matches"]
    assert match["text"] == "…" + "a" * 10 + "HIT" + "é" * 27 + "…"


async def test_lines_that_are_not_utf8_are_found_and_shown(call: Any, ws: Path) -> None:
    (ws / "f").write_bytes(b"some text before \xff\xfe hit after\n")
    assert await found(call, "hit") == [("f", 1, "some text before \ufffd\ufffd hit after")]


class Watched:
    """A pattern that knows how much text it was given at most."""

    def __init__(self, pattern: LinePattern) -> None:
        self._pattern = pattern
        self.most = 0

    def search(self, text: bytes, pos: int = 0, endpos: int | None = None, /) -> Any:
        self.most = max(self.most, len(text))
        return self._pattern.search(text, pos, endpos)


@pytest.mark.parametrize("start", ["", "a\nb\nhit\nc\n"])
@pytest.mark.parametrize("context", [0, 2])
def test_an_enormous_line_is_searched_in_pieces_and_nothing_twice(
    start: str, context: int, tmp_path: Path
) -> None:
    lines = start.count("\n")
    (tmp_path / "f").write_text(start + "x" * 1_000 + "hit" + "x" * 1_000 + "\nb\nhit\n")
    search = searching("hit", context)
    watched = Watched(search.pattern)
    search.pattern = watched
    with (tmp_path / "f").open("rb") as file:
        found = [match["line"] for match, _ in module._matches(search, file, block_bytes=10, longest=100)]
    assert found == ([3] if start else []) + [lines + 1, lines + 3]
    assert watched.most <= 250


async def test_bad_patterns_and_missing_places_are_told(call: Any, ws: Path) -> None:
    with pytest.raises(InvokeError, match="the pattern is not valid"):
        await call("grep", pattern="(")
    with pytest.raises(InvokeError, match="there is no 'nowhere'"):
        await call("grep", pattern="x", path="nowhere")
    with pytest.raises(InvokeError, match="leads out of"):
        await call("grep", pattern="x", path="..")


async def test_a_pattern_that_backtracking_could_not_finish_is_answered(call: Any, ws: Path) -> None:
    (ws / "f").write_text("a" * 100_000 + "!\n")
    assert await found(call, "^(a+)+$") == []


async def test_a_cancelled_search_ends(call: Any, ws: Path) -> None:
    for number in range(200):
        (ws / f"{number:03}").write_text("x\n" * 10_000)
    task = asyncio.ensure_future(call("grep", pattern="y"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def searching(pattern: str, context: int) -> module._Search:
    return module._Search(
        pattern=module.line_pattern(pattern),
        globs=None,
        context=context,
        most=1_000,
        limits=PiLimits(),
        stopped=lambda: False,
    )


LINES = st.lists(st.sampled_from(["", "a", "b", "ab", "x" * 30, "é", "a\r"]), max_size=40)


@given(
    lines=LINES,
    end=st.sampled_from(["", "\n"]),
    context=st.integers(0, 3),
    pattern=st.sampled_from(["a", "^$", "b$", ""]),
)
def test_blocks_of_any_size_give_what_a_line_by_line_search_gives(
    lines: list[str], end: str, context: int, pattern: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = ("\n".join(lines) + end).encode()
    search = searching(pattern, context)
    path = tmp_path_factory.getbasetemp() / f"grep-{os.getpid()}"
    path.write_bytes(content)
    with path.open("rb") as file:
        matches = [match for match, _ in module._matches(search, file, block_bytes=7)]
    plain = content.decode().replace("\r\n", "\n").split("\n")
    if plain[-1] == "":
        plain.pop()
    expected: list[dict[str, Any]] = []
    for at, line in enumerate(plain):
        if re.search(pattern, line):
            one: dict[str, Any] = {"line": at + 1, "text": line}
            if context:
                one |= {"before": plain[max(0, at - context) : at], "after": plain[at + 1 : at + 1 + context]}
            expected.append(one)
    assert matches == expected


@given(
    lines=st.lists(st.sampled_from(["", "a", "bb", "x" * 15, "a" + "x" * 25, "x" * 25]), max_size=12),
    context=st.integers(0, 3),
    block=st.integers(1, 12),
)
def test_lines_longer_than_what_is_held_are_each_found_once(
    lines: list[str], context: int, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"grep-{os.getpid()}"
    path.write_text("\n".join(lines))
    with path.open("rb") as file:
        matches = module._matches(searching("a", context), file, block_bytes=block, longest=20)
        assert [match["line"] for match, _ in matches] == [
            at for at, one in enumerate(lines, 1) if "a" in one
        ]
