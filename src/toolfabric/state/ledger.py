"""The state's records in the mesh: where each is, how it is read, and what a look at the head finds.

Reading decides nothing: a head that is pending is judged by its commit marker alone, and records that do
not fit together are named as damage, never mended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from msgspec import UNSET

from toolfabric._base.camel import Record
from toolfabric.errors import RecordError, StateError
from toolfabric.mesh.records import Draft, Swap, wire_time
from toolfabric.mesh.store import MeshStore
from toolfabric.protocols import Clock
from toolfabric.state.records import (
    NO_PROOF,
    Archive,
    Certificate,
    Decision,
    Goal,
    Head,
    Pending,
    Proposal,
    StateBinding,
    proof_of,
)
from toolfabric.values import JsonObject

__all__ = ["ARCHIVE_TOPIC", "PROPOSALS", "STATE_TOPIC", "Kept", "Ledger", "View"]

STATE_TOPIC: Final = "fabric.state"
ARCHIVE_TOPIC: Final = "fabric.state.archive"
PROPOSALS: Final = "state/proposal/"
_HEAD: Final = "state/head"
_DECISIONS: Final = "state/decision/"
_CERTIFICATE: Final = "state/certificate"
_ARCHIVE: Final = "state/archive"
_GOAL: Final = "goal/current"
_LOOKS: Final = 3
_T = TypeVar("_T", bound=Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Generic[_T]):
    """A record with the version of its key."""

    record: _T
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one look at the head found.

    ``key_version`` is for the next compare-and-swap. ``current`` and ``proof`` are what holds: a pending
    transition counts once its commit marker is there. ``pending`` is a transition that is not decided,
    ``decision`` the marker of one that is, while the head was not closed after it. ``damage`` names
    records that do not fit; then nothing else may be relied upon.
    """

    key_version: int = 0
    head: Head | None = None
    current: StateBinding | None = None
    proof: str = NO_PROOF
    proposal: Proposal | None = None
    pending: Pending | None = None
    decision: Decision | None = None
    damage: str | None = None

    @property
    def version(self) -> int:
        """The version of the head, 0 before the first."""
        return self.current.version if self.current is not None else 0


