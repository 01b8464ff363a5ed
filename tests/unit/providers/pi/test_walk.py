"""Walking a tree: one order, ignore files of every level, and nothing outside."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.durable.confine import Confined
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import InvokeError
from toolfabric.providers.pi import PiLimits
from toolfabric.providers.pi.walk import Entry, Walker
from toolfabric.providers.pi.workspace import Workspace


def tree(root: Path, *paths: str, **rules: str) -> None:
    """Make files, and folders for paths that end with a slash.

    ``sub="*.o"`` writes ``sub/.gitignore``, ``top="*.o"`` that of the root.
    """
    for path in paths:
        target = root / path
        (target if path.endswith("/") else target.parent).mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            target.touch()
    for folder, content in rules.items():
        (root / folder.removeprefix("top") / ".gitignore").write_text(content)


@contextmanager
def walking(
    root: Path, start: str = ".", limits: PiLimits | None = None
) -> Generator[tuple[Walker, Iterator[Entry]]]:
    with Confined(root) as confined:
        workspace = Workspace(confined=confined, folder=root, files=RealFiles(), limits=limits or PiLimits())
        walker = Walker(workspace=workspace, stopped=lambda: False)
        with confined.place(start) as place:
            folder = place.open_folder()
            try:
                yield walker, walker.walk(folder, place.parts)
            finally:
                os.close(folder)


def walked(root: Path, start: str = ".", limits: PiLimits | None = None) -> list[str]:
    with walking(root, start, limits) as (_, entries):
        return [entry.path for entry in entries]


def test_the_order_is_that_of_the_names_and_a_folder_comes_before_what_is_in_it(tmp_path: Path) -> None:
    tree(tmp_path, "b/x", "b.txt", "B/y", "a", "é", ".hidden/z")
    assert walked(tmp_path) == [".hidden", ".hidden/z", "B", "B/y", "a", "b", "b/x", "b.txt", "é"]


def test_rules_of_every_level_count_and_the_deeper_ones_win(tmp_path: Path) -> None:
    tree(tmp_path, "a.log", "sub/a.log", "sub/keep.log", "sub/deep/keep.log", "sub/deep/b.tmp", "c.tmp")
    tree(tmp_path, top="*.log\n*.tmp\n", sub="!keep.log\n!*.tmp\n")
    (tmp_path / "sub/deep/.gitignore").write_text("b.tmp\n")
    assert [path for path in walked(tmp_path) if "." in path.removeprefix(".")[-4:]] == [
        "sub/deep/keep.log",
        "sub/keep.log",
    ]


def test_nothing_below_an_ignored_folder_comes_back(tmp_path: Path) -> None:
    tree(tmp_path, "build/keep.txt", top="build/\n!keep.txt\n", build="!*\n")
    assert walked(tmp_path) == [".gitignore"]


def test_the_plain_ignore_file_wins_over_gitignore_even_from_above(tmp_path: Path) -> None:
    tree(tmp_path, "sub/a.log", "sub/b.txt", sub="*.log\n")
    (tmp_path / ".ignore").write_text("!a.log\n*.txt\n")
    assert "sub/a.log" in walked(tmp_path)
    assert "sub/b.txt" not in walked(tmp_path)


def test_git_is_never_entered_and_its_exclude_file_counts(tmp_path: Path) -> None:
    tree(tmp_path, ".git/info/", "a.log", "sub/.git/config", "sub/b")
    (tmp_path / ".git/info/exclude").write_text("*.log\n")
    assert walked(tmp_path) == ["sub", "sub/b"]


def test_rules_above_the_start_count_and_the_start_itself_is_never_ignored(tmp_path: Path) -> None:
    tree(tmp_path, "vendor/lib/a.log", "vendor/lib/b.c", top="vendor/\n*.log\n")
    assert walked(tmp_path, "vendor/lib") == ["b.c"]


def test_links_are_told_and_not_followed(tmp_path: Path) -> None:
    tree(tmp_path, "ws/real/a", "out/secret")
    for name, target in (("ws/in", "real"), ("ws/out", "../out"), ("ws/loop", "."), ("ws/dead", "nothing")):
        (tmp_path / name).symlink_to(target)
    with walking(tmp_path / "ws") as (_, entries):
        assert [(entry.path, entry.type) for entry in entries] == [
            ("dead", "link"),
            ("in", "link"),
            ("loop", "link"),
            ("out", "link"),
            ("real", "directory"),
            ("real/a", "file"),
        ]


@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
def test_an_ignore_file_that_is_a_link_has_no_rules(name: str, tmp_path: Path) -> None:
    tree(tmp_path, "ws/a")
    (tmp_path / "rules").write_text("a\n")
    (tmp_path / "ws" / name).symlink_to("../rules")
    assert walked(tmp_path / "ws") == sorted([name, "a"])


@pytest.mark.parametrize("linked", [".git", ".git/info", ".git/info/exclude"])
def test_an_exclude_file_behind_a_link_has_no_rules(linked: str, tmp_path: Path) -> None:
    tree(tmp_path, "ws/a", "out/info/", "out/exclude")
    (tmp_path / "out/info/exclude").write_text("a\n")
    (tmp_path / "out/exclude").write_text("a\n")
    (tmp_path / "ws" / linked).parent.mkdir(parents=True, exist_ok=True)
    target = {".git": "out", ".git/info": "out", ".git/info/exclude": "out/exclude"}[linked]
    (tmp_path / "ws" / linked).symlink_to(tmp_path / target)
    assert walked(tmp_path / "ws") == ["a"]


def test_a_pipe_called_gitignore_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    assert walked(tmp_path) == [".gitignore"]


def test_a_tree_too_deep_is_left_out_and_counted(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("abcdef")
    deep.mkdir(parents=True)
    with walking(tmp_path, limits=PiLimits(walked_depth=3)) as (walker, entries):
        assert [entry.path for entry in entries] == ["a", "a/b", "a/b/c"]
        assert walker.notes() == ["1 folders deeper than 3 levels were left out"]


def test_a_walk_too_large_stops_and_says_so(tmp_path: Path) -> None:
    tree(tmp_path, *(f"{number:03}" for number in range(20)))
    with walking(tmp_path, limits=PiLimits(walked_entries=5)) as (walker, entries):
        assert len(list(entries)) == 5
        assert walker.full
        assert "stopped after 5 entries" in walker.notes()[0]


def test_a_folder_exchanged_for_a_link_during_the_walk_is_not_entered(tmp_path: Path) -> None:
    tree(tmp_path, "ws/a/x", "out/secret")
    with walking(tmp_path / "ws") as (walker, entries):
        assert next(entries).path == "a"
        (tmp_path / "ws/a").rename(tmp_path / "ws/moved")
        (tmp_path / "ws/a").symlink_to(tmp_path / "out")
        assert list(entries) == []
        assert walker.notes() == ["1 files or folders could not be read"]


def test_a_walk_that_is_left_early_leaves_no_descriptor(tmp_path: Path) -> None:
    tree(tmp_path, "a/b/c/d")
    before = len(list(Path("/dev/fd").iterdir()))
    with walking(tmp_path) as (_, entries):
        assert [next(entries).path, next(entries).path, next(entries).path] == ["a", "a/b", "a/b/c"]
        assert isinstance(entries, Generator)
        entries.close()
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_cancelled_walk_stops_at_the_next_entry(tmp_path: Path) -> None:
    tree(tmp_path, "a", "b")
    with Confined(tmp_path) as confined:
        workspace = Workspace(confined=confined, folder=tmp_path, files=RealFiles(), limits=PiLimits())
        answers = iter([False, True])
        walker = Walker(workspace=workspace, stopped=lambda: next(answers))
        with confined.place(".") as place:
            entries = walker.walk(place.folder, ())
            assert next(entries).path == "a"
            with pytest.raises(InvokeError, match="cancelled"):
                next(entries)


PATHS = ["a.o", "b.c", "x/a.o", "x/b.c", "x/y/a.o", "x/y/k", "y/k", "y/x/b.c"]
LINES = st.sampled_from(
    [
        "*.o",
        "!a.o",
        "x/",
        "/x",
        "y",
        "!y/",
        "x/y",
        "**/k",
        "!k",
        "y/*",
        "y/**",
        "!x/b.c",
        "*",
        "!*/",
        "#k",
        "",
    ]
)
FILES = st.dictionaries(st.sampled_from(["", "x/", "x/y/", "y/"]), st.lists(LINES, max_size=4), max_size=4)


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    tree(root, *PATHS)
    return root


@given(rules=FILES)
def test_ignore_files_in_every_folder_mean_what_they_mean_to_git(
    rules: dict[str, list[str]], repository: Path
) -> None:
    for folder in ("", "x/", "x/y/", "y/"):
        (repository / folder / ".gitignore").write_text("\n".join(rules.get(folder, [])))
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout
    with walking(repository) as (_, entries):
        files = {entry.path for entry in entries if entry.type == "file"}
    assert files == {path for path in listed.split("\0") if path}
