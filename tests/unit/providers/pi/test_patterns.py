"""Patterns in linear time: expressions, globs, and ignore files as Git reads them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.errors import InvokeError
from toolfabric.providers.pi.patterns import Globs, IgnoreRules, expand_braces, line_pattern


def starts(pattern: str, text: bytes, *, literal: bool = False, ignore_case: bool = False) -> int | None:
    found = line_pattern(pattern, literal=literal, ignore_case=ignore_case).search(text)
    return None if found is None else found.start()


@pytest.mark.parametrize(
    ("pattern", "text", "at"),
    [
        ("b", b"ab", 1),
        ("^b$", b"a\nb\nc", 2),
        ("a.c", b"a\nc abc", 4),
        (r"\s+x", b"a\n x", 2),
        (r"a\nb", b"a\nb", None),
        ("é", "xé".encode(), 1),
        (".x", b"\xff\xc3\xa9x", 1),
        ("(?i)B", b"ab", 1),
        ("[[:digit:]]", b"a1", 1),
        ("", b"x", 0),
    ],
)
def test_an_expression_matches_within_a_line(pattern: str, text: bytes, at: int | None) -> None:
    assert starts(pattern, text) == at


def test_plain_text_and_case_can_be_asked_for() -> None:
    assert starts("a.c", b"abc a.c", literal=True) == 4
    assert starts("A.C", b"abc a.c", literal=True, ignore_case=True) == 4
    assert starts("É", "é".encode(), ignore_case=True) == 0
    assert starts("(", b"a(", literal=True) == 1


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "(a?){50}a{50}", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_an_expression_that_backtracking_could_not_finish_is_answered(pattern: str) -> None:
    assert starts(pattern, b"a" * 50_000 + b"!") in {None, 0}


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*", "a{2,1}", "(?=a)", "(?<!a)b", r"(a)\1", "(?P<n>", "a" * 5_000, "\ud800"]
)
def test_an_expression_that_cannot_be_used_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(InvokeError, match="the pattern"):
        line_pattern(pattern)


@given(st.text(max_size=40))
def test_any_expression_is_used_or_refused(pattern: str) -> None:
    try:
        compiled = line_pattern(pattern)
    except InvokeError:
        return
    compiled.search(b"some text\nwith two lines")


@pytest.mark.parametrize(
    ("pattern", "expanded"),
    [
        ("a", ("a",)),
        ("*.{js,ts}", ("*.js", "*.ts")),
        ("{a,b}{c,d}", ("ac", "ad", "bc", "bd")),
        ("{a,{b,c}d}", ("a", "bd", "cd")),
        ("{a}", ("{a}",)),
        ("{a", ("{a",)),
        ("a}", ("a}",)),
        ("{,x}", ("", "x")),
        ("{a}{b,c}", ("{a}b", "{a}c")),
        (r"\{a,b}", (r"\{a,b}",)),
    ],
)
def test_braces_stand_for_each_alternative(pattern: str, expanded: tuple[str, ...]) -> None:
    assert expand_braces(pattern) == expanded


@pytest.mark.parametrize("pattern", ["{a,b}" * 9, "{" * 17, "x" * 5_000])
def test_a_glob_that_stands_for_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(InvokeError, match="the glob"):
        expand_braces(pattern)


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/*.py", "lib/src/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("**/test_*.py", "test_a.py", True),
        ("**/x/*", "a/x/b", True),
        ("src", "src/a.py", False),
        ("src", "src/", True),
        ("src", "x/src", True),
        ("src/", "src/", True),
        ("src/", "src", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src/", False),
        ("src/**/", "src/a/", True),
        ("src/**/", "src/", False),
        ("src/**/", "src/a", False),
        ("**", "a/b", True),
        ("*", "a/b", True),
        ("*/", "a/", True),
        ("*/", "a", False),
        ("/*", "a", True),
        ("/*", "a/b", False),
        ("?.c", "é.c", True),
        ("[ab].c", "b.c", True),
        ("[!ab].c", "b.c", False),
        ("*.{js,ts}", "x/a.ts", True),
        ("#x", "#x", True),
        ("!*.min.js", "a.js", True),
        ("!*.min.js", "a.min.js", False),
        ("a\nb", "a\nb", True),
        ("*.txt", "a\nb.txt", True),
        ("**/b.txt", "a\nb/b.txt", True),
    ],
)
def test_a_glob_takes_what_it_says(pattern: str, path: str, *, wanted: bool) -> None:
    assert Globs([pattern]).accepts(path.removesuffix("/"), folder=path.endswith("/")) is wanted


def test_the_last_glob_that_matches_decides() -> None:
    globs = Globs(["*.py", "!test_*", "test_keep.py"])
    assert [globs.accepts(path) for path in ("a.py", "test_a.py", "test_keep.py", "a.c")] == [
        True,
        False,
        True,
        False,
    ]


def test_a_glob_that_backtracking_could_not_finish_is_answered() -> None:
    assert not Globs(["*a" * 60 + "b"]).accepts("a" * 250)


@pytest.mark.parametrize("pattern", ["", "/", "a\\", "[a"])
def test_a_malformed_glob_is_refused(pattern: str) -> None:
    with pytest.raises(InvokeError, match="is not valid"):
        Globs([pattern])


def ignored(rules: bytes, *paths: str) -> list[bool | None]:
    parsed = IgnoreRules.parse(rules)
    assert parsed is not None
    return [parsed.decide(os.fsencode(path)) for path in paths]


def test_the_last_rule_that_matches_decides() -> None:
    assert ignored(b"*.o\n!keep.o\n", "a.o", "keep.o", "x/keep.o", "a.c") == [True, False, False, None]


def test_rules_tell_folders_from_files() -> None:
    assert ignored(b"build/\n", "build/", "build", "x/build/") == [True, None, True]


def test_what_git_takes_as_part_of_a_name_is_part_of_it() -> None:
    assert ignored("voilà\n".encode(), "voilà", "voil") == [True, None]
    assert ignored(b"a\t\nb \nc\\ \n", "a\t", "a", "b", "c ", "c") == [True, None, True, True, None]


def test_a_rule_for_all_folders_below_one_does_not_mean_that_one() -> None:
    assert ignored(b"x/**/\n", "x/", "x/y/", "x/y") == [None, True, None]


@pytest.mark.parametrize("rules", [b"", b"# only a comment\n\n", b"/\n", b"[a\n", b"a\\\n"])
def test_a_file_without_usable_rules_has_none(rules: bytes) -> None:
    assert IgnoreRules.parse(rules) is None


def test_a_malformed_line_does_not_spoil_the_others() -> None:
    assert ignored(b"[z-a]\na\\\n*.o\n", "a.o") == [True]


def test_a_byte_order_mark_and_crlf_are_no_part_of_a_rule() -> None:
    assert ignored(b"\xef\xbb\xbf*.o\r\n*.a\r\n", "x.o", "x.a") == [True, True]


def test_an_ignore_file_that_backtracking_could_not_finish_is_answered() -> None:
    assert ignored(b"*a" * 60 + b"b\n", "a" * 250) == [None]


SEGMENTS = st.sampled_from(["a", "b", "ab", "*", "?", "a*", "*b", "**", "[ab]", "[!a]", "voilà", "x y"])
RULES = st.tuples(
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "", "/", " "]),
).map("".join)
TREE = [
    "a",
    "b",
    "ab",
    "x/a",
    "x/b",
    "x/ab",
    "a2/a",
    "a2/b",
    "a2/ab/a",
    "b2/a/b",
    "b2/ab/x y",
    "b2/voilà",
    "c/ab/a/b",
]


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for path in TREE:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


def shown_by_git(root: Path) -> set[str]:
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return {path for path in listed.stdout.split("\0") if path and path != ".gitignore"}


def shown_by_rules(root: Path, parsed: IgnoreRules | None) -> set[str]:
    shown: set[str] = set()
    for path in TREE:
        parts = path.split("/")
        steps = ["/".join(parts[: at + 1]) + ("/" if at + 1 < len(parts) else "") for at in range(len(parts))]
        if not any(parsed is not None and parsed.decide(step.encode()) for step in steps):
            shown.add(path)
    return shown


@given(rules=st.lists(RULES, min_size=1, max_size=4))
def test_ignore_files_mean_what_they_mean_to_git(rules: list[str], repository: Path) -> None:
    (repository / ".gitignore").write_text("\n".join(rules) + "\n")
    parsed = IgnoreRules.parse((repository / ".gitignore").read_bytes())
    assert shown_by_rules(repository, parsed) == shown_by_git(repository)
