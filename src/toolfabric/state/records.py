"""What the state is made of, with exact JSON forms.

In the mesh, all under prefixes that programs cannot write to:

| key | record | written |
|---|---|---|
| ``state/head`` | ``Head`` | by compare-and-swap alone |
| ``state/proposal/<transition id>`` | ``Proposal`` | once, before the head points to it |
| ``state/decision/<transition id>`` | ``Decision``, the commit marker | once; whoever creates it decides |
| ``state/certificate`` | ``Certificate`` | by a verification that found nothing wrong |
| ``state/archive`` | ``Archive``, the archive boundary | by compare-and-swap alone |
| ``goal/current`` | ``Goal`` | by compare-and-swap |

Topics: ``fabric.state`` (kinds ``transitioned verified verification_failed discarded goal``) and
``fabric.state.archive`` (kind ``transition``), where what lies behind the archive boundary is.

A *proof* is the RFC 8785 SHA-256 of a proposal. A proposal holds the proof of the one before it, so the proof
of the head covers all of its history.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolfabric._base.camel import Record
from toolfabric._base.canonical import canonical_digest
from toolfabric.values import Json

__all__ = [
    "NO_PROOF",
    "Archive",
    "Blocked",
    "Certificate",
    "ComplexityLimit",
    "Decision",
    "EvidenceCommand",
    "EvidenceResult",
    "EvidenceStatus",
    "Goal",
    "Head",
    "Move",
    "Moved",
    "Pending",
    "Proposal",
    "Reason",
    "ReasonCode",
    "StateBinding",
    "proof_of",
]

NO_PROOF: Final = "0" * 64
"""Stands for the proof of what was before the first transition."""

Proof: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Label: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.:/-]{0,99}\Z")]
Text: TypeAlias = Annotated[str, Meta(max_length=4_000)]
Version: TypeAlias = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class StateBinding(Record, frozen=True, kw_only=True):
    """One state of the head, exactly: what certificates and hypotheses are bound to."""

    transition_id: str
    version: Version
    to: Label


class EvidenceCommand(Record, frozen=True, kw_only=True):
    """Evidence: a program that must end with exit code 0. It is run by a verification and nothing else.

    No shell reads it. ``timeout_ms`` is 1 s to 10 min.
    """

    name: Label
    command: Annotated[str, Meta(min_length=1, max_length=4_096)]
    args: Annotated[tuple[Annotated[str, Meta(max_length=4_096)], ...], Meta(max_length=64)]
    timeout_ms: Annotated[int, Meta(ge=1_000, le=600_000)]


class ComplexityLimit(Record, frozen=True, kw_only=True):
    """Evidence: a source file has at most so many decision points."""

    path: Annotated[str, Meta(min_length=1, max_length=4_096)]
    at_most: Annotated[int, Meta(ge=0)]


class Proposal(Record, frozen=True, kw_only=True):
    """A transition as it was proposed; it never changes. ``source`` is where it starts."""

    format: Literal[1]
    transition_id: str
    version: Version
    source: StateBinding | None = msgspec.field(name="from")
    to: Label
    summary: Text
    commands: Annotated[tuple[EvidenceCommand, ...], Meta(max_length=16)]
    complexity: Annotated[tuple[ComplexityLimit, ...], Meta(max_length=100)]
    previous_proof: Proof
    proposed_by: str
    proposed_at: str
    data: Any = UNSET

    @property
    def binding(self) -> StateBinding:
        """The head as it is once this is committed."""
        return StateBinding(transition_id=self.transition_id, version=self.version, to=self.to)


class Decision(Record, frozen=True, kw_only=True):
    """The commit marker: what became of a proposal. It is created once, and that is the commit point."""

    format: Literal[1]
    transition_id: str
    outcome: Literal["committed", "discarded"]
    proof: Proof
    decided_by: str
    decided_at: str
    reason: str | UnsetType = UNSET


class Pending(Record, frozen=True, kw_only=True):
    """A transition that has the head but is not decided yet."""

    transition_id: str
    version: Version
    to: Label
    proof: Proof
    proposed_by: str
    since: str


class Head(Record, frozen=True, kw_only=True):
    """The one record that says where the work stands.

    ``current`` is the last committed state, ``null`` before the first. While ``pending`` is there and not
    decided, ``current`` is what holds.
    """

    format: Literal[1]
    current: StateBinding | None
    proof: Proof
    updated_at: str
    pending: Pending | UnsetType = UNSET


class EvidenceStatus(StrEnum):
    """What an evidence command showed: it ended with 0, with something else, or could not be judged."""

    CONFIRMED = "confirmed"
    NONCONFIRMED = "nonconfirmed"
    ERROR = "error"


class EvidenceResult(Record, frozen=True, kw_only=True):
    """How an evidence command ended.

    ``output`` holds both ends of what it printed; ``output_bytes`` and ``output_sha256`` are of the whole.
    A certificate keeps results without ``output``.
    """

    name: str
    status: EvidenceStatus
    detail: str
    exit_code: int | UnsetType = UNSET
    output: str | UnsetType = UNSET
    output_bytes: int | UnsetType = UNSET
    output_sha256: str | UnsetType = UNSET


class Certificate(Record, frozen=True, kw_only=True):
    """Says that all evidence of exactly this head was confirmed. It holds for no other."""

    format: Literal[1]
    transition_id: str
    version: Version
    to: Label
    proof: Proof
    results: tuple[EvidenceResult, ...]
    issued_by: str
    issued_at: str


class Archive(Record, frozen=True, kw_only=True):
    """The archive boundary: transitions up to this version are no longer kept as records.

    ``proof`` is that of the boundary's own transition, so that the chain can be checked from there on.
    """

    format: Literal[1]
    through: Version
    transition_id: str
    proof: Proof
    archived_at: str


class Goal(Record, frozen=True, kw_only=True):
    """Where the work is to get to, and how that is told."""

    format: Literal[1]
    text: Text
    certified: bool
    complexity: Annotated[tuple[ComplexityLimit, ...], Meta(max_length=100)]
    set_by: str
    set_at: str
    to: Label | UnsetType = UNSET


class ReasonCode(StrEnum):
    """Why something is not certified, or a goal not reached."""

    NO_HEAD = "no_head"
    PENDING = "pending"
    DAMAGED = "damaged"
    VERSION = "version"
    NO_EVIDENCE = "no_evidence"
    NO_CERTIFICATE = "no_certificate"
    OTHER_HEAD = "certificate_of_another_head"
    COMMAND_NONCONFIRMED = "command_nonconfirmed"
    COMMAND_ERROR = "command_error"
    TOO_COMPLEX = "too_complex"
    COMPLEXITY_UNKNOWN = "complexity_unknown"
    HEAD_MOVED = "head_moved"
    RACE = "another_verification"
    NO_GOAL = "no_goal"
    OTHER_STATE = "other_state"


class Reason(Record, frozen=True, kw_only=True):
    """One reason, with a sentence for people."""

    code: ReasonCode
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What a transition is asked to be. ``if_version`` is the head's version it starts from, 0 for none."""

    to: str
    summary: str
    if_version: int
    commands: tuple[EvidenceCommand, ...] = ()
    complexity: tuple[ComplexityLimit, ...] = ()
    data: Json | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The head moved. ``announced`` says whether the event about it was kept too."""

    binding: StateBinding
    source: StateBinding | None
    proof: str
    announced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The head did not move, because it is not at the version asked for; ``current`` is what it is at."""

    current: StateBinding | None


def proof_of(proposal: Proposal) -> str:
    """The digest that stands for a proposal and all that came before it.

    Raises:
        ValueError: Its ``data`` has no canonical form.
    """
    return canonical_digest(proposal.to_json())
