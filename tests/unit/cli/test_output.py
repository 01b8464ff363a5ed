from __future__ import annotations

import errno
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.cli import output
from toolfabric.errors import StorageError
from toolfabric.values import Json


@pytest.fixture(name="streams")
def fixture_streams(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """Stand other streams in for the process's own; they are process state, so there is no other way."""

    def stand_in(out: Any = None, err: Any = None) -> tuple[Any, Any]:
        out, err = out or io.StringIO(), err or io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        return out, err

    return stand_in


class Refusing(io.StringIO):
    def __init__(self, code: int) -> None:
        super().__init__()
        self._code = code

    def flush(self) -> None:
        raise OSError(self._code, "no")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_exit_code_has_one_meaning() -> None:
    codes = {one.name: one.value for one in output.Exit}
    assert codes == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "CONFIG": 3,
        "TIMED_OUT": 124,
        "INTERRUPTED": 130,
        "CLOSED": 141,
        "TERMINATED": 143,
    }


@pytest.mark.parametrize(
    ("text", "line", "lines"),
    [
        ("plain é 日本 🙂", "plain é 日本 🙂", "plain é 日本 🙂"),
        ("a\tb\nc\r\nd", r"a\tb\nc\r\nd", "a\tb\nc\r\nd"),
        ("a\rb", r"a\rb", r"a\rb"),
        ("\x1b[2J\x07\x00\x7f", r"\x1b[2J\x07\x00\x7f", r"\x1b[2J\x07\x00\x7f"),
        ("\x9b31m\x85", r"\x9b31m\x85", r"\x9b31m\x85"),
        ("a\u202eb\u2066c\u200f", r"a\u202eb\u2066c\u200f", r"a\u202eb\u2066c\u200f"),
        ("a\u2028b\ufeff", r"a\u2028b\ufeff", r"a\u2028b\ufeff"),
        ("\ud800 \udcff", r"\ud800 \udcff", r"\ud800 \udcff"),
    ],
)
def test_what_could_steer_a_terminal_is_escaped(text: str, line: str, lines: str) -> None:
    assert output.printable(text) == line
    assert output.printable(text, lines=True) == lines


@given(text=st.text(st.characters()))
def test_printable_text_is_one_line_that_can_be_encoded_and_is_left_alone_then(text: str) -> None:
    shown = output.printable(text)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")
    assert output.printable(shown) == shown
    assert not any(ord(one) < 32 or 127 <= ord(one) < 160 for one in shown)


def test_answers_go_to_standard_output_and_remarks_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.emit_text("answer \x1b[1m")
    output.emit_text("ended\n")
    output.note("remark \x1b[1m\nsecond")
    captured = capsys.readouterr()
    assert captured.out == "answer \\x1b[1m\nended\n"
    assert captured.err == "remark \\x1b[1m\nsecond\n"


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    )
)
def test_json_reads_back_and_holds_nothing_that_steers(value: Json) -> None:
    with pytest.MonkeyPatch.context() as patch:
        out = io.StringIO()
        patch.setattr(sys, "stdout", out)
        output.emit_json(value)
    text = out.getvalue()
    assert json.loads(text) == value
    assert output.printable(text, lines=True) == text


def test_json_is_indented_with_keys_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_json({"b": ["é\u202e\x9b"], "a": {}})
    assert capsys.readouterr().out == '{\n  "b": [\n    "é\\u202e\\u009b"\n  ],\n  "a": {}\n}\n'


def test_json_that_is_none_is_refused_before_anything_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        output.emit_json([1, float("nan")])
    assert capsys.readouterr().out == ""


def test_a_table_is_aligned_by_the_width_of_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_table(("name", "what"), [("a", "one\ntwo"), ("日本", "e\u0301"), ("long name", "")])
    assert capsys.readouterr().out == (
        "name       what\n"
        "a          one\\ntwo\n"
        "日本       e\u0301\n"
        "long name\n"
    )  # fmt: skip


def test_a_table_without_rows_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_table(("name",), [])
    assert capsys.readouterr().out == ""


def test_on_a_terminal_a_table_is_drawn_without_markup_of_its_cells(
    streams: Callable[..., tuple[Any, Any]],
) -> None:
    out, _ = streams(out=Terminal())
    output.emit_table(("name", "what"), [("[red]a[/red]", "\x1b[2J")])
    text = out.getvalue()
    assert "[red]a[/red]" in text
    assert "\\x1b[2J" in text
    assert "\x1b[2J" not in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_can_take_every_text(encoding: str, streams: Callable[..., tuple[Any, Any]]) -> None:
    raw = io.BytesIO()
    streams(out=io.TextIOWrapper(raw, encoding=encoding))
    output.emit_text("é 日 \ud800")
    assert raw.getvalue().decode(encoding).endswith("\n")
    assert b"ud800" in raw.getvalue()


def test_a_closed_pipe_is_told_so_that_the_command_ends_quietly(
    streams: Callable[..., tuple[Any, Any]],
) -> None:
    streams(out=Refusing(errno.EPIPE), err=Refusing(errno.EPIPE))
    with pytest.raises(BrokenPipeError) as raised:
        output.emit_text("x")
    assert raised.value.errno is None  # with one, click would end the process with its own code
    output.note("nobody hears this")


def test_a_full_disk_behind_standard_output_is_an_error_that_can_be_told(
    streams: Callable[..., tuple[Any, Any]],
) -> None:
    streams(out=Refusing(errno.ENOSPC))
    with pytest.raises(StorageError, match="could not write to standard output: no"):
        output.emit_text("x")


def test_streams_that_the_process_was_started_without_are_closed_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(BrokenPipeError):
        output.emit_json({})
    with pytest.raises(BrokenPipeError):
        output.emit_table(("a",), [("b",)])
    output.note("nobody hears this")
    assert not output.is_terminal()
    with pytest.raises(SystemExit) as ended:
        output.leave(output.Exit.CLOSED)
    assert ended.value.code == 141


def test_a_person_is_there_when_remarks_reach_a_terminal(streams: Callable[..., tuple[Any, Any]]) -> None:
    streams()
    assert not output.is_terminal()
    assert not output.is_interactive()
    streams(err=Terminal())
    assert output.is_terminal()
    assert output.is_interactive()


def test_sources_are_read_from_standard_input_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbf{}\r\n")
    assert output.read_source(f"@{tmp_path / 'file'}") == "{}\r\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é".encode())))
    assert output.read_source("-") == "é"


def test_a_source_that_cannot_be_read_is_wrong_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(click.UsageError, match=r"cannot read .*gone: No such file"):
        output.read_source(f"@{tmp_path / 'gone'}")
    (tmp_path / "file").write_bytes(b"ab\xff")
    with pytest.raises(click.UsageError, match=r"file is not UTF-8 \(byte 2 is wrong\)"):
        output.read_source(f"@{tmp_path / 'file'}")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    with pytest.raises(click.UsageError, match="standard input is not UTF-8"):
        output.read_source("-")
