"""Previews: what would happen, without it happening."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.durable.fileops import RealFiles
from toolfabric.providers.pi import PiLimits, PiProvider
from toolfabric.values import Json


@pytest.fixture
def pi(make: Callable[..., PiProvider]) -> PiProvider:
    return make()


@pytest.mark.parametrize(
    ("name", "args", "shown"),
    [
        ("bash", {"command": "make test"}, "$ make test"),
        ("bash", {"command": "make", "timeout": 5}, "$ make  (at most 5 s)"),
        ("bash", {"command": "echo \x1b[2J\u202ex\nrm y"}, "$ echo \\x1b[2J\\u202ex\nrm y"),
        (
            "edit",
            {"path": "f", "oldText": "two", "newText": "2"},
            "--- f\n+++ f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three",
        ),
        (
            "edit",
            {"path": "f", "edits": '[{"oldText": "one", "newText": "1"}]'},
            "--- f\n+++ f\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three",
        ),
        (
            "edit",
            {"path": "f", "oldText": "four", "newText": "4"},
            "edit f: oldText does not occur in f (0 times)",
        ),
        (
            "edit",
            {"path": "missing", "oldText": "a", "newText": "b"},
            "edit missing: No such file or directory",
        ),
        ("edit", {"path": "../secret.txt", "oldText": "a", "newText": "b"}, "edit ../secret.txt: the path"),
        ("write", {"path": "new", "content": "a\nb"}, "create new (2 lines, 3 bytes)\na\nb"),
        ("write", {"path": "a/b/new", "content": ""}, "create a/b/new (0 lines, 0 bytes)\n"),
        (
            "write",
            {"path": "f", "content": "one\ntwo\n"},
            "replace f (2 lines, 8 bytes)\n--- f\n+++ f\n@@ -1,3 +1,2 @@\n one\n two\n-three",
        ),
        ("write", {"path": ".git/config", "content": ""}, "write .git/config (0 lines, 0 bytes): the path"),
        ("read", {"path": "f"}, None),
        ("nothing", {}, None),
    ],
)
def test_a_preview_says_what_would_happen(
    name: str, args: dict[str, Json], shown: str | None, pi: PiProvider, ws: Path
) -> None:
    (ws / "f").write_text("one\ntwo\nthree\n")
    preview = pi.preview(name, args)
    assert preview == shown or (preview is not None and shown is not None and preview.startswith(shown))
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"f": "one\ntwo\nthree\n"}


def test_a_long_preview_is_cut(make: Callable[..., PiProvider]) -> None:
    pi = make(limits=PiLimits(preview_chars=100))
    preview = pi.preview("write", {"path": "new", "content": "x" * 10_000})
    assert preview is not None
    assert len(preview) < 200
    assert "more characters" in preview


@given(
    name=st.sampled_from(["edit", "write", "bash"]),
    args=st.dictionaries(
        st.sampled_from(["path", "oldText", "newText", "edits", "content", "command", "timeout"]),
        st.text(max_size=20) | st.integers() | st.none(),
    ),
)
def test_no_arguments_make_a_preview_fail_or_steer_a_terminal(
    name: str, args: dict[str, Json], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    pi = PiProvider(folder, files=RealFiles())
    preview = pi.preview(name, args) or ""
    pi.close()
    assert all(one.isprintable() or one in "\n\t" for one in preview)
