"""Measure how often calls were rejected before they could have an effect: the metric, version 3.

``measure_entropy`` and its cooperative form are the same accumulator (``state``) and the same finish
(``report``). Nothing judges: the score is the share of typed rejections, no model is asked, and repeating
a corpus does not change it (seed: Metric v3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from anyio.lowlevel import checkpoint

from toolfabric.entropy.corpus import AnyTrace, read_rows, read_schemas
from toolfabric.entropy.records import RepairRow, Surface
from toolfabric.entropy.report import build_report
from toolfabric.entropy.reports import EntropyReport
from toolfabric.entropy.state import EntropyState

__all__ = ["accumulate", "accumulate_async", "finish", "measure_entropy", "measure_entropy_async", "merge"]

COOPERATIVE_TRACES: Final = 64
"""After so many traces the cooperative form lets others run."""


def measure_entropy(
    traces: Iterable[AnyTrace],
    *,
    surface: Surface | Mapping[str, Any] | None = None,
    repairs: Iterable[RepairRow | Mapping[str, Any]] = (),
    catalog_digest: str = "",
) -> EntropyReport:
    """Measure a corpus of traces.

    Args:
        traces: Records, or plain dictionaries of their JSON form, in any order.
        surface: The declared schemas; they feed the schema freedom, a diagnostic.
        repairs: The catalog's alias rows; they are counted, nothing more.
        catalog_digest: Passed on into the report.

    Raises:
        RecordError: Something does not have its declared form.
    """
    return finish(accumulate(traces), surface=surface, repairs=repairs, catalog_digest=catalog_digest)


async def measure_entropy_async(
    traces: Iterable[AnyTrace],
    *,
    surface: Surface | Mapping[str, Any] | None = None,
    repairs: Iterable[RepairRow | Mapping[str, Any]] = (),
    catalog_digest: str = "",
) -> EntropyReport:
    """As ``measure_entropy``, with the same result; others run after every 64 traces.

    Raises:
        RecordError: As there.
    """
    state = await accumulate_async(traces)
    return finish(state, surface=surface, repairs=repairs, catalog_digest=catalog_digest)


def accumulate(traces: Iterable[AnyTrace]) -> EntropyState:
    """Add up one batch of traces."""
    state = EntropyState()
    for trace in traces:
        state.add(trace)
    return state


async def accumulate_async(traces: Iterable[AnyTrace]) -> EntropyState:
    """Add up one batch of traces, letting others run after every 64."""
    state = EntropyState()
    for count, trace in enumerate(traces, start=1):
        state.add(trace)
        if count % COOPERATIVE_TRACES == 0:
            await checkpoint()
    return state


def merge(a: EntropyState, b: EntropyState) -> EntropyState:
    """The state of both batches together; neither is changed."""
    both = EntropyState()
    both.absorb(a)
    both.absorb(b)
    return both


def finish(
    state: EntropyState,
    *,
    surface: Surface | Mapping[str, Any] | None = None,
    repairs: Iterable[RepairRow | Mapping[str, Any]] = (),
    catalog_digest: str = "",
) -> EntropyReport:
    """The report of everything that was added up; the state can go on being used."""
    return build_report(
        state,
        schemas=read_schemas(surface),
        repaired_refs=[row.ref for row in read_rows(repairs, RepairRow)],
        catalog_digest=catalog_digest,
    )
