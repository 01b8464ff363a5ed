"""Walk back from the head, and move what is old behind the archive boundary.

History is what the proofs say: each proposal holds the proof of the one before it, and a chain that does not
fit is damage, not history. Beyond the boundary the records are gone; what they were stands as events on
``fabric.state.archive``, as far as that topic's retention keeps them.

Moving the boundary, oldest transitions first:

1. Each transition that goes is published on the archive topic.
2. The boundary is swapped forward.
3. The records behind it are removed, and with them proposals that the head never pointed to.

A stop after 1 publishes some of them again later: whoever reads the archive tells them apart by version. A
stop after 2 leaves records behind the boundary; they are removed the next time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

from msgspec import UNSET

from toolfabric.errors import RecordError, StateError
from toolfabric.mesh.records import Draft
from toolfabric.state.ledger import ARCHIVE_TOPIC, PROPOSALS, Kept, Ledger, View
from toolfabric.state.records import NO_PROOF, Archive, Decision, Proposal, proof_of

__all__ = ["ARCHIVE_SLACK", "KEPT_TRANSITIONS", "History", "Step", "archive_old", "read_history"]

KEPT_TRANSITIONS: Final = 200
ARCHIVE_SLACK: Final = 50
"""The boundary moves once so many transitions more than are kept have come together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One committed transition with its commit marker and proof."""

    proposal: Proposal
    decision: Decision
    proof: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Committed transitions, newest first. ``cursor`` is the next older one; ``archive`` the boundary."""

    steps: tuple[Step, ...]
    cursor: str | None
    archive: Archive | None


@dataclass(frozen=True, slots=True)
class _Link:
    """What leads to a transition."""

    transition_id: str
    version: int
    proof: str


async def read_history(ledger: Ledger, *, limit: int, cursor: str | None = None) -> History:
    """Read committed transitions, newest first, from the head or from where a page ended.

    Raises:
        StateError: The chain does not fit together; the message names where.
        ValueError: The cursor names no committed transition.
        StorageError: The mesh failed.
    """
    archive = await _archive(ledger)
    link = await _first(ledger, cursor)
    steps: list[Step] = []
    while link is not None and len(steps) < limit:
        step = await _step(ledger, link)
        if step is None:
            archive = await _archive(ledger)
            if archive is None or archive.through < link.version:
                raise _broken(link.transition_id, "its record is gone")
            link = None  # the boundary moved past it while we read
        else:
            steps.append(step)
            link = _before(step, archive)
    return History(steps=tuple(steps), cursor=None if link is None else link.transition_id, archive=archive)


async def archive_old(
    ledger: Ledger, view: View, *, keep: int = KEPT_TRANSITIONS, slack: int = ARCHIVE_SLACK
) -> Archive | None:
    """Move the archive boundary, if enough transitions are old; give where it then is.

    Raises:
        StateError: The chain does not fit together; nothing was moved.
        StorageError: The mesh failed; what was begun is finished the next time.
    """
    kept = await _boundary(ledger)
    archive = None if kept is None else kept.record
    through = 0 if archive is None else archive.through
    if view.current is None or view.version - through <= keep + slack:
        return archive
    steps = await _all_steps(ledger)
    old = [step for step in reversed(steps) if step.proposal.version <= view.version - keep]
    if not old:
        return archive
    await _publish(ledger, old)
    newest = old[-1]
    moved = Archive(
        format=1,
        through=newest.proposal.version,
        transition_id=newest.proposal.transition_id,
        proof=newest.proof,
        archived_at=ledger.now(),
    )
    if (await ledger.swap_archive(moved, at=0 if kept is None else kept.version)).done:
        remaining = {step.proposal.transition_id for step in steps} - {
            step.proposal.transition_id for step in old
        }
        await _sweep(ledger, view.version, remaining)
    return moved


async def _boundary(ledger: Ledger) -> Kept[Archive] | None:
    try:
        return await ledger.archive()
    except RecordError as error:
        msg = f"the archive boundary of the state cannot be read: {error}; restore it from a copy"
        raise StateError(msg) from error


async def _archive(ledger: Ledger) -> Archive | None:
    kept = await _boundary(ledger)
    return None if kept is None else kept.record


