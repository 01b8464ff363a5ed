"""The checks of the metric and of ingestion."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

from toolfabric.entropy.certification import Case, Check, Subject
from toolfabric.entropy.probes import action, execution, session_lines, surface, trace
from toolfabric.entropy.rounding import millionths, reported
from toolfabric.values import Json, JsonObject

__all__ = ["MEASURE_CHECKS"]

_REJECTING: Final = ("resolve", "prepare", "validate")
_OTHERS: Final = (
    action("probe.one"),
    action("probe.one", "failed", "guard"),
    action("probe.one", "failed", "approve"),
    action("probe.two", "failed", "invoke"),
    action("probe.two", "failed"),
    action("probe.two", "aborted"),
    action("probe.one", "timed_out"),
)
_NO_ACTIONS: Final = (
    action("fabric.discovery.search"),
    action("fabric.discovery.describe", "failed", "resolve"),
    action("fabric.workflow.phase", "failed", "validate"),
)


def _rounded(part: int, whole: int) -> float:
    return reported(millionths(Fraction(part, whole))) if whole else 0.0


def _corpus(rejections: int, others: int) -> list[JsonObject]:
    operations = [
        *(action("probe.one", "failed", _REJECTING[at % len(_REJECTING)]) for at in range(rejections)),
        *(_OTHERS[at % len(_OTHERS)] for at in range(others)),
        *_NO_ACTIONS,
    ]
    return [trace(*operations, model="maker/a")]


def exact_rates(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Every mixture of a few rejections and other ends, as a whole, per ref, per model and per thousand."""
    for rejections in range(8):
        for others in range(8):
            report = subject.measure(_corpus(rejections, others))
            name = f"{rejections} of {rejections + others}"
            rate = _rounded(rejections, rejections + others)
            yield f"{name}: score", report.score == report.behavioral_score == rate
            yield f"{name}: by model", [one.behavioral_score for one in report.by_model] == [rate]
            per_thousand = _rounded(1_000 * rejections, rejections + others)
            yield f"{name}: per thousand", report.totals.invocation_rejections_per1k == per_thousand
            scores = {one.ref: one.score for one in report.refs}
            calls = rejections + sum(_OTHERS[at % len(_OTHERS)]["ref"] == "probe.one" for at in range(others))
            yield f"{name}: per ref", scores.get("probe.one", 0.0) == _rounded(rejections, calls)
            yield f"{name}: nothing static in it", report.score <= 1


def sample_counts(subject: Subject, _folder: Path) -> Iterator[Case]:
    """The same corpus once and several times, whole and rate by rate."""
    for rejections, others in ((0, 0), (0, 3), (1, 2), (2, 0), (3, 7)):
        once = subject.measure(_corpus(rejections, others))
        for times in (2, 3, 7):
            many = subject.measure(_corpus(rejections, others) * times)
            name = f"{rejections} of {rejections + others}, {times} times"
            yield f"{name}: score", many.score == once.score
            yield f"{name}: refs", {r.ref: r.score for r in many.refs} == {r.ref: r.score for r in once.refs}
            yield (
                f"{name}: models",
                [m.behavioral_score for m in many.by_model] == [m.behavioral_score for m in once.by_model],
            )


def all_rejected(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Corpora of rejections alone score one; of failed effects alone, or of no action, they score zero."""
    for stage in _REJECTING:
        for count in (1, 2, 5):
            corpus = [trace(*[action("probe.one", "failed", stage)] * count)]
            yield f"{count} at {stage}", subject.measure(corpus).score == 1
    for stage in ("guard", "approve", "invoke", None):
        corpus = [trace(action("probe.one", "failed", stage))]
        yield f"failed at {stage}", subject.measure(corpus).score == 0
    yield "no action", subject.measure([trace(*_NO_ACTIONS)]).score == 0
    yield "no trace", subject.measure([]).score == 0


def no_reward_for_narrowing(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Removing an enum member, or calling in more ways, leaves the score as it is."""
    members = ["a", "b", "c"]
    corpus = [trace(*(action("probe.one", mode=member) for member in members), *_OTHERS)]
    whole = subject.measure(corpus, surface=surface(one=_modes(members)))
    for member in members:
        fewer = subject.measure(
            corpus, surface=surface(one=_modes([other for other in members if other != member]))
        )
        yield f"without {member!r}", fewer.score == whole.score
    same = subject.measure([trace(*[action("probe.one", mode="a")] * 3, *_OTHERS)])
    yield "diverse calls", same.score == whole.score


def _modes(members: list[str]) -> JsonObject:
    listed: list[Json] = list(members)
    return {
        "type": "object",
        "properties": {"mode": {"type": "string", "enum": listed}},
        "additionalProperties": False,
    }


def ingestion(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Guarded traces with their audits, and the model that was current; nothing from anything else."""
    one = execution([action("probe.one", "failed", "validate")], phases=["plan", "do"])
    two = execution([action("probe.two")])
    audits: Json = [{"ref": "probe.one", "args": {"limit": "2"}}]
    lines = session_lines(
        ("maker/a", {"trace": one, "audits": audits}),
        ("maker/b", {"trace": two}),
        ("maker/b", {"trace": {**two, "version": 2}, "audits": audits}),
        ("maker/b", {"trace": {**two, "extra": 1}, "audits": audits}),
        ("maker/c", {"audits": audits, "text": "the call failed at validate"}),
    )
    found = subject.evidence([*lines, "{ torn", "", " \t" + lines[2] + "\r\n"])
    yield "three guarded traces", len(found.traces) == 3  # noqa: PLR2004 - two lines and one repeated
    yield "models in file order", [t.model for t in found.traces] == ["maker/a", "maker/b", "maker/c"]
    yield "the first phase is the task", found.traces[0].task_key == "plan"
    yield (
        "audits of guarded traces alone",
        [a.to_json() for a in found.audit_calls] == [{"ref": "probe.one", "args": {"limit": "2"}}] * 2,
    )
    report = subject.measure(found.traces)
    yield (
        "attributed",
        {m.model: m.behavioral_score for m in report.by_model}
        == {
            "maker/a": 1,
            "maker/b": 0,
            "maker/c": 1,
        },
    )
    unstamped = subject.measure([*found.traces, trace(action("probe.two"))])
    yield (
        "an unstamped trace counts as a whole only",
        (
            unstamped.totals.action_operations == 4 and unstamped.by_model == report.by_model  # noqa: PLR2004 - three and one
        ),
    )


MEASURE_CHECKS: Final = (
    Check(name="exact-rates", tries="mixtures of rejections and other ends", cases=exact_rates),
    Check(name="sample-count-invariance", tries="corpora repeated", cases=sample_counts),
    Check(name="all-rejected-nonzero", tries="corpora with one kind of failure", cases=all_rejected),
    Check(name="no-reward-for-narrowing", tries="surfaces with fewer members", cases=no_reward_for_narrowing),
    Check(name="ingestion-and-models", tries="session lines, some torn or forged", cases=ingestion),
)
"""Checks of the measure and of what it is fed."""
