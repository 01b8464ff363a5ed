"""One scripted execution gives these bytes, always and everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolfabric.trace.bounds import encode
from toolfabric.trace.reader import read_trace
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.trace.records import RuleRef, Trace, Witness
from toolfabric.trace.seal import trace_from_events
from toolfabric.values import Outcome, Stage

HERE = Path(__file__).parent
SEALED = HERE / "sealed.json"
ABORTED = HERE / "aborted.json"


def play(recorder: TraceRecorder) -> None:
    """A program that looks around, edits, publishes, fails at every stage and leaves one call open."""
    witness = Witness(
        version=1,
        base_schema_digest="a" * 64,
        before_shape="b" * 64,
        after_shape="c" * 64,
        rules=(RuleRef(kind="key-form", key="path"), RuleRef(kind="numeric-string", key="limit")),
    )

    def call(
        ref: str,
        args: Any,
        outcome: Outcome = Outcome.SUCCEEDED,
        *,
        stage: Stage | None = None,
        result: Any = None,
        normalization: Witness | None = None,
    ) -> None:
        sequence = recorder.issue(ref, args)
        if stage is not Stage.RESOLVE:
            provider, _dot, action = ref.partition(".")
            recorder.resolved(sequence, ref=ref, provider=provider, action=action)
        recorder.settle(sequence, outcome, stage=stage, result=result, normalization=normalization)

    recorder.phase("Look around")
    call("fabric.workflow.phase", {"name": "look", "note": "free text"})
    call("fabric.discovery.search", {"query": "free text", "limit": 5})
    call("pi.read", {"path": "src/a.py", "offset": 10, "limit": 20}, result="text")
    call("pi.read", {"path": "notes.md?token=secret#part"}, normalization=witness, result="text")
    call("pi.read", {"path": "https://host/secret"}, Outcome.FAILED, stage=Stage.INVOKE)
    call("pi.grep", {"pattern": "secret", "path": "src", "context": 2}, result=[])
    call("pi.write", {"path": "ü/新.txt", "content": "secret"}, result={"created": True})
    call("pi.bash", {"command": 'echo "ü"\t\\', "timeout": 5}, Outcome.TIMED_OUT)
    call("mesh.publish", {"topic": "t", "event": {"secret": 1}}, result=1)
    call("agents.run", {"id": "a-1", "prompt": "secret"}, Outcome.ABORTED)
    call("mcp.github.search_issues", {"query": "secret"}, result=[])
    call("not a ref", {"path": "secret"}, Outcome.FAILED, stage=Stage.RESOLVE)
    for stage in Stage:
        call("pi.ls", {"path": "."}, Outcome.FAILED, stage=stage)
    recorder.phase("two\nlines")
    recorder.issue("pi.edit", {"path": "src/a.py", "edits": [{"oldText": "secret"}]})


def shown(trace: Trace) -> str:
    """The form of the golden files: one line a value, as the trace orders its keys."""
    return json.dumps(trace.to_json(), indent=1, ensure_ascii=False) + "\n"


def test_a_sealed_trace_has_these_bytes() -> None:
    recorder = TraceRecorder()
    play(recorder)
    trace = recorder.seal(Outcome.FAILED)
    assert shown(trace) == SEALED.read_text(encoding="utf-8")
    assert encode(trace.to_json()) == encode(json.loads(SEALED.read_bytes()))


def test_a_trace_folded_from_events_has_these_bytes() -> None:
    events: list[Any] = []
    play(TraceRecorder(observe=events.append))
    assert shown(trace_from_events(events)) == ABORTED.read_text(encoding="utf-8")


def test_both_are_read_back_the_same() -> None:
    for path in (SEALED, ABORTED):
        assert shown(read_trace(json.loads(path.read_bytes()))) == path.read_text(encoding="utf-8")
        assert b"secret" not in path.read_bytes()


def test_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    answers = [
        subprocess.run(
            [sys.executable, "-X", "utf8", __file__],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ""},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for seed in ("1", "2")
    ]
    assert answers == [SEALED.read_text(encoding="utf-8")] * 2


if __name__ == "__main__":
    a_recorder = TraceRecorder()
    play(a_recorder)
    sys.stdout.write(shown(a_recorder.seal(Outcome.FAILED)))
