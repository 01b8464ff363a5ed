"""The checks of compiling, of the artifact and of the trial."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from toolfabric.durable.atomic import make_folders, replace_file
from toolfabric.durable.fileops import RealFiles
from toolfabric.entropy.artifact import artifact_bytes, compiled_surface_path
from toolfabric.entropy.certification import Case, Check, Subject
from toolfabric.entropy.form_checks import forgeries
from toolfabric.entropy.probes import (
    AMBIGUOUS,
    CANONICAL,
    OPEN_SCHEMA,
    REF,
    SCHEMA,
    SPELLED,
    action,
    legacy_artifact,
    surface,
    trace,
)
from toolfabric.entropy.records import NormalFormResult
from toolfabric.errors import RecordError
from toolfabric.values import Json, JsonObject

__all__ = ["ARTIFACT_CHECKS"]

_LIVE: Final = surface(search=SCHEMA, open=OPEN_SCHEMA)
_CORPUS: Final = [
    trace(action(REF, "failed", "validate", max_results="2"), action(REF), model="maker/a"),
    trace(action("probe.open"), task="other"),
]


def deterministic_compilation(subject: Subject, _folder: Path) -> Iterator[Case]:
    """The same inputs in another order, and no corpus at all, give the same bytes."""
    first = artifact_bytes(subject.compile(_CORPUS, _LIVE).artifact)
    yield "twice", artifact_bytes(subject.compile(_CORPUS, _LIVE).artifact) == first
    turned: JsonObject = {"version": 1, "actions": list(_LIVE["actions"])[::-1]}  # pyright: ignore[reportArgumentType] -- a list
    yield (
        "traces and actions turned round",
        artifact_bytes(subject.compile(_CORPUS[::-1], turned).artifact) == first,
    )
    empty = subject.compile([], _LIVE)
    yield "an empty corpus", empty.status == "compiled" and empty.report.score == 0
    yield "an empty corpus gives the same plans", [p.ref for p in empty.artifact.plans] == [REF]
    outcome = subject.compile(_CORPUS, _LIVE)
    yield "after is before", outcome.after == outcome.report
    yield "no gain is claimed", outcome.gate.delta == 0 and outcome.gate.passed
    yield "the gate's scores are equal", outcome.gate.before_score == outcome.gate.after_score


def convergence(subject: Subject, _folder: Path) -> Iterator[Case]:
    """Identical plans converge, whatever the score; other plans do not."""
    artifact = subject.compile(_CORPUS, _LIVE).artifact
    for name, corpus in (("the same corpus", _CORPUS), ("no corpus", []), ("a worse one", _CORPUS[:1] * 3)):
        again = subject.compile(corpus, _LIVE, artifact=artifact)
        yield name, again.status == "converged" and again.artifact == artifact
    yield "neither artifact nor plan", subject.compile([], surface(open=OPEN_SCHEMA)).status == "converged"
    more = surface(search=SCHEMA, second=SCHEMA)
    yield "a new action", subject.compile([], more, artifact=artifact).status == "compiled"
    gone = subject.compile([], surface(open=OPEN_SCHEMA), artifact=artifact)
    yield "no plan any more", gone.status == "compiled" and not gone.artifact.plans


def forged_artifacts(subject: Subject, _folder: Path) -> Iterator[Case]:
    """What the live surface does not prove is dropped on merging and does nothing in a trial."""
    genuine = subject.compile([], _LIVE).artifact.to_json()
    plan: JsonObject = genuine["normalizations"][0]
    for name, forged in forgeries(plan):
        artifact: JsonObject = {**genuine, "normalizations": [forged]}
        if subject.parse(artifact) is None:
            yield f"{name}: refused by the reader", True
            continue
        merged = subject.merge(None, artifact, _LIVE)
        yield f"{name}: dropped", merged.dropped_normalizations == 1 and not merged.file.plans
        report = subject.trial(_CORPUS, _LIVE, artifact=artifact)
        yield f"{name}: no evidence", report.verdict == "no-evidence"


def legacy_migration(subject: Subject, _folder: Path) -> Iterator[Case]:
    """A version 1 artifact loads, restricts nothing, and is replaced by a fresh compilation."""
    legacy = legacy_artifact()
    yield "it loads", subject.parse(legacy) is not None
    outcome = subject.compile([], _LIVE, artifact=legacy)
    yield "it is replaced", outcome.status == "compiled" and outcome.artifact.version == 2  # noqa: PLR2004 - the version itself
    merged = subject.merge(legacy, legacy, _LIVE)
    yield (
        "its restrictions are dropped and counted",
        (
            merged.dropped_overlays,
            merged.dropped_quarantines,
            len(merged.file.actions) + len(merged.file.quarantined),
        )
        == (2, 2, 0),
    )
    yield "it is no evidence", subject.trial(_CORPUS, _LIVE, artifact=legacy).verdict == "no-evidence"
    report = subject.trial([trace(action(REF, query="x"))], _LIVE, artifact=legacy)
    yield "it narrows nothing", report.totals.both_accept == 1


def store_round_trips(subject: Subject, folder: Path) -> Iterator[Case]:
    """What is saved is loaded; the same bytes are left alone; damage is shown and kept."""
    files = RealFiles()
    artifact = subject.compile(_CORPUS, _LIVE).artifact
    yield "nothing yet", subject.load(folder) is None
    yield "written", subject.save(folder, artifact) is True
    path = compiled_surface_path(folder)
    yield "loaded as it was", subject.load(folder) == artifact
    yield "for its owner alone", path.stat().st_mode & 0o777 == 0o600  # noqa: PLR2004 - permission bits
    yield "the same bytes are not written again", subject.save(folder, artifact) is False
    yield (
        "another one is written",
        subject.save(folder, subject.compile([], surface()).artifact or legacy_artifact()),
    )
    for name, damage in (("torn", b'{"version":2'), ("no artifact", b"[]"), ("not JSON", b"\xff\x00")):
        home = folder / name
        make_folders(compiled_surface_path(home).parent, files=files)
        replace_file(compiled_surface_path(home), damage, files=files)
        yield f"{name}: shown when loaded", _shown(subject.load, home)
        yield f"{name}: shown when saved", _shown(subject.save, home, artifact)
        yield f"{name}: kept", compiled_surface_path(home).read_bytes() == damage


def _shown(function: Any, *given: object) -> bool:
    try:
        function(*given)
    except RecordError:
        return True
    return False


def shared_normalizer(subject: Subject, _folder: Path) -> Iterator[Case]:
    """The trial uses the boundary's own function, counts its wins, and sees each law that is broken."""
    artifact = subject.compile([], _LIVE).artifact
    calls: list[JsonObject] = [*CANONICAL, *(given for given, _wanted in SPELLED), *AMBIGUOUS]
    audits: list[JsonObject] = [{"ref": REF, "args": args} for args in calls]
    report = subject.trial(_CORPUS, _LIVE, artifact=artifact, audit_calls=audits, normalizer=subject.apply)
    yield "clean", report.verdict == "clean"
    # The one call of the open action stands in a trace, and has no audit.
    yield "accepted stay accepted", report.totals.both_accept == len(CANONICAL) + 1
    yield "wins", report.totals.normalization_win == len(SPELLED)
    yield "refused stay refused", report.totals.both_reject == len(AMBIGUOUS)
    yield "no difference in the score", report.delta == 0
    yield "the score is the historical one", report.declared_score == subject.measure(_CORPUS).score
    for name, broken, trial_class in _broken(subject):
        found = subject.trial([], _LIVE, artifact=artifact, audit_calls=audits, normalizer=broken)
        classes = {divergence.trial_class for divergence in found.divergences}
        yield f"{name} is costly", found.verdict == "costly" and trial_class in classes


