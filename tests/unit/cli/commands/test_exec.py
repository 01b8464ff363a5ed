"""fabric exec."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from toolfabric.cli.commands.exec import split_words
from toolfabric.cli.output import Exit
from toolfabric.trace.reader import parse_trace
from toolfabric.values import Risk

from ..conftest import Run, read


def test_the_value_goes_to_standard_output_and_prints_to_standard_error(run: Run) -> None:
    result = run("exec", "-", given='print("seen")\nreturn "answer"')
    assert (result.exit_code, result.stdout, result.stderr) == (Exit.OK, "answer\n", "seen\n")


def test_json_has_exactly_the_five_keys_and_a_trace_that_the_guard_accepts(run: Run) -> None:
    result = run("exec", "-", "--json", given='return (await pi.read(path="a.txt"))["lines"]')
    form = read(result)
    assert list(form) == ["success", "value", "error", "trace", "session"]
    assert (form["success"], form["value"], form["error"]) == (True, 2, None)
    trace = parse_trace(form["trace"])
    assert trace is not None
    assert [one.ref for one in trace.operations] == ["pi.read"]
    assert Path(form["session"]).is_file()


def test_a_failure_is_told_with_line_and_completed_calls(run: Run) -> None:
    result = run("exec", "-", given='await pi.read(path="a.txt")\nraise ValueError("because")')
    assert (result.exit_code, result.stdout) == (Exit.FAILED, "")
    assert "raised at line 2, column 7: ValueError: because" in result.stderr
    assert "Calls that had completed: pi.read." in result.stderr


def test_a_failure_in_json_is_on_standard_output(run: Run) -> None:
    result = run("exec", "-", "--json", given="return 1 +")
    form = read(result)
    assert result.exit_code == Exit.FAILED
    assert (form["success"], form["value"]) == (False, None)
    assert "line 1" in form["error"]


def test_time_out_has_its_own_exit_code(run: Run) -> None:
    result = run("exec", "-", "--timeout", "0.2", given="while True:\n    pass")
    assert result.exit_code == Exit.TIMED_OUT
    assert "0.2 seconds" in result.stderr


def test_payloads_are_given_as_text_or_from_a_file(run: Run) -> None:
    result = run(
        "exec",
        "-",
        "--payload",
        "k=v=w",
        "--payload",
        "f=@a.txt",
        given='return payloads["k"] + payloads["f"][:3]',
    )
    assert result.stdout == "v=wone\n"


@pytest.mark.parametrize("yes", [("--yes", "write"), ("--yes", "write,execute"), ("--yes", "all")])
def test_writing_needs_a_yes(run: Run, workspace: Path, yes: tuple[str, ...]) -> None:
    program = 'return (await pi.write(path="b.txt", content="x"))["ok"]'
    refused = run("exec", "-", given=program)
    assert refused.exit_code == Exit.FAILED
    assert "--yes write" in refused.stderr
    assert not (workspace / "b.txt").exists()
    assert run("exec", "-", *yes, given=program).stdout == "true\n"


def test_result_format_and_model_are_taken(run: Run) -> None:
    assert run("exec", "-", "--result-format", "yaml", given='return {"a": [1]}').stdout == "a:\n- 1\n"
    form = read(run("exec", "-", "--json", "--model", "maker/m-1", given="return 1"))
    assert '"provider":"maker"' in Path(form["session"]).read_text(encoding="utf-8").replace('": "', '":"')


def test_remarks_on_arguments_do_not_stop_the_call(run: Run) -> None:
    result = run("exec", "-", given='return (await pi.read(path="a.txt", limit="1"))["lines"]')
    assert (result.exit_code, result.stdout) == (Exit.OK, "1\n")
    assert result.stderr.startswith("note at line 1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("exec", "nowhere.py"), "cannot read nowhere.py"),
        (("exec", "-", "--payload", "k"), "KEY=TEXT"),
        (("exec", "-", "--payload", "k=@nowhere"), "cannot read nowhere"),
        (("exec", "-", "--model", "m"), "PROVIDER/ID"),
        (("exec", "-", "--yes", "everything"), "not a risk"),
        (("exec", "one.py", "two.py"), "give one FILE"),
        (("exec", "-", "--timeout", "0"), "timeout"),
    ],
)
def test_wrong_use_is_told_and_nothing_runs(run: Run, arguments: tuple[str, ...], told: str) -> None:
    result = run(*arguments, given="return 1")
    assert isinstance(result.exception, click.UsageError)
    assert told in result.exception.format_message()


def test_a_program_that_is_not_text_is_refused(run: Run) -> None:
    result = run("exec", "-", given=b"\xff\xfe")
    assert isinstance(result.exception, click.UsageError)
    assert "UTF-8" in result.exception.format_message()


@pytest.mark.parametrize(
    ("words", "yes", "expected"),
    [
        (("p.py",), (), ("p.py", ())),
        (("p.py", "execute"), ("write",), ("p.py", (Risk.WRITE, Risk.EXECUTE))),
        (("execute", "p.py"), ("write",), ("p.py", (Risk.WRITE, Risk.EXECUTE))),
        (("read",), (), ("read", ())),
        (("-",), ("all",), ("-", tuple(Risk))),
    ],
)
def test_risks_may_follow_one_another(
    words: tuple[str, ...], yes: tuple[str, ...], expected: tuple[str, tuple[Risk, ...]]
) -> None:
    assert split_words(words, yes) == expected
