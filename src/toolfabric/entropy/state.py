"""The measure's accumulator: what a batch of traces adds up to, before anything is divided.

Only integers and counts, so that absorbing states in any order and any split gives the same state. A
state can be pickled, for the forms of the measure that use several processes or machines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from toolfabric.entropy.corpus import AnyTrace, OperationView, read_trace
from toolfabric.entropy.records import DISCOVERY_PREFIX, NO_TASK, WORKFLOW_PREFIX, Operation
from toolfabric.entropy.signature import distance_millionths, shape_signature
from toolfabric.values import Outcome

__all__ = ["EntropyState", "RefState", "Tally"]

UNKNOWN_STAGE: Final = "unknown"
_REJECTING_STAGES: Final = frozenset({"resolve", "prepare", "validate"})
_FLAT: Final = frozenset({type(None), list, str, bool, int, float})
# What is remembered between calls is bounded in number and in length.
_REMEMBERED: Final = 4_096
_LONGEST_REMEMBERED: Final = 1_024


@dataclass(slots=True, kw_only=True)
class Tally:
    """Operations by sort and by outcome."""

    traces: int = 0
    operations: int = 0
    actions: int = 0
    discovery: int = 0
    workflow: int = 0
    rejections: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])

    def absorb(self, other: Tally) -> None:
        """Add another tally to this one."""
        self.traces += other.traces
        self.operations += other.operations
        self.actions += other.actions
        self.discovery += other.discovery
        self.workflow += other.workflow
        self.rejections += other.rejections
        self.outcomes.update(other.outcomes)


@dataclass(slots=True, kw_only=True)
class RefState:
    """The calls of one action. ``churn`` sums distances in whole millionths over ``retries`` pairs."""

    calls: int = 0
    succeeded: int = 0
    failed: int = 0
    rejections: int = 0
    churn: int = 0
    retries: int = 0
    shapes: Counter[str] = field(default_factory=Counter[str])
    stages: Counter[str] = field(default_factory=Counter[str])

    def absorb(self, other: RefState) -> None:
        """Add another state of the same action to this one."""
        self.calls += other.calls
        self.succeeded += other.succeeded
        self.failed += other.failed
        self.rejections += other.rejections
        self.churn += other.churn
        self.retries += other.retries
        self.shapes.update(other.shapes)
        self.stages.update(other.stages)

    def add(self, operation: Operation | OperationView, waiting: dict[str, str]) -> bool:
        """Count one call; whether it was rejected.

        ``waiting`` holds the shapes of failed calls of the trace that no call of the same ref followed.
        """
        shape = _shape(operation.args)
        self.calls += 1
        self.shapes[shape] += 1
        failed_before = waiting.pop(operation.ref, None)
        if failed_before is not None:
            self.churn += _distance(failed_before, shape)
            self.retries += 1
        if operation.outcome == Outcome.SUCCEEDED:
            self.succeeded += 1
        if operation.outcome != Outcome.FAILED:
            return False
        waiting[operation.ref] = shape
        self.failed += 1
        stage = operation.failure_stage or UNKNOWN_STAGE
        self.stages[stage] += 1
        rejected = stage in _REJECTING_STAGES
        self.rejections += rejected
        return rejected


@dataclass(slots=True, kw_only=True)
class EntropyState:
    """What a batch of traces adds up to. ``flows`` counts whole sequences of action refs by task key."""

    total: Tally = field(default_factory=Tally)
    models: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    refs: defaultdict[str, RefState] = field(default_factory=lambda: defaultdict(RefState))
    flows: defaultdict[str, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter[bytes]))

    def add(self, trace: AnyTrace) -> None:
        """Count one trace.

        Raises:
            RecordError: It has not the form of a trace.
        """
        view = read_trace(trace)
        tally, sequence = self._count(view.operations)
        self.total.absorb(tally)
        if view.model:
            self.models[view.model].absorb(tally)
        if sequence:
            task = view.task_key if isinstance(view.task_key, str) else NO_TASK
            self.flows[task][_flow(sequence)] += 1

    def absorb(self, other: EntropyState) -> None:
        """Add another state, of other traces, to this one; the other one is left as it is."""
        self.total.absorb(other.total)
        for model, tally in other.models.items():
            self.models[model].absorb(tally)
        for ref, state in other.refs.items():
            self.refs[ref].absorb(state)
        for task, flows in other.flows.items():
            self.flows[task].update(flows)

    def _count(self, operations: Sequence[Operation | OperationView]) -> tuple[Tally, list[str]]:
        """Tally a trace's operations and name its actions in order."""
        tally = Tally(traces=1, operations=len(operations))
        sequence: list[str] = []
        waiting: dict[str, str] = {}
        outcomes: dict[str, int] = tally.outcomes
        for operation in operations:
            ref = operation.ref
            outcomes[operation.outcome] = outcomes.get(operation.outcome, 0) + 1
            if ref.startswith(DISCOVERY_PREFIX):
                tally.discovery += 1
            elif ref.startswith(WORKFLOW_PREFIX):
                tally.workflow += 1
            else:
                sequence.append(ref)
                tally.rejections += self.refs[ref].add(operation, waiting)
        tally.actions = len(sequence)
        return tally, sequence


_shapes: dict[tuple[object, ...], str] = {}


def _shape(args: Mapping[str, Any]) -> str:
    """The shape signature; of flat arguments it depends on keys and types alone, and is remembered."""
    kinds = tuple(map(type, args.values()))
    if not _FLAT.issuperset(kinds):
        return shape_signature(dict(args))
    known = (*args, *kinds)
    shape = _shapes.get(known)
    if shape is None:
        shape = shape_signature(dict(args))
        if sum(map(len, args)) <= _LONGEST_REMEMBERED:
            if len(_shapes) >= _REMEMBERED:
                _shapes.clear()
            _shapes[known] = shape
    return shape


def _distance(before: str, after: str) -> int:
    if before == after:
        return 0
    if max(len(before), len(after)) > _LONGEST_REMEMBERED:
        return distance_millionths(before, after)
    return _remembered_distance(before, after)


_remembered_distance = lru_cache(_REMEMBERED)(distance_millionths)


def _flow(sequence: list[str]) -> bytes:
    """A digest that stands for one sequence, so that long ones take no room."""
    return sha256(repr(sequence).encode("utf-8", "surrogatepass")).digest()
