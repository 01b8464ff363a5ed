"""The live line."""

from __future__ import annotations

import pytest

from toolfabric.cli.live import Watch
from toolfabric.execution.records import Activity


def test_the_line_counts_calls_and_names_the_phase_and_what_runs() -> None:
    watch = Watch()
    for kind, text in (("phase", "read"), ("call", "pi.read"), ("call", "pi.grep"), ("settled", "pi.read")):
        watch(Activity(kind=kind, text=text))  # type: ignore[arg-type]
    assert watch.line() == "read: 1 calls done, running pi.grep"


def test_untrusted_text_is_neither_markup_nor_control(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch()
    watch(Activity(kind="phase", text="[red]\x1b[2J"))
    assert "[" not in watch.line()
    assert "\x1b" not in watch.line()
    assert "\x1b" not in capsys.readouterr().err


def test_without_a_terminal_only_prints_and_phases_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch() as watch:
        watch(Activity(kind="call", text="pi.read"))
        watch(Activity(kind="print", text="hello\n"))
        watch(Activity(kind="item", text="one"))
        with watch.paused():
            pass
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "hello\n   one\n")
