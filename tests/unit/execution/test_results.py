"""Answers: one spelling, a ceiling, both ends kept, the whole set aside."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.durable.fileops import RealFiles
from toolfabric.execution.records import ResultFormat
from toolfabric.execution.results import OutputFolder, bounded_text, render
from toolfabric.testing.files import FaultyFiles
from toolfabric.values import Json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(json_values)
def test_json_and_yaml_say_the_same_value(value: Json) -> None:
    assert json.loads(render(value, ResultFormat.JSON)) == value
    read: Json = yaml.safe_load(render(value, ResultFormat.YAML))
    assert read == value


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        ("plain", ResultFormat.AUTO, "plain"),
        ({"a": [1, "é"]}, ResultFormat.AUTO, '{\n  "a": [\n    1,\n    "é"\n  ]\n}'),
        ("plain", ResultFormat.JSON, '"plain"'),
        (["one", "two"], ResultFormat.TEXT, "one\ntwo"),
        (None, ResultFormat.TEXT, ""),
        (None, ResultFormat.AUTO, "null"),
        (["one", 2], ResultFormat.TEXT, '[\n  "one",\n  2\n]'),
        ({"b": 1, "a": 2}, ResultFormat.YAML, "b: 1\na: 2"),
    ],
)
def test_each_form_spells_values_its_own_way(value: Json, form: ResultFormat, text: str) -> None:
    assert render(value, form) == text


def test_a_text_at_its_ceiling_is_left_alone(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "outputs", files=RealFiles())
    bounded = bounded_text("x" * 1_000, 1_000, folder=folder, name="call_1")
    assert (bounded.text, bounded.file) == ("x" * 1_000, None)
    assert not (tmp_path / "outputs").exists()


@given(st.text(alphabet="ab\né𝄞", min_size=1_001, max_size=5_000))
def test_a_longer_text_keeps_both_ends_within_the_ceiling(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        folder = OutputFolder(Path(made) / "outputs", files=RealFiles())
        bounded = bounded_text(text, 1_000, folder=folder, name="call_1")
        assert len(bounded.text) <= 1_000
        assert bounded.text.startswith(text[:100])
        assert bounded.text.endswith(text[-100:])
        assert bounded.file is not None
        assert str(bounded.file) in bounded.text
        assert bounded.file.read_text(encoding="utf-8") == text


def test_the_whole_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "deep" / "outputs", files=RealFiles())
    path = folder.keep("call_1", "whole")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_full_disk_still_gives_the_bounded_text_and_says_so(tmp_path: Path) -> None:
    files = FaultyFiles(RealFiles(), on="write", error=OSError(errno.ENOSPC, "No space left on device"))
    folder = OutputFolder(tmp_path / "outputs", files=files)
    bounded = bounded_text("x" * 5_000, 1_000, folder=folder, name="call_1")
    assert bounded.file is None
    assert "could not be kept" in bounded.text
    assert len(bounded.text) <= 1_000
