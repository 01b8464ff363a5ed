"""Whatever bytes and values come from outside, the readers of entropy answer and stay within bounds."""

# Values are any JSON here, and are taken apart as such.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import tracemalloc
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfabric.entropy import (
    CompiledSurface,
    SessionEvidence,
    apply_normal_form_plan,
    compile_entropy_surface,
    derive_normal_form_plan,
    import_compiled_surface,
    load_compiled_surface,
    measure_entropy,
    merge_compiled_surfaces,
    parse_compiled_surface,
    proves_normal_form_plan,
    review_signals,
    run_entropy_trial,
    schema_freedom,
    session_evidence,
)
from toolfabric.entropy.artifact import compiled_surface_path
from toolfabric.entropy.probes import REF, SCHEMA, action, execution, legacy_artifact, surface
from toolfabric.errors import RecordError

LIVE: Any = surface(search=SCHEMA)
GENUINE: Any = compile_entropy_surface([], LIVE).artifact
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    0.5,
    float("nan"),
    "",
    " ",
    "x",
    "\ud800",
    "x" * 2_000,
    [],
    {},
    [[]],
    {"": {}},
]

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(st.characters(), max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


def damaged(rng: Random, value: Any, *, times: int) -> Any:
    """The value with some nodes replaced, dropped, doubled or added."""
    copy = json.loads(json.dumps(value))
    for _ in range(times):
        nodes: list[Any] = [copy]
        for node in nodes:
            inner = list(node.values()) if isinstance(node, dict) else node
            nodes.extend(one for one in inner if isinstance(one, dict | list))
        node: Any = rng.choice(nodes)
        keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys or rng.randrange(5) == 0:
            if isinstance(node, dict):
                node[rng.choice(["extra", "ref", "version", "rules"])] = deepcopy(rng.choice(ODD))
            else:
                node.append(deepcopy(rng.choice([*ODD, *node])))
            continue
        key = rng.choice(keys)
        match rng.randrange(3):
            case 0:
                del node[key]
            case 1:
                node[key] = deepcopy(rng.choice(ODD))
            case _:
                node[key] = deepcopy(rng.choice([*(node.values() if isinstance(node, dict) else node)]))
    return copy


def check_artifact(value: Any) -> None:
    found = parse_compiled_surface(value)
    assert found is None or isinstance(found, CompiledSurface)
    if found is not None:
        assert parse_compiled_surface(found.to_json()) == found
        merged = merge_compiled_surfaces(None, value, LIVE)
        assert [plan.ref for plan in merged.file.plans] in ([], [REF])
        assert not merged.file.plans or merged.file.plans == GENUINE.plans
        assert (
            run_entropy_trial([], LIVE, artifact=value, audit_calls=[{"ref": REF, "args": {}}]).verdict
            != "costly"
        )
    else:
        with pytest.raises(ValueError, match="not a compiled surface"):
            merge_compiled_surfaces(None, value, LIVE)
    try:
        imported = import_compiled_surface(None, value, LIVE)
    except RecordError:
        return
    assert not imported.merged.file.plans or imported.merged.file.plans == GENUINE.plans


@given(values)
def test_the_artifact_reader_answers_any_value(value: Any) -> None:
    check_artifact(value)


@given(st.integers(0, 2**64), st.integers(1, 3))
def test_the_artifact_reader_answers_damaged_artifacts(seed: int, times: int) -> None:
    rng = Random(seed)  # noqa: S311 - test material
    check_artifact(damaged(rng, rng.choice([GENUINE.to_json(), legacy_artifact()]), times=times))


@given(st.binary(max_size=300))
def test_loading_answers_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("agent")
    check_file(folder, content)


def check_file(folder: Path, content: bytes) -> None:
    path = compiled_surface_path(folder)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(RecordError, match="left as it is"):
        load_compiled_surface(folder)


def check_evidence(lines: list[Any]) -> None:
    found = session_evidence(lines)
    assert isinstance(found, SessionEvidence)
    assert SessionEvidence.from_json(found.to_json()) == found
    report = measure_entropy(found.traces)
    assert 0 <= report.score <= 1
    review_signals(report, found.traces, surface=LIVE, value_observations=found.value_observations)
    run_entropy_trial(found.traces, LIVE, artifact=GENUINE, audit_calls=found.audit_calls)


@given(st.lists(st.binary(max_size=60) | st.text(st.characters(), max_size=40), max_size=6))
def test_the_session_reader_answers_any_lines(lines: list[Any]) -> None:
    check_evidence(lines)


LINE: Any = {
    "type": "message",
    "provider": "p",
    "modelId": "m",
    "message": {
        "role": "assistant",
        "provider": "p",
        "model": "n",
        "details": {
            "trace": execution(
                [
                    action(REF, "failed", "validate", max_results="2"),
                    action(REF, query="x"),
                    action("fabric.discovery.search"),
                ],
                phases=["one"],
            ),
            "audits": [
                {"sequence": 1, "ref": REF, "args": {"max_results": "2"}},
                {"ref": REF, "args": {"Query": "x"}},
            ],
        },
    },
}


@given(st.integers(0, 2**64), st.integers(0, 4))
def test_the_session_reader_answers_damaged_lines(seed: int, times: int) -> None:
    rng = Random(seed)  # noqa: S311 - test material
    lines: list[Any] = []
    for _ in range(3):
        line = bytearray(json.dumps(damaged(rng, LINE, times=times)).encode())
        if rng.randrange(3) == 0:
            line[rng.randrange(len(line))] = rng.randrange(256)
        lines.append(bytes(line))
    check_evidence(lines)


@given(values, values)
def test_deriving_and_applying_answer_any_schema_and_any_arguments(inner: Any, args: Any) -> None:
    schema: Any = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"x": inner, "y": {"type": "integer"}},
    }
    for one in (inner, schema):
        plan = derive_normal_form_plan(REF, one)
        assert plan is None or proves_normal_form_plan(plan, one)
        calls: list[Any] = [args, {"Y": "2"}, {"x": args}]
        for given_ in calls:
            result = apply_normal_form_plan(REF, one, given_, plan)
            assert result.witness is not None or result.args is given_
        assert schema_freedom(one) >= 0


@given(values)
def test_any_value_in_the_place_of_a_plan_does_nothing(plan: Any) -> None:
    args: Any = {"query": "x", "maxResults": 3}
    assert apply_normal_form_plan(REF, SCHEMA, args, plan).args is args
    assert not proves_normal_form_plan(plan, SCHEMA)


def peak_megabytes(lines: list[bytes]) -> float:
    tracemalloc.start()
    try:
        session_evidence(lines)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_large_and_deep_lines_take_no_more_memory_than_they_are_long() -> None:
    content = b"x" * 4_000_000
    for line in (
        b'{"type":"message","message":{"content":"' + content + b'"}}',
        b'{"type":"message","message":{"details":{"text":"' + content + b'"}}}',
        b'{"type":"message","message":{"details":{"trace":{"kind":"' + content + b'"}}}}',
        b"[" * 4_000_000,
        b'{"details":' + b'{"a":' * 800_000,
        b'{"a":"' + b"\\ud800" * 600_000 + b'"}',
    ):
        assert peak_megabytes([line] * 3) < 30


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=8_000)
@given(st.integers(0, 2**64), st.integers(1, 6))
def test_damaged_artifacts_and_lines_at_length(seed: int, times: int) -> None:
    rng = Random(seed)  # noqa: S311 - test material
    check_artifact(damaged(rng, rng.choice([GENUINE.to_json(), legacy_artifact()]), times=times))
    check_evidence([json.dumps(damaged(rng, LINE, times=times))])
