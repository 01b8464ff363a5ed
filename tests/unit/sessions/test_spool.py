"""An execution whose host died is in its session after the next start, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lock import FileLock
from toolfabric.errors import StorageError
from toolfabric.protocols import Clock, Ids
from toolfabric.sessions.reader import read_entries
from toolfabric.sessions.records import FoldedExecution
from toolfabric.sessions.spool import Spool, fold_spools
from toolfabric.sessions.writer import SessionWriter
from toolfabric.trace.reader import read_trace
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import JsonObject, Outcome

Fold = Callable[[], list[FoldedExecution]]


@pytest.fixture
def fold(folder: Path, clock: Clock, ids: Ids) -> Fold:
    return lambda: fold_spools(folder, files=RealFiles(), clock=clock, ids=ids)


@pytest.fixture
def session(create: Callable[[], SessionWriter]) -> SessionWriter:
    return create()


def run(writer: SessionWriter, spool: Spool, *, call_id: str = "call_1", calls: int = 2) -> TraceRecorder:
    """Begin an execution as a host does; its last call stays open."""
    writer.assistant_tool_call(call_id=call_id, name="fabric_exec", arguments={"code": "…"})
    spool.begin(call_id, call_id=call_id, name="fabric_exec")
    recorder = TraceRecorder(observe=lambda event: spool.event(call_id, event))
    for number in range(calls):
        sequence = recorder.issue("pi.read", {"path": f"{number}.txt"})
        if number < calls - 1:
            recorder.settle(sequence, Outcome.SUCCEEDED)
    return recorder


def die(writer: SessionWriter, spool: Spool) -> None:
    """Let go of the files as the kernel does for a killed process."""
    spool.close()
    writer.close()


def results(path: Path) -> list[dict[str, Any]]:
    messages: list[Any] = [entry.get("message") for entry in read_entries(path)]
    return [message for message in messages if message and message["role"] == "toolResult"]


def test_an_execution_that_ended_leaves_no_spool(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    assert not spool.path.exists()
    recorder = run(session, spool)
    assert spool.path.stat().st_mode & 0o777 == 0o600
    recorder.seal(Outcome.SUCCEEDED)
    session.tool_result(call_id="call_1", name="fabric_exec", text="", details={}, is_error=False)
    spool.end("call_1")
    assert not spool.path.exists()
    die(session, spool)
    assert fold() == []
    assert len(results(session.path)) == 1


def test_a_dead_hosts_execution_becomes_an_aborted_result(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    recorder = run(session, spool)
    die(session, spool)
    assert fold() == [
        FoldedExecution(session=session.path, execution_id="call_1", call_id="call_1", operations=2)
    ]
    assert not spool.path.exists()
    (result,) = results(session.path)
    trace = read_trace(result["details"]["trace"])
    assert trace == recorder.seal(Outcome.ABORTED)
    assert (result["toolCallId"], result["toolName"], result["isError"]) == ("call_1", "fabric_exec", True)
    text = "The host ended before this execution did. It had begun 2 calls; 1 had succeeded: pi.read."
    assert result["content"] == [{"type": "text", "text": text}]
    assert result["details"] == {
        "success": False,
        "trace": trace.to_json(),
        "audits": [],
        "phases": [],
        "error": text,
    }
    entries = list(read_entries(session.path))
    assert entries[-1]["parentId"] == entries[-2]["id"]


def test_folding_twice_changes_nothing(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    die(session, spool)
    left = spool.path.read_bytes()
    fold()
    once = session.path.read_bytes()
    assert fold() == []
    spool.path.write_bytes(left)  # as if the first fold had been stopped before it removed the spool
    assert fold() == []
    assert session.path.read_bytes() == once
    assert not spool.path.exists()


def test_a_live_owners_spool_is_left_alone(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    before = (session.path.read_bytes(), spool.path.read_bytes())
    assert fold() == []
    assert (session.path.read_bytes(), spool.path.read_bytes()) == before
    die(session, spool)


def test_a_live_owners_spool_is_left_alone_though_nobody_else_holds_its_session(
    session: SessionWriter, fold: Fold
) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    session.close()
    before = session.path.read_bytes()
    assert fold() == []
    assert session.path.read_bytes() == before
    assert spool.path.exists()
    spool.close()
    assert len(fold()) == 1


def test_a_spool_whose_session_somebody_writes_is_left_for_later(
    session: SessionWriter, fold: Fold, reopen: Callable[[Path], SessionWriter]
) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    die(session, spool)
    with reopen(session.path):
        assert fold() == []
        assert spool.path.exists()
    assert len(fold()) == 1


def test_a_result_that_was_written_before_the_host_died_stays_the_only_one(
    session: SessionWriter, fold: Fold
) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    session.assistant_text("first, some words")
    run(session, spool)
    session.tool_result(call_id="call_1", name="fabric_exec", text="done", details={}, is_error=False)
    die(session, spool)
    assert fold() == []
    assert [result["content"][0]["text"] for result in results(session.path)] == ["done"]
    assert not spool.path.exists()


def test_a_call_id_used_before_does_not_hide_the_open_call(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    session.tool_result(call_id="call_1", name="fabric_exec", text="first", details={}, is_error=False)
    spool.end("call_1")
    run(session, spool)
    die(session, spool)
    assert len(fold()) == 1
    assert [result["isError"] for result in results(session.path)] == [False, True]


def test_several_open_executions_are_each_folded_with_their_own_calls(
    session: SessionWriter, fold: Fold
) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool, call_id="call_1", calls=1)
    run(session, spool, call_id="call_2", calls=3)
    run(session, spool, call_id="call_3", calls=2)
    session.tool_result(call_id="call_2", name="fabric_exec", text="", details={}, is_error=False)
    spool.end("call_2")
    die(session, spool)
    assert [(one.call_id, one.operations) for one in fold()] == [("call_1", 1), ("call_3", 2)]


def test_a_call_that_never_reached_the_session_is_written_with_its_result(
    session: SessionWriter, fold: Fold
) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    arguments: JsonObject = {"code": "return 1"}
    spool.begin("run-1", call_id="call_1", name="fabric_exec", arguments=arguments)
    die(session, spool)
    (folded,) = fold()
    assert (folded.execution_id, folded.call_id) == ("run-1", "call_1")
    call: Any
    result: Any
    call, result = list(read_entries(session.path))[1:]
    assert call["message"]["content"][0]["arguments"] == arguments
    assert result["parentId"] == call["id"]
    assert result["message"]["content"][0]["text"] == (
        "The host ended before this execution did. It had begun 0 calls; 0 had succeeded."
    )


def test_many_completed_calls_are_counted_rather_than_all_named(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool, calls=31)
    die(session, spool)
    fold()
    text = results(session.path)[0]["content"][0]["text"]
    assert text.count("pi.read") == 20
    assert text.endswith("and 10 more.")


@pytest.mark.parametrize(
    "tail", [b'{"kind":"event","execution":"call_1","ev', b"\xff\xff", b"\n\nnonsense\n[]\n{}\n"]
)
def test_a_half_written_line_is_passed_over(tail: bytes, session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    die(session, spool)
    with spool.path.open("ab") as file:
        file.write(tail)
    assert [one.operations for one in fold()] == [2]


@pytest.mark.parametrize(
    "content", [b"", b'{"kind":"begin"', b'{"kind":"event","execution":"x","event":{}}\n']
)
def test_a_spool_that_tells_of_no_execution_is_removed(
    content: bytes, session: SessionWriter, fold: Fold
) -> None:
    session.close()
    spool = Spool.open(session.path, files=RealFiles())
    spool.path.write_bytes(content)
    before = session.path.read_bytes()
    assert fold() == []
    assert session.path.read_bytes() == before
    assert not spool.path.exists()


def test_a_spool_whose_session_is_gone_is_removed(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    die(session, spool)
    session.path.unlink()
    assert fold() == []
    assert list(session.path.parent.iterdir()) == []


def test_a_session_of_another_version_keeps_its_spool(session: SessionWriter, fold: Fold) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    run(session, spool)
    die(session, spool)
    newer = session.path.read_bytes().replace(b'"version":3', b'"version":4')
    session.path.write_bytes(newer)
    assert fold() == []
    assert session.path.read_bytes() == newer
    assert spool.path.exists()


def test_one_spool_that_fails_does_not_keep_the_others_from_being_folded(
    create: Callable[[], SessionWriter], fold: Fold, tmp_path: Path
) -> None:
    writers = [create(), create()]
    spools = [Spool.open(writer.path, files=RealFiles()) for writer in writers]
    for writer, spool in zip(writers, spools, strict=True):
        run(writer, spool)
        die(writer, spool)
    elsewhere = tmp_path / "elsewhere"
    spools[0].path.rename(elsewhere)
    spools[0].path.symlink_to(elsewhere)
    with pytest.raises(StorageError, match="spool"):
        fold()
    assert [len(results(writer.path)) for writer in writers] == [0, 1]
    assert elsewhere.exists()


def test_a_new_owner_does_not_lose_what_a_dead_one_left(
    session: SessionWriter, reopen: Callable[[Path], SessionWriter], fold: Fold
) -> None:
    first = Spool.open(session.path, files=RealFiles())
    run(session, first, call_id="call_1")
    die(session, first)
    writer = reopen(session.path)
    second = Spool.open(session.path, files=RealFiles())
    run(writer, second, call_id="call_2")
    writer.tool_result(call_id="call_2", name="fabric_exec", text="", details={}, is_error=False)
    second.end("call_2")
    die(writer, second)
    assert [one.call_id for one in fold()] == ["call_1"]


def test_a_spool_held_by_somebody_else_is_not_written(session: SessionWriter) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    with FileLock(spool.path), pytest.raises(StorageError, match="locked"):
        spool.begin("x", call_id="x", name="n")
    session.close()


def test_an_event_of_an_execution_that_is_not_open_is_passed_over(session: SessionWriter) -> None:
    spool = Spool.open(session.path, files=RealFiles())
    spool.event("x", {"event": "dropped"})
    spool.begin("y", call_id="y", name="n")
    before = spool.path.read_bytes()
    spool.event("x", {"event": "dropped"})
    assert spool.path.read_bytes() == before
    die(session, spool)


def test_a_folder_that_is_not_there_has_nothing_to_fold(tmp_path: Path, clock: Clock, ids: Ids) -> None:
    assert fold_spools(tmp_path / "none", files=RealFiles(), clock=clock, ids=ids) == []
