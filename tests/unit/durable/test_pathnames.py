"""Paths as text: what is refused unseen, and how names are shown."""

from __future__ import annotations

import contextlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.durable.pathnames import ParsedPath, folded, is_reserved, parse_path, shown
from toolfabric.errors import PathError


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("a", ParsedPath(absolute=False, parts=("a",), folder=False)),
        ("./a//b/./c", ParsedPath(absolute=False, parts=("a", "b", "c"), folder=False)),
        ("a/", ParsedPath(absolute=False, parts=("a",), folder=True)),
        ("a/..", ParsedPath(absolute=False, parts=("a", ".."), folder=True)),
        (".", ParsedPath(absolute=False, parts=(), folder=False)),
        ("/", ParsedPath(absolute=True, parts=(), folder=True)),
        ("/a/b", ParsedPath(absolute=True, parts=("a", "b"), folder=False)),
        ("a b\nc", ParsedPath(absolute=False, parts=("a b\nc",), folder=False)),
        ("100%.txt", ParsedPath(absolute=False, parts=("100%.txt",), folder=False)),
        ("note: a", ParsedPath(absolute=False, parts=("note: a",), folder=False)),
        ("$lib/x", ParsedPath(absolute=False, parts=("$lib", "x"), folder=False)),
        ("...", ParsedPath(absolute=False, parts=("...",), folder=False)),
        ("x~", ParsedPath(absolute=False, parts=("x~",), folder=False)),
        ("日本\uff0f語", ParsedPath(absolute=False, parts=("日本\uff0f語",), folder=False)),
    ],
)
def test_a_path_is_split_without_looking_anything_up(text: str, parsed: ParsedPath) -> None:
    assert parse_path(text) == parsed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        ("a/" * 3000, "4096 bytes"),
        ("a/" * 300, "256 parts"),
        ("a" * 256, "255 bytes"),
        ("é" * 128, "255 bytes"),
        ("https://example.org/a", "URL"),
        ("file:a", "URL"),
        ("file%3A//etc", "URL"),
        ("C:\\a", "drive"),
        ("\\\\server\\a", "network"),
        ("~/a", "expand"),
        ("~root/a", "expand"),
        ("$HOME/a", "expand"),
        ("${HOME}/a", "expand"),
        ("%USERPROFILE%\\a", "expand"),
        ("a/%2e%2e/b", "disguise"),
        ("a/%252e%252e", "disguise"),
        ("a\\..\\b", "disguise"),
        (".. /a", "disguise"),
        ("\uff0e\uff0e/a", "disguise"),
        ("‥", "disguise"),
        (".\u200b./a", "disguise"),
    ],
)
def test_what_is_no_plain_path_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(PathError, match=reason):
        parse_path(text)


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git",
        ".git ",
        ".git.",
        ".git. .",
        ".git::$INDEX_ALLOCATION",
        ".g\u200cit",
        ".\uff47\uff49\uff54",
        "git~1",
        "GIT~2",
        ".pi",
        ".PI",
        ".p\ufeffi",
        ".pi...",
        "pi~1",
    ],
)
def test_a_name_that_some_file_system_takes_for_git_or_pi_is_reserved(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize(
    "name", [".gitignore", ".github", "git", "pi", ".pip", ".pi2", "git~", "x.git", "a.pi"]
)
def test_a_name_that_only_resembles_a_reserved_one_is_free(name: str) -> None:
    assert not is_reserved(name)


def test_two_spellings_of_a_name_fold_to_one() -> None:
    assert folded(("É", "x")) == folded((unicodedata.normalize("NFD", "é"), "X"))
    assert folded(("a",)) != folded(("b",))


@given(st.text())
def test_what_is_shown_has_no_character_that_moves_the_cursor(text: str) -> None:
    assert shown(text).isprintable()
    assert len(shown(text)) <= 160


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a.txt", "a.txt"),
        ("a\nb", r"a\nb"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\u202eb", r"a\u202eb"),
        ("\udcff", r"\udcff"),
        ("naïve", "naïve"),
    ],
)
def test_control_and_undecodable_characters_are_spelled_out(text: str, plain: str) -> None:
    assert shown(text) == plain


def test_long_text_keeps_both_ends() -> None:
    assert shown("a" * 500 + "z", 21) == "a" * 10 + "…" + "a" * 9 + "z"


@given(st.text(max_size=60))
def test_reading_a_path_never_fails_in_another_way(text: str) -> None:
    with contextlib.suppress(PathError):
        parsed = parse_path(text)
        assert all(part not in {"", "."} and "/" not in part for part in parsed.parts)
