"""Near names: useful ones, in one order, and only from what was known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric._base.suggest import near_names, nearest

NAMES = ["path", "limit", "offset", "file_path", "old_text", "new_text"]


@pytest.mark.parametrize(
    ("wanted", "known"),
    [
        ("pth", "path"),
        ("filePath", "file_path"),
        ("FILE-PATH", "file_path"),
        ("limt", "limit"),
        ("ofset", "offset"),
    ],
)
def test_a_slip_finds_the_name_that_was_meant(wanted: str, known: str) -> None:
    assert nearest(wanted, NAMES) == known


@pytest.mark.parametrize("wanted", ["", "zzz", "\x1b[31m", "-", "x" * 10_000])
def test_what_resembles_nothing_finds_nothing(wanted: str) -> None:
    assert nearest(wanted, NAMES) is None


def test_the_nearest_comes_first_and_equals_come_in_code_unit_order() -> None:
    names = ["text_b", "text_a", "text", "tex"]
    assert near_names("text", names, limit=4) == ("text", "text_a", "text_b", "tex")
    assert near_names("text", names, limit=2) == ("text", "text_a")


@given(st.text(), st.lists(st.text(max_size=12), max_size=12))
def test_only_known_names_come_back_in_an_order_of_their_own(wanted: str, known: list[str]) -> None:
    found = near_names(wanted, known)
    assert len(found) <= 3
    assert set(found) <= set(known)
    assert near_names(wanted, sorted(known)) == near_names(wanted, sorted(known, reverse=True))