class Ledger:
    """The records of one state in one mesh, read and written as ``actor``."""

    def __init__(self, store: MeshStore, *, clock: Clock, actor: str) -> None:
        self.store = store
        self.actor = actor
        self._clock = clock

    def now(self) -> str:
        """The moment, as records have it."""
        return wire_time(self._clock.now())

    async def look(self) -> View:
        """Look at the head and at all it rests on.

        Raises:
            StorageError: The mesh failed.
        """
        view = await self._look()
        for _look in range(_LOOKS):
            if view.damage is None:
                break
            # What looks like damage may be another host's move between two of our reads.
            again = await self._look()
            if again.key_version == view.key_version:
                break
            view = again
        return view

    async def sound(self) -> View:
        """As ``look``, for those who must not go on with damaged records.

        Raises:
            StateError: The records do not fit together.
            StorageError: The mesh failed.
        """
        view = await self.look()
        if view.damage is not None:
            raise StateError(view.damage)
        return view

    async def swap_head(self, head: Head, *, at: int) -> Swap:
        """Move the head record, if its key is at that version."""
        return await self.store.put(_HEAD, head.to_json(), if_version=at)

    async def proposal(self, transition_id: str) -> Proposal | None:
        """A proposal; ``None`` when there is none.

        Raises:
            RecordError: What is there is no proposal.
        """
        kept = await self._read(f"{PROPOSALS}{transition_id}", Proposal)
        return kept.record if kept is not None else None

    async def propose(self, proposal: Proposal) -> Swap:
        """Write a proposal, once."""
        return await self.store.put(f"{PROPOSALS}{proposal.transition_id}", proposal.to_json(), if_version=0)

    async def withdraw(self, transition_id: str) -> None:
        """Remove a proposal that the head never pointed to, or that is in the archive."""
        await self.store.delete(f"{PROPOSALS}{transition_id}")

    async def decision(self, transition_id: str) -> Decision | None:
        """The commit marker of a transition.

        Raises:
            RecordError: What is there is no marker.
        """
        kept = await self._read(f"{_DECISIONS}{transition_id}", Decision)
        return kept.record if kept is not None else None

    async def decide(self, decision: Decision) -> Swap:
        """Create a commit marker; not done when somebody decided before."""
        return await self.store.put(f"{_DECISIONS}{decision.transition_id}", decision.to_json(), if_version=0)

    async def forget_decision(self, transition_id: str) -> None:
        """Remove the marker of a transition that is in the archive."""
        await self.store.delete(f"{_DECISIONS}{transition_id}")

    async def certificate(self) -> Kept[Certificate] | None:
        """The certificate that was issued last.

        Raises:
            RecordError: What is there is no certificate.
        """
        return await self._read(_CERTIFICATE, Certificate)

    async def certify(self, certificate: Certificate) -> Swap:
        """Write a certificate where there is none."""
        return await self.store.put(_CERTIFICATE, certificate.to_json(), if_version=0)

    async def revoke(self) -> None:
        """Remove the certificate, if there is one."""
        await self.store.delete(_CERTIFICATE)

    async def archive(self) -> Kept[Archive] | None:
        """The archive boundary.

        Raises:
            RecordError: What is there is no boundary.
        """
        return await self._read(_ARCHIVE, Archive)

    async def swap_archive(self, archive: Archive, *, at: int) -> Swap:
        """Move the archive boundary, if its key is at that version."""
        return await self.store.put(_ARCHIVE, archive.to_json(), if_version=at)

    async def goal(self) -> Kept[Goal] | None:
        """The goal that is set.

        Raises:
            RecordError: What is there is no goal.
        """
        return await self._read(_GOAL, Goal)

    async def swap_goal(self, goal: Goal, *, at: int | None) -> Swap:
        """Set the goal, always or if its key is at that version."""
        return await self.store.put(_GOAL, goal.to_json(), if_version=at)

    async def announce(self, kind: str, data: JsonObject) -> None:
        """Add an event to the state's topic."""
        await self.store.append(Draft(topic=STATE_TOPIC, kind=kind, sender=self.actor, data=data))

    async def _look(self) -> View:
        try:
            kept = await self._read(_HEAD, Head)
        except RecordError as error:
            entry = await self.store.get(_HEAD)
            return View(key_version=entry.version if entry else 0, damage=_damaged(_HEAD, str(error)))
        if kept is None:
            return View()
        try:
            return await self._judge(kept.record, kept.version)
        except RecordError as error:
            return View(
                key_version=kept.version,
                head=kept.record,
                damage=_damaged("a record of the head", str(error)),
            )

    async def _judge(self, head: Head, key_version: int) -> View:
        current, proof = head.current, head.proof
        pending, decision = None, None
        if head.pending is not UNSET:
            decision = await self.decision(head.pending.transition_id)
            if decision is None:
                pending = head.pending
            elif decision.outcome == "committed":
                current, proof = _binding(head.pending), head.pending.proof
        view = View(
            key_version=key_version,
            head=head,
            current=current,
            proof=proof,
            pending=pending,
            decision=decision,
        )
        return view if current is None else await self._supported(view, current)

    async def _supported(self, view: View, current: StateBinding) -> View:
        """Add the proposal that the head rests on, or the damage that there is instead."""
        proposal = await self.proposal(current.transition_id)
        marker = await self.decision(current.transition_id)
        name = f"the head's transition {current.transition_id}"
        damage = None
        if proposal is None:
            damage = _damaged(name, "its proposal is gone")
        elif proposal.binding != current or not _proves(proposal, view.proof):
            damage = _damaged(name, "its proposal does not have the proof that the head holds")
        elif marker is None or marker.outcome != "committed" or marker.proof != view.proof:
            damage = _damaged(name, "it has no commit marker with the head's proof")
        return replace(view, proposal=proposal, damage=damage)

    async def _read(self, key: str, kind: type[_T]) -> Kept[_T] | None:
        entry = await self.store.get(key)
        if entry is None:
            return None
        return Kept(record=kind.from_json(entry.value), version=entry.version)


def _binding(pending: Pending) -> StateBinding:
    return StateBinding(transition_id=pending.transition_id, version=pending.version, to=pending.to)


def _proves(proposal: Proposal, proof: str) -> bool:
    try:
        return proof_of(proposal) == proof
    except ValueError:
        return False


def _damaged(what: str, why: str) -> str:
    return (
        f"the state is damaged at {what}: {why}. Nothing was changed; look at the keys under 'state/' in the "
        "mesh and restore them from a copy"
    )