def _broken(subject: Subject) -> Iterator[tuple[str, Any, str]]:
    def copies(ref: str, schema: object, args: Json, plan: object) -> NormalFormResult:
        found = subject.apply(ref, schema, args, plan)
        return NormalFormResult(args=dict(found.args), witness=found.witness)

    def loses(_ref: str, _schema: object, _args: Json, _plan: object) -> NormalFormResult:
        return NormalFormResult(args={})

    yield "a copy of canonical arguments", copies, "canonical-identity-cost"
    yield "a change of what was changed", copies, "idempotence-cost"
    yield "a loss of accepted arguments", loses, "tightening-cost"


ARTIFACT_CHECKS: Final = (
    Check(
        name="deterministic-compilation",
        tries="corpora and surfaces in another order, and none",
        cases=deterministic_compilation,
    ),
    Check(name="convergence", tries="artifacts of the same and of other plans", cases=convergence),
    Check(name="forged-artifacts", tries="artifacts with one forged plan", cases=forged_artifacts),
    Check(name="legacy-migration", tries="a version 1 artifact", cases=legacy_migration),
    Check(name="store-round-trips", tries="files written, read and damaged", cases=store_round_trips),
    Check(
        name="shared-normalizer-trial",
        tries="calls replayed, and broken normalizers",
        cases=shared_normalizer,
    ),
)
"""Checks of compiling, storing, merging and trying."""
