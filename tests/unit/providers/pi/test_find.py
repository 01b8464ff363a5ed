"""``pi.find`` and ``pi.ls``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolfabric.errors import InvokeError
from toolfabric.providers.pi import PiLimits

pytestmark = pytest.mark.anyio


@pytest.fixture
def full(ws: Path) -> Path:
    for path in ("a.py", "b.txt", "src/c.py", "src/sub/d.py", "src/sub/e.js", "node_modules/x.py"):
        (ws / path).parent.mkdir(parents=True, exist_ok=True)
        (ws / path).write_text("1")
    (ws / ".gitignore").write_text("node_modules/\n")
    return ws


@pytest.mark.parametrize(
    ("pattern", "path", "paths"),
    [
        ("*.py", ".", ["a.py", "src/c.py", "src/sub/d.py"]),
        ("**/*.py", ".", ["a.py", "src/c.py", "src/sub/d.py"]),
        ("*.py", "src", ["src/c.py", "src/sub/d.py"]),
        ("sub/*", "src", ["src/sub/d.py", "src/sub/e.js"]),
        ("src/*", ".", ["src/c.py", "src/sub/"]),
        ("sub", ".", ["src/sub/"]),
        ("*.{py,js}", "src/sub", ["src/sub/d.py", "src/sub/e.js"]),
        ("*.rs", ".", []),
        (".gitignore", ".", [".gitignore"]),
        ("*.py", "node_modules", ["node_modules/x.py"]),
    ],
)
async def test_find_names_paths_that_can_be_passed_on(
    pattern: str, path: str, paths: list[str], call: Any, full: Path
) -> None:
    result = await call("find", pattern=pattern, path=path)
    assert result == {"paths": paths, "truncated": False}
    for one in paths:
        assert (full / one).exists()


async def test_find_says_when_there_is_more(call: Any, full: Path) -> None:
    result = await call("find", pattern="*.py", limit=2)
    assert result == {"paths": ["a.py", "src/c.py"], "truncated": True, "note": "there are more than 2"}
    assert (await call("find", pattern="*.py", limit=3))["truncated"] is False


async def test_find_tells_what_it_did_not_look_at(caller: Callable[..., Any], full: Path) -> None:
    result = await caller(limits=PiLimits(walked_depth=1))("find", pattern="*.py")
    assert result == {
        "paths": ["a.py"],
        "truncated": False,
        "note": "1 folders deeper than 1 levels were left out",
    }


async def test_find_in_a_file_or_nowhere_is_refused(call: Any, full: Path) -> None:
    with pytest.raises(InvokeError, match="is a file, not a folder"):
        await call("find", pattern="*", path="a.py")
    with pytest.raises(InvokeError, match="did you mean 'src'"):
        await call("find", pattern="*", path="scr")


async def test_find_shows_names_that_are_not_utf8(call: Any, ws: Path) -> None:
    (ws / "\udcff.txt").touch()
    (ws / "new\nline.txt").touch()
    assert (await call("find", pattern="*.txt"))["paths"] == ["new\nline.txt", r"\xff.txt"]


async def test_ls_lists_everything_by_name_and_type(call: Any, ws: Path) -> None:
    (ws / "b").mkdir()
    (ws / "a.txt").write_text("12345")
    (ws / ".git").mkdir()
    (ws / "link").symlink_to("a.txt")
    os.mkfifo(ws / "pipe")
    assert await call("ls") == {
        "path": ".",
        "entries": [
            {"name": ".git/", "type": "directory"},
            {"name": "a.txt", "type": "file", "bytes": 5},
            {"name": "b/", "type": "directory"},
            {"name": "link", "type": "link", "target": "a.txt"},
            {"name": "pipe", "type": "other"},
        ],
        "truncated": False,
    }


async def test_ls_says_how_many_there_are(call: Any, ws: Path) -> None:
    for number in range(5):
        (ws / f"{number}").touch()
    result = await call("ls", limit=2)
    assert [entry["name"] for entry in result["entries"]] == ["0", "1"]
    assert (result["truncated"], result["note"]) == (True, "2 of 5 entries")


async def test_ls_tells_of_names_that_are_not_utf8(call: Any, ws: Path) -> None:
    (ws / "\udcff").touch()
    result = await call("ls")
    assert result["entries"] == [{"name": r"\xff", "type": "file", "bytes": 0}]
    assert "not UTF-8" in result["note"]


async def test_ls_of_a_file_or_outside_is_refused(call: Any, full: Path) -> None:
    with pytest.raises(InvokeError, match="is a file, not a folder"):
        await call("ls", path="a.py")
    with pytest.raises(InvokeError, match="leads out of"):
        await call("ls", path="..")


async def test_outside_is_listed_with_absolute_names_when_allowed(
    caller: Callable[..., Any], ws: Path
) -> None:
    outside = caller(allow_outside=True)
    (ws / "in.txt").touch()
    assert (await outside("find", pattern="secret.txt", path=".."))["paths"] == [
        str(ws.parent / "secret.txt")
    ]
    assert (await outside("find", pattern="in.txt"))["paths"] == ["in.txt"]
    assert (await outside("ls", path=".."))["path"] == str(ws.parent)
