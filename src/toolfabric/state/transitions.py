"""Move the head, so that a stop at any point leaves the old head or the new one.

The steps, each durable before the next:

1. The *proposal* is written under a key of its own.
2. The head is swapped, from the version that was looked at, to *pending*: it names the proposal and its
   proof, and still holds the old state.
3. The *commit marker* is created. This is the commit point: whoever creates it first decides.
4. The head is swapped to hold the new state, and is pending no more.
5. The event about it is published. It is a notice: the records are the truth.

Invariants:

- What holds is the head's own state, or the pending one once its marker says ``committed``. Nothing else is
  ever consulted, so no reader sees half of a move.
- A marker is created and never changed. A host that stops between 2 and 3 leaves a head that is pending for
  good: everything that would build on it fails and says so, until an operator creates the marker
  ``discarded``. If the host was only slow, its own marker then comes too late, and it reports that.
- A host whose mesh fails it between 2 and 4, or that is cancelled there, creates ``discarded`` itself.
- Step 4 can be done by anybody, any number of times. So can its counterpart after ``discarded``, which swaps
  the head back to what it held.
- A proposal that the head never pointed to means nothing, and is swept when the archive moves.
"""

from __future__ import annotations

import contextlib
from typing import Final, Literal

import anyio
from msgspec import UNSET

from toolfabric._base.canonical import canonical_bytes
from toolfabric.errors import StateError, StorageError
from toolfabric.protocols import Ids
from toolfabric.state.ledger import Ledger, View
from toolfabric.state.records import (
    Blocked,
    Decision,
    Head,
    Move,
    Moved,
    Pending,
    Proposal,
    StateBinding,
    proof_of,
)
from toolfabric.values import JsonObject

__all__ = ["PATIENCE_SECONDS", "discard_pending", "move_head", "pending_message", "settled"]

PATIENCE_SECONDS: Final = 2.0
"""How long another host's move may be pending before it counts as abandoned."""

_PAUSE: Final = 0.02
_ATTEMPTS: Final = 8
_ARCHIVE_ROOM: Final = 2_048
"""What an event of the archive needs around the proposal."""


async def move_head(
    ledger: Ledger, move: Move, *, ids: Ids, patience_seconds: float = PATIENCE_SECONDS
) -> Moved | Blocked:
    """Move the head to a new state, if it is at the version asked for.

    Raises:
        StateError: The head is pending for longer than another host's move takes, or damaged.
        RecordError: A field of the move does not have its declared form. Nothing was changed.
        ValueError: The move is too large, or its data is not JSON. Nothing was changed.
        StorageError: The mesh failed. The head is the old one, or pending: ``look`` tells.
    """
    current: StateBinding | None = None
    for _attempt in range(_ATTEMPTS):
        view = await settled(ledger, patience_seconds=patience_seconds)
        current = view.current
        if view.version != move.if_version:
            break
        proposal = _proposal(ledger, view, move, ids.session())
        if await _moved(ledger, view, proposal):
            return Moved(
                binding=proposal.binding,
                source=proposal.source,
                proof=proof_of(proposal),
                announced=await _announced(ledger, proposal),
            )
    return Blocked(current=current)


async def settled(ledger: Ledger, *, patience_seconds: float = PATIENCE_SECONDS) -> View:
    """Look at a head that can be built upon: close what was decided, wait a moment for what was not.

    Raises:
        StateError: The head stays pending, or is damaged.
        StorageError: The mesh failed.
    """
    view = await ledger.sound()
    waited = 0.0
    while view.pending is not None and waited < patience_seconds:
        await anyio.sleep(_PAUSE)
        waited += _PAUSE
        view = await ledger.sound()
    if view.pending is not None:
        raise StateError(pending_message(view.pending, view.current))
    if view.head is not None and view.head.pending is not UNSET:
        await _close(ledger, view.head.pending)
        return await settled(ledger, patience_seconds=patience_seconds)
    return view


async def discard_pending(ledger: Ledger, transition_id: str, *, reason: str) -> StateBinding | None:
    """End a pending transition for good, as an operator; give the state that holds now.

    If its host committed it meanwhile, it stays committed: look at what is given back.

    Raises:
        StateError: The head is damaged, or another transition, or none, is pending.
        StorageError: The mesh failed.
    """
    view = await ledger.sound()
    pending = view.head.pending if view.head is not None else UNSET
    if pending is UNSET or pending.transition_id != transition_id:
        msg = f"no transition {transition_id!r} is pending; 'fabric state show' names the one that is"
        raise StateError(msg)
    if await _decided(ledger, pending, "discarded", reason=reason):
        await ledger.announce("discarded", {"transitionId": transition_id, "reason": reason})
    await _close(ledger, pending)
    return (await ledger.sound()).current


