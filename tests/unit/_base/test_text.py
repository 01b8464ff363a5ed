"""Foreign text, made fit to be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric._base.text import one_line, printable, told
from toolfabric.errors import ResolveError

BOTH = "ValueError: a; OSError: b"


class Wordless(Exception):  # noqa: N818 -- a foreign exception need not keep our naming
    def __str__(self) -> str:
        raise RuntimeError("no words either")


@given(st.text(alphabet=st.characters()))
def test_nothing_that_steers_a_terminal_comes_out(text: str) -> None:
    shown = printable(text, limit=100)
    assert all(one.isprintable() or one in "\n\t" for one in shown)
    line = one_line(text, limit=100)
    assert line.isprintable()
    assert shown.encode().decode() == shown


def test_plain_text_comes_out_as_it_is() -> None:
    assert printable("naïve\n\ttext 漢字", limit=100) == "naïve\n\ttext 漢字"


def test_control_characters_and_overrides_are_spelled_out() -> None:
    assert printable("a\x1b[31m\u202eb\ud800\r", limit=100) == "a\\x1b[31m\\u202eb\\ud800\\r"


def test_what_is_cut_is_said() -> None:
    assert printable("abcdef", limit=4) == "abcd […2 more characters]"
    assert one_line("abcdef", limit=4) == "abcd…"
    assert one_line("a" * 10_000, limit=4) == "aaaa…"


def test_a_line_has_its_white_space_folded() -> None:
    assert one_line("  a\n\n b\t c ", limit=40) == "a b c"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ResolveError("no such thing"), "no such thing"),
        (KeyError("x"), "KeyError: 'x'"),
        (ValueError(""), "ValueError"),
        (Wordless(), "Wordless"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (
            ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [OSError("b")])]),
            "ValueError: a; OSError: b",
        ),
        (ValueError("a\x1b[2J"), "ValueError: a\\x1b[2J"),
    ],
)
def test_an_exception_is_told_by_its_words(error: BaseException, message: str) -> None:
    assert told(error) == message


def test_of_a_group_however_deep_three_errors_are_told() -> None:
    group = ExceptionGroup("g", [ValueError("0")])
    for number in range(1, 300):
        group = ExceptionGroup("g", [group, ValueError(str(number)), group])
    assert told(group) == "ValueError: 0; ValueError: 1; ValueError: 0"


def test_a_long_message_is_bounded() -> None:
    assert len(told(ValueError("x" * 1_000_000))) < 2_100