async def _first(ledger: Ledger, cursor: str | None) -> _Link | None:
    """Where to begin: at the head, or at a committed transition that a page ended before."""
    if cursor is None:
        view = await ledger.sound()
        if view.current is None:
            return None
        return _Link(view.current.transition_id, view.current.version, view.proof)
    try:
        decision, proposal = await ledger.decision(cursor), await ledger.proposal(cursor)
    except (RecordError, ValueError):
        decision, proposal = None, None
    if decision is None or proposal is None or decision.outcome != "committed":
        msg = "the cursor names no committed transition that is still kept; begin without one"
        raise ValueError(msg)
    return _Link(cursor, proposal.version, decision.proof)


async def _step(ledger: Ledger, link: _Link) -> Step | None:
    """Read a transition and check it against the proof that leads to it; ``None`` when it is gone."""
    try:
        proposal = await ledger.proposal(link.transition_id)
        decision = await ledger.decision(link.transition_id)
        fits = proposal is None or proof_of(proposal) == link.proof
    except (RecordError, ValueError) as error:
        raise _broken(link.transition_id, str(error)) from error
    if proposal is None or decision is None:
        return None
    if not fits or decision.outcome != "committed" or decision.proof != link.proof:
        raise _broken(link.transition_id, "it does not have the proof that the next one holds")
    return Step(proposal=proposal, decision=decision, proof=link.proof)


def _before(step: Step, archive: Archive | None) -> _Link | None:
    """The transition before a step; none at the beginning and at the boundary."""
    proposal = step.proposal
    source, proof = proposal.source, proposal.previous_proof
    if source is None:
        if proof != NO_PROOF:
            raise _broken(proposal.transition_id, "it is the first, and holds a proof of something before it")
        return None
    if archive is not None and source.version <= archive.through:
        if source.version == archive.through and proof != archive.proof:
            raise _broken(proposal.transition_id, "it does not follow on the archive boundary")
        return None
    return _Link(source.transition_id, source.version, proof)


async def _all_steps(ledger: Ledger) -> list[Step]:
    steps: list[Step] = []
    page = await read_history(ledger, limit=KEPT_TRANSITIONS)
    steps.extend(page.steps)
    while page.cursor is not None:
        page = await read_history(ledger, limit=KEPT_TRANSITIONS, cursor=page.cursor)
        steps.extend(page.steps)
    return steps


async def _publish(ledger: Ledger, old: list[Step]) -> None:
    newest = (await ledger.store.topics(ARCHIVE_TOPIC))[:1]
    known = 0
    if newest:
        page = await ledger.store.read(ARCHIVE_TOPIC, cursor=newest[0].latest - 1)
        known = max((int(event.data["proposal"]["version"]) for event in page.events), default=0)
    for step in old:
        if step.proposal.version > known:
            await ledger.store.append(
                Draft(
                    topic=ARCHIVE_TOPIC,
                    kind="transition",
                    sender=ledger.actor,
                    data={
                        "proposal": step.proposal.to_json(),
                        "decision": step.decision.to_json(),
                        "proof": step.proof,
                    },
                )
            )


async def _sweep(ledger: Ledger, version: int, remaining: set[str]) -> None:
    """Remove proposals that are archived or that nothing can lead to any more, and archived markers.

    A marker that says ``discarded`` stays for good: it is what a host that was slow runs into.
    """
    cursor = ""
    while True:
        page = await ledger.store.list(PROPOSALS, cursor=cursor)
        for entry in page.entries:
            transition_id = entry.key.removeprefix(PROPOSALS)
            if transition_id in remaining or _version(entry.value) > version:
                continue
            decision = await ledger.decision(transition_id)
            if decision is not None and decision.outcome == "committed":
                await ledger.forget_decision(transition_id)
            await ledger.withdraw(transition_id)
        if page.cursor is UNSET:
            return
        cursor = page.cursor


def _version(value: object) -> float:
    """The version of a proposal; endless for what is none, so that it is left alone."""
    try:
        return Proposal.from_json(value).version
    except RecordError:
        return inf


def _broken(transition_id: str, why: str) -> StateError:
    return StateError(
        f"the history of the state is damaged at transition {transition_id}: {why}. Nothing was changed; "
        "look at the keys under 'state/' in the mesh and restore them from a copy"
    )