def pending_message(pending: Pending, current: StateBinding | None) -> str:
    """Say to an operator what is pending, since when, and what to do."""
    stays = "there is no committed state yet" if current is None else f"version {current.version} holds"
    return (
        f"the state head is pending: transition {pending.transition_id} to {pending.to!r} (version "
        f"{pending.version}) was begun at {pending.since} by {pending.proposed_by}, which neither committed "
        f"nor discarded it; {stays}. If that host is gone, run 'fabric state discard {pending.transition_id}'"
    )


async def _moved(ledger: Ledger, view: View, proposal: Proposal) -> bool:
    """Take steps 1 to 4; ``False`` when the head is not what was looked at any more.

    Raises:
        StateError: An operator discarded the transition before it was committed.
        StorageError: The mesh failed; the head is the old one, or pending if the mesh could not even take
            that back.
    """
    pending = _pending(ledger, proposal)
    undone = True
    await ledger.propose(proposal)
    try:
        if not (await ledger.swap_head(_pending_head(view, pending), at=view.key_version)).done:
            await ledger.withdraw(proposal.transition_id)
            return False
        committed = await _decided(ledger, pending, "committed")
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            undone = await _decided(ledger, pending, "discarded", reason="its host could not commit it")
            await _close(ledger, pending)
        if undone or not isinstance(error, StorageError):
            raise
        committed = True  # only the answer was lost, not the marker
    if not committed:
        msg = f"transition {proposal.transition_id} was discarded by an operator before it was committed"
        raise StateError(msg)
    with contextlib.suppress(StorageError):  # the marker stands: whoever looks next closes the head
        await _close(ledger, pending)
    return True


async def _decided(
    ledger: Ledger, pending: Pending, outcome: Literal["committed", "discarded"], *, reason: str | None = None
) -> bool:
    """Create the marker, unless it is there; whether it says the outcome."""
    decision = Decision(
        format=1,
        transition_id=pending.transition_id,
        outcome=outcome,
        proof=pending.proof,
        decided_by=ledger.actor,
        decided_at=ledger.now(),
        reason=UNSET if reason is None else reason,
    )
    if (await ledger.decide(decision)).done:
        return True
    found = await ledger.decision(pending.transition_id)
    return found is not None and found.outcome == outcome


async def _close(ledger: Ledger, pending: Pending) -> None:
    """Swap a head that this transition has, and that is decided, to one that is pending no more."""
    view = await ledger.look()
    head, decision = view.head, view.decision
    if head is None or decision is None or view.damage is not None or head.pending != pending:
        return  # somebody else did it, or it must not be touched
    # ``current`` and ``proof`` of the view are what holds: the new ones after ``committed``, else the old.
    closed = Head(format=1, current=view.current, proof=view.proof, updated_at=ledger.now())
    await ledger.swap_head(closed, at=view.key_version)


async def _announced(ledger: Ledger, proposal: Proposal) -> bool:
    data: JsonObject = {**proposal.binding.to_json(), "proof": proof_of(proposal)}
    try:
        await ledger.announce("transitioned", data)
    except (StorageError, ValueError):
        return False  # the move stands; the caller is told that nobody else was
    return True


def _proposal(ledger: Ledger, view: View, move: Move, transition_id: str) -> Proposal:
    made = Proposal(
        format=1,
        transition_id=transition_id,
        version=view.version + 1,
        source=view.current,
        to=move.to,
        summary=move.summary,
        commands=move.commands,
        complexity=move.complexity,
        previous_proof=view.proof,
        proposed_by=ledger.actor,
        proposed_at=ledger.now(),
        data=move.data,
    )
    # Bounds are checked where records are read; one that could not be read back must not be written.
    checked = Proposal.from_json(made.to_json())
    limits = ledger.store.limits
    most = min(limits.max_value_bytes, limits.max_event_bytes) - _ARCHIVE_ROOM
    size = len(canonical_bytes(checked.to_json()))
    if size > most:
        msg = f"a transition has at most {most} bytes as JSON, and this has {size}; keep the bulk in a file"
        raise ValueError(msg)
    return checked


def _pending(ledger: Ledger, proposal: Proposal) -> Pending:
    return Pending(
        transition_id=proposal.transition_id,
        version=proposal.version,
        to=proposal.to,
        proof=proof_of(proposal),
        proposed_by=ledger.actor,
        since=proposal.proposed_at,
    )


def _pending_head(view: View, pending: Pending) -> Head:
    return Head(format=1, current=view.current, proof=view.proof, updated_at=pending.since, pending=pending)
