"""Whatever a program does, its trace is within bounds, passes the guard, and says nothing it may not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.trace.audit import DETAILS_BYTES, AuditLog, details_json
from toolfabric.trace.bounds import ENVELOPE_BYTES, bound_text, encode, excess
from toolfabric.trace.project import project_args, project_phase
from toolfabric.trace.reader import read_trace
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.trace.records import RuleRef, Trace, Witness
from toolfabric.trace.seal import trace_from_events
from toolfabric.values import JsonObject, Outcome, Stage

REFS = [
    "pi.read",
    "pi.write",
    "pi.bash",
    "mesh.publish",
    "agents.run",
    "fabric.discovery.search",
    "fabric.workflow.phase",
    "mcp.github.search",
    "schema.commit",
    "read",
]
KEYS = [
    "path",
    "command",
    "topic",
    "key",
    "cursor",
    "limit",
    "id",
    "ids",
    "name",
    "label",
    "content",
    "code",
    "x",
]

texts = st.text(st.characters(), max_size=40)
odd_texts = st.one_of(
    texts,
    st.sampled_from(
        ["\ud800", "a\udcff", "\x00", "\x1b[2J", "https://u:p@h/x?q#f", "a?b#c", "x" * 70_000, "é" * 9_000]
    ),
)
numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([2**53 - 1, 2**53, -(2**70), 10**4200, math.nan, math.inf, -0.0]),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, odd_texts)
keys = st.one_of(st.sampled_from(KEYS), odd_texts, st.integers(), st.none(), st.booleans())


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4))


values: st.SearchStrategy[Any] = st.recursive(scalars, _containers, max_leaves=8)


def _deep(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = {"x": [value]}
    return value


def _wide(count: int) -> Any:
    return {f"k{number}": number for number in range(count)}


def _ids(count: int) -> Any:
    return {"ids": [f"i{number}" for number in range(count)]}


arguments: st.SearchStrategy[Any] = st.one_of(
    st.dictionaries(keys, values, max_size=6),
    values,
    st.builds(_deep, st.sampled_from([6, 50])),
    st.builds(_wide, st.sampled_from([0, 200])),
    st.builds(_ids, st.sampled_from([0, 200])),
)
refs = st.one_of(st.sampled_from(REFS), odd_texts)
digests = st.sampled_from(["0" * 64, "f" * 64, "F" * 64, "short"])


def _witness(digest: str, rules: list[RuleRef]) -> Witness:
    return Witness(
        version=1, base_schema_digest=digest, before_shape=digest, after_shape=digest, rules=tuple(rules)
    )


rules = st.builds(RuleRef, kind=st.sampled_from(["key-form", "enum-form"]), key=odd_texts)
witnesses = st.one_of(st.none(), st.builds(_witness, digests, st.lists(rules, max_size=3)))
outcomes = st.sampled_from(list(Outcome))
stages = st.one_of(st.none(), st.sampled_from(list(Stage)))

Step = Callable[[TraceRecorder, AuditLog], None]


def _issue(ref: str, args: Any) -> Step:
    def step(recorder: TraceRecorder, audits: AuditLog) -> None:
        audits.add(sequence=recorder.issue(ref, args), ref=ref, args=args)

    return step


def _settle(
    sequence: int, outcome: Outcome, stage: Stage | None, result: Any, witness: Witness | None
) -> Step:
    def step(recorder: TraceRecorder, audits: AuditLog) -> None:
        recorder.settle(sequence, outcome, stage=stage, result=result, normalization=witness)
        audits.settle(sequence, outcome, stage=stage, result=result, error=str(stage))

    return step


def _resolve(number: int, ref: str, name: str) -> Step:
    def step(recorder: TraceRecorder, _audits: AuditLog) -> None:
        issued = len(recorder._issued)
        if issued:
            recorder.resolved(number % issued + 1, ref=ref, provider=name, action=name)

    return step


def _phase(name: str) -> Step:
    return lambda recorder, _audits: recorder.phase(name)


def _many(ref: str, args: Any, times: int) -> Step:
    def step(recorder: TraceRecorder, audits: AuditLog) -> None:
        for _ in range(times):
            _issue(ref, args)(recorder, audits)

    return step


steps = st.one_of(
    st.builds(_issue, refs, arguments),
    st.builds(_settle, st.integers(1, 12), outcomes, stages, values, witnesses),
    st.builds(_resolve, st.integers(0, 11), refs, odd_texts),
    st.builds(_phase, odd_texts),
    st.builds(_many, st.sampled_from(REFS), arguments, st.sampled_from([40, 600])),
)


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, inner in cast("dict[Any, Any]", value).items():
                yield from _strings(key)
                yield from _strings(inner)
        case list():
            for inner in cast("list[Any]", value):
                yield from _strings(inner)
        case _:
            return


def _within_bounds(trace: Trace) -> None:
    form: Any = trace.to_json()
    assert read_trace(form).to_json() == form
    assert len(encode(form)) <= ENVELOPE_BYTES
    assert len(trace.operations) <= 2_048
    assert len(trace.phases) <= 512
    assert all(len(encode(text)) <= 16 * 1024 for text in _strings(form))
    for operation in trace.operations:
        assert excess(operation.args, levels=12, size=64 * 1024) is None
        assert len(operation.args) <= 128
        lists: list[list[Any]] = [value for value in operation.args.values() if isinstance(value, list)]
        assert all(len(value) <= 128 for value in lists)


@given(st.lists(steps, max_size=12), outcomes)
def test_a_sealed_trace_always_passes_the_guard_within_all_bounds(
    program: list[Step], outcome: Outcome
) -> None:
    events: list[JsonObject] = []
    recorder, audits = TraceRecorder(observe=events.append), AuditLog()
    for step in program:
        step(recorder, audits)
    _within_bounds(trace_from_events(events))
    trace = recorder.seal(outcome)
    _within_bounds(trace)
    issued = len(recorder._issued)
    assert len(trace.operations) + trace.counts.dropped_operations == issued
    assert [one.sequence for one in trace.operations] == list(range(1, len(trace.operations) + 1))
    details = details_json(
        success=False, trace=trace, audits=audits, phases=trace.phases, error=f"{program!r}"
    )
    assert len(encode(details)) <= DETAILS_BYTES


@given(st.lists(steps, max_size=12))
def test_a_dead_hosts_trace_is_what_its_recorder_would_have_sealed(program: list[Step]) -> None:
    events: list[JsonObject] = []
    recorder, audits = TraceRecorder(observe=events.append), AuditLog()
    for step in program:
        step(recorder, audits)
    # A ref that was resolved and not settled is the one thing that no event tells; settling tells it.
    for sequence in range(1, len(recorder._issued) + 1):
        recorder.settle(sequence, Outcome.ABORTED)
    assert trace_from_events(events) == recorder.seal(Outcome.ABORTED)


@given(st.sampled_from(REFS), arguments)
def test_projecting_twice_is_projecting_once(ref: str, args: Any) -> None:
    once = project_args(ref, args)
    twice = project_args(ref, once.args)
    assert twice.args == once.args
    assert not twice.cut


@given(odd_texts)
def test_a_phase_kept_once_is_kept_again(name: str) -> None:
    kept, _cut = project_phase(name)
    if kept is not None:
        again, lost = project_phase(kept)
        assert again == kept
        assert not lost


@given(st.text(st.characters(), max_size=60), st.integers(2, 80))
def test_a_bounded_text_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    kept, cut = bound_text(text, limit)
    if kept is None:
        assert any("\ud800" <= character <= "\udfff" for character in text)
        return
    assert text.startswith(kept)
    assert len(encode(kept)) <= limit
    assert bool(cut) == (kept != text)
    if kept != text:
        assert len(encode(text[: len(kept) + 1])) > limit


# --- nothing is said that may not be -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planted:
    """A call with a marker of its own in every place, and the keys whose marker may be kept."""

    ref: str
    args: dict[str, Any]


_ALLOWED = {
    "pi.read": {"path"},
    "pi.write": {"path"},
    "pi.bash": {"command"},
    "mesh.publish": {"topic", "key", "cursor"},
    "agents.run": {"id", "ids"},
    "fabric.discovery.search": {"id", "name", "label"},
    "fabric.workflow.phase": {"id", "name", "label"},
}
_shapes: list[Callable[[str], Any]] = [
    lambda marker: marker,
    lambda marker: f"two words {marker}",
    lambda marker: [marker, {marker: marker}],
    lambda marker: {"x": marker, marker: 1},
    lambda marker: f"https://host/{marker}",
    lambda marker: f"plain?{marker}",
    lambda marker: f"plain#{marker}",
    lambda marker: f"\x1b{marker}",
]


def _plant(ref: str, shapes: dict[str, Callable[[str], Any]]) -> _Planted:
    marked = {key: shape(f"MARKER_{key}_{number}") for number, (key, shape) in enumerate(shapes.items())}
    return _Planted(ref=ref, args=marked)


planted = st.builds(
    _plant,
    st.sampled_from(REFS),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(_shapes), max_size=8),
)


def _markers_in(value: Any) -> set[str]:
    return {text for text in _strings(value) if "MARKER" in text}


@pytest.mark.requirement("ENT-032")
@given(st.lists(planted, max_size=6), outcomes, stages)
def test_no_value_program_text_or_prose_is_in_a_trace(
    calls: list[_Planted], outcome: Outcome, stage: Stage | None
) -> None:
    events: list[JsonObject] = []
    recorder = TraceRecorder(observe=events.append)
    for call in calls:
        sequence = recorder.issue(call.ref, {**call.args, "MARKER_KEY": 1})
        recorder.resolved(sequence, ref=call.ref, provider="p", action="a")
        prose: Any = {"created": True, "output": "MARKER_RESULT", "details": {"MARKER_RESULT": 1}}
        recorder.settle(sequence, outcome, stage=stage, result=prose)
    program = recorder.issue("MARKER program text: return 1", "MARKER_ARGS")
    recorder.settle(program, Outcome.FAILED, stage=Stage.RESOLVE, result="MARKER_RESULT")
    recorder.phase("line one\nMARKER_PROGRAM")
    trace = recorder.seal(outcome)
    for operation, call in zip(trace.operations, calls, strict=False):
        assert set(operation.args) <= _ALLOWED.get(call.ref, set())
    everything: Any = trace.to_json()
    kept = {text for operation in trace.operations for text in _markers_in(operation.args)}
    assert _markers_in(everything) == kept
    paths = {text for text in kept if "MARKER_path" in text}
    assert not any(part in text for text in paths for part in ("?", "#", "://", "\x1b"))
    assert {text for event in events for text in _markers_in(event)} == kept
