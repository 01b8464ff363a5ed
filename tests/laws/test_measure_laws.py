"""The measure is the same however a corpus is split, ordered, repeated or computed.

A second implementation stands here that is as plain as it can be: lists, fractions, no accumulator.
"""

# Corpora are plain JSON here, and are taken apart as such.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfabric._base.canonical import canonical_bytes
from toolfabric.entropy import EntropyReport, measure_entropy, measure_entropy_async
from toolfabric.entropy.measure import accumulate, finish, merge

# --- corpora ---------------------------------------------------------------------------------------

REFS = [
    "a.b",
    "a.c",
    "z.\uffee",
    "z.\U0001f600",
    "fabric.discovery.search",
    "fabric.workflow.phase",
    "fabric.own",
]
STAGES = ["resolve", "guard", "prepare", "validate", "approve", "invoke", "odd"]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.just(0.5),
    st.sampled_from(["", "x"]),
    st.just([1]),
    st.recursive(
        st.just({}), lambda inner: st.dictionaries(st.sampled_from("pq"), inner, max_size=2), max_leaves=4
    ),
)
ARGS = st.one_of(
    st.dictionaries(st.sampled_from(["a", "b", "long_name", "\uffee", "\U0001f600"]), VALUES, max_size=4),
    st.integers(30, 36).map(lambda count: {f"k{at}": at for at in range(count)}),
)


@st.composite
def operations(draw: st.DrawFn) -> dict[str, Any]:
    outcome = draw(st.sampled_from(["succeeded", "failed", "failed", "aborted", "timed_out"]))
    made: dict[str, Any] = {"ref": draw(st.sampled_from(REFS)), "args": draw(ARGS), "outcome": outcome}
    if draw(st.booleans()):
        made["failureStage"] = draw(st.sampled_from(STAGES))
    return made


