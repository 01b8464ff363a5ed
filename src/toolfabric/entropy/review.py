"""Remarks for authors, drawn from what was called. Nothing applies one (seed: Evidence and ingestion).

Sparse use narrows no schema: few values of a property are a remark only where its author asked for it
with ``"x-fabric-enum-candidate": true``, and even then the property stays as open as it was.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from toolfabric._base.canonical import code_units, sorted_code_units
from toolfabric.entropy.corpus import AnyTrace, Schemas, TraceView, read_rows, read_schemas, read_trace
from toolfabric.entropy.observations import Observations, Spelled, is_observed, text_order
from toolfabric.entropy.records import (
    DeclareEnum,
    KeyCluster,
    OverloadSplit,
    ReviewSignal,
    SequenceFuse,
    Surface,
    Trace,
    ValueObservation,
)
from toolfabric.entropy.reports import EntropyReport, RefReport
from toolfabric.entropy.rounding import millionths_of_ratio, reported
from toolfabric.values import Json

__all__ = ["review_signals"]

_MOST_OF_EACH: Final = 8
_CANDIDATE: Final = "x-fabric-enum-candidate"
_LEAST_OBSERVATIONS: Final = 8
_FEWEST_VALUES: Final = 2
_MOST_VALUES: Final = 8
_LEAST_BITS: Final = 1.0
_LEAST_CALLS: Final = 2
_SHORTEST_RUN: Final = 3
_LONGEST_RUN: Final = 6
_LEAST_OCCURRENCES: Final = 3
_HOST_PREFIX: Final = "pi."


def review_signals(
    report: EntropyReport | Mapping[str, Any],
    traces: Iterable[AnyTrace],
    *,
    surface: Surface | Mapping[str, Any] | None = None,
    value_observations: Iterable[ValueObservation | Mapping[str, Any]] | None = None,
) -> list[ReviewSignal]:
    """What an author may want to look at: at most eight of each kind.

    Args:
        report: The measure of the same traces.
        traces: The recorded calls.
        surface: The declared actions, where marked properties stand.
        value_observations: Values that were seen; ``None`` takes them from the traces, an empty list
            does not.

    Raises:
        RecordError: Something does not have its declared form.
    """
    measured = report if isinstance(report, EntropyReport) else EntropyReport.from_json(report)
    views = [read_trace(trace) for trace in traces]
    observed = _from_traces(views) if value_observations is None else _from_rows(value_observations)
    return [
        *_first(_enums(read_schemas(surface), observed)),
        *_first(_splits(measured, views)),
        *_fuses(views),
    ]


def _first(signals: Iterable[ReviewSignal]) -> list[ReviewSignal]:
    return [signal for signal, _ in zip(signals, range(_MOST_OF_EACH), strict=False)]


def _from_traces(traces: Iterable[Trace | TraceView]) -> Observations:
    observed = Observations()
    for trace in traces:
        for operation in trace.operations:
            if is_observed(operation.ref, operation.outcome):
                observed.add_call(operation.ref, operation.args)
    return observed


def _from_rows(rows: Iterable[ValueObservation | Mapping[str, Any]]) -> Observations:
    observed = Observations()
    for row in read_rows(rows, ValueObservation):
        observed.add(row.ref, row.key, row.value, row.count)
    return observed


# --- few values of a marked property -------------------------------------------------------------


def _enums(schemas: Schemas, observed: Observations) -> Iterator[DeclareEnum]:
    for ref, schema in schemas.items():
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if not isinstance(properties, dict):
            continue
        for key in sorted_code_units(properties):
            counts = observed.counts.get((ref, key))
            if counts and _is_candidate(properties[key]) and _is_sparse(counts):
                yield _enum(ref, key, counts, observed)


def _is_candidate(inner: Json) -> bool:
    return (
        isinstance(inner, dict)
        and inner.get(_CANDIDATE) is True
        and "enum" not in inner
        and inner.get("type") != "boolean"
    )


def _is_sparse(counts: Counter[Spelled]) -> bool:
    total = counts.total()
    return (
        total >= _LEAST_OBSERVATIONS
        and _FEWEST_VALUES <= len(counts) <= _MOST_VALUES
        and 2 * max(counts.values()) >= total
    )


def _enum(ref: str, key: str, counts: Counter[Spelled], observed: Observations) -> DeclareEnum:
    order = sorted(counts, key=lambda spelled: (-counts[spelled], text_order(spelled)))
    total = counts.total()
    return DeclareEnum(
        ref=ref,
        key=key,
        values=tuple(observed.value(spelled) for spelled in order),
        calls=total,
        distinct=len(counts),
        top_share=reported(millionths_of_ratio(counts[order[0]], total)),
    )


# --- calls of one action without a common key ----------------------------------------------------


def _splits(report: EntropyReport, traces: Iterable[Trace | TraceView]) -> Iterator[OverloadSplit]:
    varied = {one.ref: one for one in report.refs if one.shape_entropy_bits >= _LEAST_BITS}
    keys: defaultdict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    for trace in traces:
        for operation in trace.operations:
            if operation.ref in varied:
                keys[operation.ref][frozenset(operation.args)] += 1
    for ref in sorted_code_units(keys):
        clusters = _disjoint(keys[ref])
        if len(clusters) > 1:
            yield _split(varied[ref], clusters)


def _disjoint(counts: Counter[frozenset[str]]) -> list[KeyCluster]:
    """Key sets that share nothing, the most used first. No keys at all are no set: projection erases them."""
    clusters = [
        KeyCluster(keys=tuple(sorted_code_units(keys)), calls=calls)
        for keys, calls in counts.items()
        if keys and calls >= _LEAST_CALLS
    ]
    clusters.sort(key=lambda cluster: (-cluster.calls, [code_units(key) for key in cluster.keys]))
    taken: set[str] = set()
    kept: list[KeyCluster] = []
    for cluster in clusters:
        if taken.isdisjoint(cluster.keys):
            taken.update(cluster.keys)
            kept.append(cluster)
    return kept


def _split(ref: RefReport, clusters: Sequence[KeyCluster]) -> OverloadSplit:
    return OverloadSplit(ref=ref.ref, shape_entropy_bits=ref.shape_entropy_bits, clusters=tuple(clusters))


# --- actions that follow one another -------------------------------------------------------------


def _fuses(traces: Sequence[Trace | TraceView]) -> list[SequenceFuse]:
    occurrences: Counter[tuple[str, ...]] = Counter()
    in_traces: Counter[tuple[str, ...]] = Counter()
    for trace in traces:
        found = Counter(window for run in _runs(trace) for window in _windows(run))
        occurrences.update(found)
        in_traces.update(found.keys())
    frequent = [
        window
        for window, count in in_traces.items()
        if count >= _LEAST_OCCURRENCES and occurrences[window] >= _LEAST_OCCURRENCES
    ]
    frequent.sort(
        key=lambda window: (-len(window), -occurrences[window], [code_units(ref) for ref in window])
    )
    kept: list[tuple[str, ...]] = []
    for window in frequent:
        if len(kept) < _MOST_OF_EACH and not any(_contains(longer, window) for longer in kept):
            kept.append(window)
    return [SequenceFuse(sequence=window, occurrences=occurrences[window]) for window in kept]


def _runs(trace: Trace | TraceView) -> Iterator[list[str]]:
    """The unbroken successions of successful calls to others' actions."""
    run: list[str] = []
    for operation in trace.operations:
        if is_observed(operation.ref, operation.outcome) and not operation.ref.startswith(_HOST_PREFIX):
            run.append(operation.ref)
        else:
            yield run
            run = []
    yield run


def _windows(run: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(len(run)):
        for length in range(_SHORTEST_RUN, _LONGEST_RUN + 1):
            window = tuple(run[start : start + length])
            if len(window) < length or len(set(window)) < length:
                break
            yield window


def _contains(longer: Sequence[str], window: Sequence[str]) -> bool:
    width = len(window)
    return any(tuple(longer[at : at + width]) == tuple(window) for at in range(len(longer) - width + 1))
