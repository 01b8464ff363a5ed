"""Turn an accumulator into the report of metric v3: every division and every order stands here.

A value per ref, or per task, is rounded to whole millionths first; sums, means and shares over such
values are exact and rounded once more at the end (design: Metric v3).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from toolfabric._base.canonical import code_units
from toolfabric.entropy.corpus import Schemas
from toolfabric.entropy.reports import EntropyReport, EntropyTotals, ModelReport, RefReport, ShapeCount
from toolfabric.entropy.rounding import millionths, millionths_of_ratio, reported
from toolfabric.entropy.signature import freedom_millionths
from toolfabric.entropy.state import EntropyState, RefState, Tally
from toolfabric.values import Outcome

__all__ = ["build_report"]

_SHOWN_SHAPES: Final = 8
_STATIC_WEIGHT: Final = 4
"""``staticScore`` is a quarter of the mean freedom."""


def build_report(
    state: EntropyState, *, schemas: Schemas, repaired_refs: Iterable[str], catalog_digest: str
) -> EntropyReport:
    """Finish a measure. ``repaired_refs`` names the ref of every repair row that was supplied."""
    total = state.total
    rows = Counter(repaired_refs)
    refs = [_Ref(ref, one, freedom=_freedom(schemas, ref), rows=rows[ref]) for ref, one in state.refs.items()]
    freedom = sum(ref.freedom for ref in refs)
    weighted_freedom = sum(ref.freedom * ref.state.calls for ref in refs)
    return EntropyReport(
        metric_version=3,
        catalog_digest=catalog_digest,
        score=_share(total.rejections, total.actions),
        behavioral_score=_share(total.rejections, total.actions),
        static_score=_mean(weighted_freedom, _STATIC_WEIGHT * total.actions),
        static_freedom=reported(freedom),
        shape_entropy_bits=_mean(sum(ref.shape_bits * ref.state.calls for ref in refs), total.actions),
        failure_stage_entropy_bits=_mean(
            sum(ref.stage_bits * ref.state.failed for ref in refs), sum(ref.state.failed for ref in refs)
        ),
        churn_rate=_mean(sum(ref.state.churn for ref in refs), sum(ref.state.retries for ref in refs)),
        navigation_ratio=_share(total.discovery, total.actions),
        flow_entropy_bits=_flow_bits(state),
        lexicon_rows=rows.total(),
        totals=_totals(total),
        refs=tuple(ref.report() for ref in sorted(refs, key=_Ref.order)),
        by_model=tuple(_model(model, state.models[model]) for model in sorted(state.models, key=code_units)),
    )


class _Ref:
    """One ref's rounded values, kept as millionths."""

    def __init__(self, ref: str, state: RefState, *, freedom: int, rows: int) -> None:
        self.ref = ref
        self.state = state
        self.freedom = freedom
        self.rows = rows
        self.score = millionths_of_ratio(state.rejections, state.calls)
        self.shape_bits = _bits(state.shapes.values())
        self.stage_bits = _bits(state.stages.values())

    def order(self) -> tuple[int, bytes]:
        """Highest score first, then by name."""
        return -self.score, code_units(self.ref)

    def report(self) -> RefReport:
        return RefReport(
            ref=self.ref,
            calls=self.state.calls,
            succeeded=self.state.succeeded,
            failed=self.state.failed,
            shape_signatures=_commonest(self.state.shapes),
            shape_entropy_bits=reported(self.shape_bits),
            failure_stage_entropy_bits=reported(self.stage_bits),
            churn_rate=_mean(self.state.churn, self.state.retries),
            lexicon_rows=self.rows,
            static_freedom=reported(self.freedom),
            score=reported(self.score),
        )


def _totals(total: Tally) -> EntropyTotals:
    return EntropyTotals(
        traces=total.traces,
        operations=total.operations,
        action_operations=total.actions,
        discovery_operations=total.discovery,
        workflow_operations=total.workflow,
        succeeded=total.outcomes[Outcome.SUCCEEDED],
        failed=total.outcomes[Outcome.FAILED],
        aborted=total.outcomes[Outcome.ABORTED],
        timed_out=total.outcomes[Outcome.TIMED_OUT],
        invocation_rejections=total.rejections,
        invocation_rejections_per1k=_share(1_000 * total.rejections, total.actions),
    )


def _model(model: str, tally: Tally) -> ModelReport:
    return ModelReport(
        model=model,
        operations=tally.operations,
        action_operations=tally.actions,
        succeeded=tally.outcomes[Outcome.SUCCEEDED],
        invocation_rejections=tally.rejections,
        invocation_rejections_per1k=_share(1_000 * tally.rejections, tally.actions),
        behavioral_score=_share(tally.rejections, tally.actions),
    )


def _freedom(schemas: Schemas, ref: str) -> int:
    schema = schemas.get(ref)
    return 0 if schema is None else freedom_millionths(schema)


def _flow_bits(state: EntropyState) -> float:
    tasks = [(_bits(flows.values()), flows.total()) for flows in state.flows.values()]
    return _mean(sum(bits * traces for bits, traces in tasks), sum(traces for _, traces in tasks))


def _commonest(shapes: Counter[str]) -> tuple[ShapeCount, ...]:
    order = sorted(shapes.items(), key=lambda item: (-item[1], code_units(item[0])))
    return tuple(ShapeCount(signature=shape, count=count) for shape, count in order[:_SHOWN_SHAPES])


def _bits(counts: Collection[int]) -> int:
    """Shannon entropy in whole millionths of a bit; the sum is exact, so its order does not matter."""
    total = sum(counts)
    return millionths(math.fsum(count / total * math.log2(total / count) for count in counts))


def _share(part: int, whole: int) -> float:
    return reported(millionths_of_ratio(part, whole))


def _mean(sum_in_millionths: int, count: int) -> float:
    """The mean of values that are whole millionths; of no values it is zero."""
    return 0.0 if count == 0 else reported((2 * sum_in_millionths + count) // (2 * count))