@st.composite
def traces(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = {"operations": draw(st.lists(operations(), max_size=6))}
    if draw(st.booleans()):
        made["model"] = draw(st.sampled_from(["p/a", "p/b", "", "q/\U0001f600"]))
    if draw(st.booleans()):
        made["taskKey"] = draw(st.sampled_from(["t", "", "(none)"]))
    return made


CORPORA = st.lists(traces(), max_size=8)
SCHEMAS: list[Any] = [
    {"type": "string"},
    {
        "type": "object",
        "properties": {"x": {"enum": [1, 2, 3]}, "y": {"type": "array", "items": {"enum": [1, 2]}}},
    },
    {"anyOf": [{"type": "integer"}, {"enum": ["a", "b", "c", "d", "e"]}, {}]},
    None,
    True,
]


@st.composite
def surfaces(draw: st.DrawFn) -> dict[str, Any]:
    declared = st.tuples(st.sampled_from(REFS), st.sampled_from(SCHEMAS))
    actions = [{"ref": ref, "inputSchema": schema} for ref, schema in draw(st.lists(declared, max_size=5))]
    return {"version": 1, "actions": actions}


SURFACES = surfaces()
ROWS = st.lists(
    st.sampled_from(REFS).map(lambda ref: {"kind": "keyAlias", "ref": ref, "from": "x", "to": "y"}),
    max_size=3,
)


# --- the plain implementation ----------------------------------------------------------------------


def rounded(value: Fraction | float) -> float:
    return math.floor(Fraction(value) * 10**6 + Fraction(1, 2)) / 10**6


def exact(value: float) -> Fraction:
    """A rounded number as the decimal fraction that it stands for."""
    return Fraction(round(value * 10**6), 10**6)


def share(part: int, whole: int) -> float:
    return rounded(Fraction(part, whole)) if whole else 0.0


def mean(weighted: Iterable[tuple[float, int]]) -> float:
    pairs = list(weighted)
    total = sum(weight for _value, weight in pairs)
    return rounded(sum(exact(value) * weight for value, weight in pairs) / total) if total else 0.0


def bits(items: Iterable[Any]) -> float:
    counts = sorted(Counter(items).values())
    total = sum(counts)
    return rounded(-sum(count / total * math.log2(count / total) for count in counts)) if total else 0.0


def by_units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def shape(args: dict[str, Any], depth: int = 0) -> str:
    def tag(value: Any) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "bool"
        if isinstance(value, dict):
            return "obj" if depth + 1 >= 3 else "{" + shape(value, depth + 1) + "}"
        return "arr" if isinstance(value, list) else "str" if isinstance(value, str) else "num"

    keys = sorted(args, key=by_units)
    more = [f"…+{len(keys) - 32}"] if len(keys) > 32 else []
    return ",".join([f"{key}:{tag(args[key])}" for key in keys[:32]] + more)


def distance(a: str, b: str) -> float:
    def units(text: str) -> list[int]:
        data = text.encode("utf-16-le", "surrogatepass")
        return [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]

    left, right = units(a), units(b)
    row = list(range(len(right) + 1))
    for at, one in enumerate(left, start=1):
        before, row = row, [at]
        for to, other in enumerate(right, start=1):
            row.append(min(before[to] + 1, row[-1] + 1, before[to - 1] + (one != other)))
    return rounded(Fraction(row[-1], max(len(left), len(right), 1)))


def freedom(schema: Any, depth: int = 0) -> float:  # noqa: C901, PLR0911 - one line a case, as in the design
    if not isinstance(schema, dict) or depth > 3:
        return 0.5
    node: dict[str, Any] = schema
    for word in ("anyOf", "oneOf"):
        if isinstance(node.get(word), list):
            branches = [exact(freedom(one, depth + 1)) for one in node[word]]
            return rounded(max(branches) + Fraction(len(branches) - 1, 10)) if branches else 0.0
    if isinstance(node.get("enum"), list):
        return rounded(min(1, math.log2(len(node["enum"])) / 6)) if node["enum"] else 0.0
    if "const" in node:
        return 0.0
    kind = node.get("type")
    if kind == "boolean":
        return 0.1
    if kind in {"number", "integer"}:
        return 0.5
    if kind == "string":
        return 1.0
    if kind == "array":
        return rounded(Fraction(1, 2) + exact(freedom(node.get("items"), depth + 1)) / 2)
    if kind != "object":
        return 0.75
    if not node.get("properties"):
        return 1.0
    total = Fraction(0) if node.get("additionalProperties") is False else Fraction(1, 2)
    for key, inner in node["properties"].items():
        total += exact(freedom(inner, depth + 1)) + (0 if key in node.get("required", []) else Fraction(1, 4))
    return rounded(total)


def is_action(operation: dict[str, Any]) -> bool:
    return not operation["ref"].startswith(("fabric.discovery.", "fabric.workflow."))


def is_rejected(operation: dict[str, Any]) -> bool:
    stage = operation.get("failureStage")
    return (
        is_action(operation)
        and operation["outcome"] == "failed"
        and stage in {"resolve", "prepare", "validate"}
    )


def churn(corpus: list[Any], wanted: Callable[[str], bool]) -> float:
    found: list[tuple[float, int]] = []
    for trace in corpus:
        for ref in {one["ref"] for one in trace["operations"] if is_action(one) and wanted(one["ref"])}:
            calls = [one for one in trace["operations"] if one["ref"] == ref]
            for before, after in pairwise(calls):
                if before["outcome"] == "failed":
                    found.append((distance(f"({shape(before['args'])})", f"({shape(after['args'])})"), 1))
    return mean(found)


def tallied(operations_: list[Any]) -> dict[str, Any]:
    actions = sum(map(is_action, operations_))
    rejections = sum(map(is_rejected, operations_))
    return {
        "operations": len(operations_),
        "actionOperations": actions,
        "succeeded": sum(one["outcome"] == "succeeded" for one in operations_),
        "invocationRejections": rejections,
        "invocationRejectionsPer1k": share(1_000 * rejections, actions),
    }


def plain_ref(ref: str, corpus: list[Any], surface: Any, rows: list[Any]) -> dict[str, Any]:
    calls = [one for trace in corpus for one in trace["operations"] if one["ref"] == ref]
    failed = [one for one in calls if one["outcome"] == "failed"]
    shapes = Counter(f"({shape(one['args'])})" for one in calls)
    declared = {one["ref"]: one["inputSchema"] for one in surface["actions"]}
    top = sorted(shapes.items(), key=lambda item: (-item[1], by_units(item[0])))[:8]
    return {
        "ref": ref,
        "calls": len(calls),
        "succeeded": sum(one["outcome"] == "succeeded" for one in calls),
        "failed": len(failed),
        "shapeSignatures": [{"signature": text, "count": count} for text, count in top],
        "shapeEntropyBits": bits(f"({shape(one['args'])})" for one in calls),
        "failureStageEntropyBits": bits(one.get("failureStage", "unknown") for one in failed),
        "churnRate": churn(corpus, lambda other: other == ref),
        "lexiconRows": sum(row["ref"] == ref for row in rows),
        "staticFreedom": 0.0 if declared.get(ref) is None else freedom(declared[ref]),
        "score": share(sum(map(is_rejected, calls)), len(calls)),
    }


def flow(corpus: list[Any]) -> float:
    sequences: dict[str, list[tuple[str, ...]]] = {}
    for trace in corpus:
        actions = tuple(one["ref"] for one in trace["operations"] if is_action(one))
        if actions:
            sequences.setdefault(trace.get("taskKey", "(none)"), []).append(actions)
    return mean((bits(found), len(found)) for found in sequences.values())


def plain(corpus: list[Any], surface: Any, rows: list[Any]) -> dict[str, Any]:
    every = [one for trace in corpus for one in trace["operations"]]
    named = {one["ref"] for one in every if is_action(one)}
    refs = [plain_ref(ref, corpus, surface, rows) for ref in named]
    refs.sort(key=lambda one: (-one["score"], by_units(one["ref"])))
    models = sorted({trace["model"] for trace in corpus if trace.get("model")}, key=by_units)
    totals = tallied(every)
    actions = totals["actionOperations"]
    score = share(totals["invocationRejections"], actions)
    return {
        "metricVersion": 3,
        "catalogDigest": "",
        "score": score,
        "behavioralScore": score,
        "staticScore": rounded(
            sum(exact(one["staticFreedom"]) * one["calls"] for one in refs) / (4 * actions)
        )
        if actions
        else 0.0,
        "staticFreedom": rounded(sum((exact(one["staticFreedom"]) for one in refs), Fraction(0))),
        "shapeEntropyBits": mean((one["shapeEntropyBits"], one["calls"]) for one in refs),
        "failureStageEntropyBits": mean((one["failureStageEntropyBits"], one["failed"]) for one in refs),
        "churnRate": churn(corpus, lambda _ref: True),
        "navigationRatio": share(sum(one["ref"].startswith("fabric.discovery.") for one in every), actions),
        "flowEntropyBits": flow(corpus),
        "lexiconRows": len(rows),
        "totals": {
            "traces": len(corpus),
            **totals,
            "discoveryOperations": sum(one["ref"].startswith("fabric.discovery.") for one in every),
            "workflowOperations": sum(one["ref"].startswith("fabric.workflow.") for one in every),
            **{
                name: sum(one["outcome"] == outcome for one in every)
                for name, outcome in (("failed", "failed"), ("aborted", "aborted"), ("timedOut", "timed_out"))
            },
        },
        "refs": refs,
        "byModel": [
            {
                "model": model,
                **tallied(found),
                "behavioralScore": share(sum(map(is_rejected, found)), sum(map(is_action, found))),
            }
            for model in models
            for found in [
                [one for trace in corpus if trace.get("model") == model for one in trace["operations"]]
            ]
        ],
    }


# --- the laws --------------------------------------------------------------------------------------


def data(report: EntropyReport) -> bytes:
    return canonical_bytes(report.to_json())


@pytest.mark.requirement("ENT-008", "ENT-009", "ENT-017", "ENT-019", "ENT-020", "ENT-022", "ENT-024")
@given(CORPORA, SURFACES, ROWS)
def test_the_measure_is_what_the_plain_implementation_gives(
    corpus: list[Any], surface: Any, rows: list[Any]
) -> None:
    assert measure_entropy(corpus, surface=surface, repairs=rows).to_json() == plain(corpus, surface, rows)


@given(CORPORA, SURFACES, st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_split_merged_in_any_order_is_the_whole(
    corpus: list[Any], surface: Any, rng: Random, parts: int
) -> None:
    whole = data(measure_entropy(corpus, surface=surface))
    split: list[list[Any]] = [[] for _ in range(parts)]
    for trace in corpus:
        rng.choice(split).append(trace)
    states = [accumulate(part) for part in split]
    while len(states) > 1:
        rng.shuffle(states)
        states.append(merge(states.pop(), pickle.loads(pickle.dumps(states.pop()))))  # noqa: S301 - our own bytes
    assert data(finish(states[0], surface=surface)) == whole


@given(CORPORA, st.randoms(use_true_random=False))
def test_the_order_of_traces_and_of_keys_does_not_matter(corpus: list[Any], rng: Random) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            items = [(key, shuffled(one)) for key, one in value.items()]
            rng.shuffle(items)
            return dict(items)
        return value

    other = [
        {**trace, "operations": [{**one, "args": shuffled(one["args"])} for one in trace["operations"]]}
        for trace in corpus
    ]
    rng.shuffle(other)
    assert data(measure_entropy(other)) == data(measure_entropy(corpus))


@pytest.mark.requirement("ENT-018")
@given(CORPORA, st.integers(2, 4))
def test_repeating_a_corpus_changes_no_rate(corpus: list[Any], times: int) -> None:
    once, many = measure_entropy(corpus), measure_entropy(corpus * times)
    for name in (
        "score",
        "behavioralScore",
        "staticScore",
        "shapeEntropyBits",
        "failureStageEntropyBits",
        "churnRate",
    ):
        assert once[name] == many[name]
    assert (once.flow_entropy_bits, once.navigation_ratio) == (many.flow_entropy_bits, many.navigation_ratio)
    assert [(one.ref, one.score) for one in once.refs] == [(one.ref, one.score) for one in many.refs]
    assert [(one.model, one.behavioral_score) for one in once.by_model] == [
        (one.model, one.behavioral_score) for one in many.by_model
    ]


@given(CORPORA, SURFACES)
def test_the_cooperative_form_gives_the_same_bytes(corpus: list[Any], surface: Any) -> None:
    async def measured() -> EntropyReport:
        return await measure_entropy_async(corpus * 20, surface=surface)

    assert data(anyio.run(measured)) == data(measure_entropy(corpus * 20, surface=surface))


@given(CORPORA)
def test_a_report_survives_its_json_form(corpus: list[Any]) -> None:
    report = measure_entropy(corpus)
    assert EntropyReport.from_json(json.loads(json.dumps(report.to_json()))) == report


WORKER = """
import json, pickle, sys
from toolfabric.entropy.measure import accumulate
sys.stdout.buffer.write(pickle.dumps(accumulate(json.load(sys.stdin))))
"""


def made_up(count: int, seed: int) -> list[Any]:
    rng = Random(seed)  # noqa: S311 - test material
    return [
        {
            "operations": [
                {
                    "ref": rng.choice(REFS),
                    "args": {
                        key: rng.choice([1, "x", None, {"p": 1}])
                        for key in rng.sample("abcdefgh", rng.randrange(5))
                    },
                    "outcome": rng.choice(["succeeded", "succeeded", "failed", "aborted"]),
                    "failureStage": rng.choice(STAGES),
                }
                for _ in range(rng.randrange(12))
            ],
            "model": rng.choice(["p/a", "p/b", ""]),
            "taskKey": rng.choice(["t", "u", ""]),
        }
        for _ in range(count)
    ]


def test_processes_of_their_own_give_the_same_bytes() -> None:
    corpus = made_up(400, seed=1)
    states = [
        pickle.loads(  # noqa: S301 - our own bytes
            subprocess.run(
                [sys.executable, "-c", WORKER],
                input=json.dumps(corpus[at::3]).encode(),
                capture_output=True,
                check=True,
            ).stdout
        )
        for at in range(3)
    ]
    assert data(finish(merge(states[2], merge(states[0], states[1])))) == data(measure_entropy(corpus))


def test_a_large_corpus_is_what_the_plain_implementation_gives() -> None:
    corpus = made_up(300, seed=2)
    surface: Any = {
        "version": 1,
        "actions": [{"ref": ref, "inputSchema": SCHEMAS[at % 3]} for at, ref in enumerate(REFS)],
    }
    assert measure_entropy(corpus, surface=surface).to_json() == plain(corpus, surface, [])


def measured_refs(count: int) -> int:
    corpus = (
        {"operations": [{"ref": f"a.{at + one}", "args": {}, "outcome": "failed"} for one in range(100)]}
        for at in range(0, count, 100)
    )
    report = measure_entropy(corpus)
    assert len(report.refs) == report.totals.action_operations
    return len(report.refs)


def test_many_refs_are_measured() -> None:
    assert measured_refs(10_000) == 10_000


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_refs_are_measured() -> None:
    assert measured_refs(1_000_000) == 1_000_000


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=2_000)
@given(CORPORA, SURFACES, ROWS)
def test_the_measure_is_what_the_plain_implementation_gives_at_length(
    corpus: list[Any], surface: Any, rows: list[Any]
) -> None:
    assert measure_entropy(corpus, surface=surface, repairs=rows).to_json() == plain(corpus, surface, rows)
