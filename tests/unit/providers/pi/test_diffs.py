"""Short diffs: right where small, bounded where large."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.providers.pi.diffs import first_difference, short_diff


def numbered(count: int) -> bytes:
    return "".join(f"{number}\n" for number in range(1, count + 1)).encode()


def test_a_hunk_is_numbered_from_the_beginning_of_the_file() -> None:
    old = numbered(100)
    new = old.replace(b"\n50\n", b"\nfifty\n").replace(b"\n60\n", b"\nsixty\n")
    assert short_diff(old, new, "f", limit=1_000).splitlines()[2:4] == ["@@ -47,7 +47,7 @@", " 47"]
    assert "@@ -57,7 +57,7 @@" in short_diff(old, new, "f", limit=1_000)
    assert first_difference(old, new) == 50


def test_a_large_change_is_shown_in_part_and_counted() -> None:
    shown = short_diff(numbered(5_000), b"x\n" * 5_000, "f", limit=200)
    assert len(shown) < 300
    assert shown.splitlines()[2] == "@@ -1,5000 +1,5000 @@"
    assert shown.splitlines()[-1].endswith("more lines]")


def test_one_endless_line_is_cut() -> None:
    assert len(short_diff(b"a" * 100_000, b"b" * 100_000, "f", limit=500)) < 1_200


def test_bytes_that_are_not_utf8_do_not_stop_it() -> None:
    assert "-\ufffd" in short_diff(b"\xff\n", b"b\n", "f", limit=500)


CONTENT = st.tuples(
    st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30).map("\n".join), st.sampled_from(["", "\n"])
).map("".join)


@given(old=CONTENT, new=CONTENT)
def test_what_is_shown_can_be_applied(old: str, new: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if not old or not new or old == new:
        return
    folder = tmp_path_factory.getbasetemp() / "diffs"
    folder.mkdir(exist_ok=True)
    (folder / "f").write_text(old)
    patch = short_diff(old.encode(), new.encode(), "f", limit=100_000) + "\n"
    command = ["git", "apply", "-p0", "--unidiff-zero", "--whitespace=nowarn", "-"]
    ran = subprocess.run(command, cwd=folder, input=patch, text=True, check=False, capture_output=True)
    assert ran.stderr == ""
    assert (folder / "f").read_text() == new
