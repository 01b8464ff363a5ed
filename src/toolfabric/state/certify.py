"""Verify the head: run its evidence, and certify exactly what was verified, or say every reason why not.

It fails closed:

- The old certificate is revoked before anything is run, so a stop at any point leaves none.
- No evidence is no certificate. An error, a time limit, a cancellation are not confirmation.
- The head is looked at again after the evidence; if it moved, what was verified is not the head any more.
- A certificate names the head's transition, version, state and proof. It holds as long as all four are the
  head's, and ``certification_reasons`` compares them each time.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from toolfabric.errors import RecordError, StorageError
from toolfabric.state.evidence import RunCommand, complexity_reasons, run_commands
from toolfabric.state.ledger import Ledger, View
from toolfabric.state.records import (
    Certificate,
    EvidenceResult,
    EvidenceStatus,
    Proposal,
    Reason,
    ReasonCode,
)
from toolfabric.state.transitions import pending_message
from toolfabric.values import Json

__all__ = ["Verification", "certification_reasons", "current_certification", "verify_head"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a verification found: a certificate, or every reason why there is none."""

    certificate: Certificate | None
    reasons: tuple[Reason, ...]
    results: tuple[EvidenceResult, ...]


async def verify_head(ledger: Ledger, *, version: int, workspace: Path, run: RunCommand) -> Verification:
    """Verify the head, if it is at that version.

    Raises:
        StorageError: The mesh failed; there is no certificate that was not there before.
    """
    view = await ledger.look()
    reasons = _head_reasons(view, version)
    if reasons or view.proposal is None:
        return Verification(certificate=None, reasons=reasons, results=())
    await ledger.revoke()
    proposal = view.proposal
    if not (proposal.commands or proposal.complexity):
        detail = "the transition has no evidence; make one with commands or limits on decision points"
        return await _failed(ledger, proposal, (Reason(code=ReasonCode.NO_EVIDENCE, detail=detail),), ())
    results = await run_commands(proposal.commands, workspace=workspace, run=run)
    reasons = (
        *_result_reasons(proposal, results),
        *await complexity_reasons(proposal.complexity, workspace=workspace),
        *_moved_reasons(view, await ledger.look()),
    )
    if reasons:
        return await _failed(ledger, proposal, reasons, results)
    return await _certified(ledger, view, proposal, results)


async def current_certification(ledger: Ledger, view: View) -> tuple[Certificate | None, tuple[Reason, ...]]:
    """The certificate of a head that was looked at, or every reason why it has none.

    Raises:
        StorageError: The mesh failed.
    """
    try:
        kept = await ledger.certificate()
    except RecordError as error:
        return None, (Reason(code=ReasonCode.DAMAGED, detail=f"the certificate cannot be read: {error}"),)
    certificate = None if kept is None else kept.record
    reasons = certification_reasons(view, certificate)
    return (None if reasons else certificate), reasons


def certification_reasons(view: View, certificate: Certificate | None) -> tuple[Reason, ...]:
    """Every reason why a certificate does not certify this head; nothing when it does."""
    reasons = list(_head_reasons(view, view.version))
    if certificate is None:
        detail = "the head was not verified; 'state.verify' runs its evidence"
        reasons.append(Reason(code=ReasonCode.NO_CERTIFICATE, detail=detail))
    elif not _is_of(certificate, view):
        detail = (
            f"the certificate is of version {certificate.version}, transition {certificate.transition_id}, "
            "which is not exactly the head; verify again"
        )
        reasons.append(Reason(code=ReasonCode.OTHER_HEAD, detail=detail))
    return tuple(reasons)


def _is_of(certificate: Certificate, view: View) -> bool:
    proposal = view.proposal
    return (
        proposal is not None
        and view.current is not None
        and (certificate.transition_id, certificate.version, certificate.to)
        == (view.current.transition_id, view.current.version, view.current.to)
        and certificate.proof == view.proof
        and not _result_reasons(proposal, certificate.results)
    )


def _head_reasons(view: View, version: int) -> tuple[Reason, ...]:
    reasons: list[Reason] = []
    if view.damage is not None:
        reasons.append(Reason(code=ReasonCode.DAMAGED, detail=view.damage))
    if view.pending is not None:
        reasons.append(Reason(code=ReasonCode.PENDING, detail=pending_message(view.pending, view.current)))
    if view.current is None and view.damage is None:
        detail = "there is no state yet; 'state.transition' makes the first"
        reasons.append(Reason(code=ReasonCode.NO_HEAD, detail=detail))
    elif view.version != version:
        detail = f"the head is at version {view.version}, not {version}; look at it again with 'state.get'"
        reasons.append(Reason(code=ReasonCode.VERSION, detail=detail))
    return tuple(reasons)


def _result_reasons(proposal: Proposal, results: tuple[EvidenceResult, ...]) -> tuple[Reason, ...]:
    """Why results do not confirm all commands: each must be there, in order, and confirmed."""
    reasons: list[Reason] = []
    for number, command in enumerate(proposal.commands):
        result = results[number] if number < len(results) else None
        if result is None or result.name != command.name:
            detail = f"command {command.name!r} has no result"
            reasons.append(Reason(code=ReasonCode.COMMAND_ERROR, detail=detail))
        elif result.status is EvidenceStatus.NONCONFIRMED:
            detail = f"command {command.name!r} was not confirmed: {result.detail}"
            reasons.append(Reason(code=ReasonCode.COMMAND_NONCONFIRMED, detail=detail))
        elif result.status is EvidenceStatus.ERROR:
            detail = f"command {command.name!r} could not be judged: {result.detail}"
            reasons.append(Reason(code=ReasonCode.COMMAND_ERROR, detail=detail))
    return tuple(reasons)


def _moved_reasons(before: View, after: View) -> tuple[Reason, ...]:
    if (after.key_version, after.damage, after.proof) == (before.key_version, before.damage, before.proof):
        return ()
    detail = "the head moved while its evidence was looked at; verify again"
    return (Reason(code=ReasonCode.HEAD_MOVED, detail=detail),)


async def _certified(
    ledger: Ledger, view: View, proposal: Proposal, results: tuple[EvidenceResult, ...]
) -> Verification:
    binding = proposal.binding
    certificate = Certificate(
        format=1,
        transition_id=binding.transition_id,
        version=binding.version,
        to=binding.to,
        proof=view.proof,
        results=tuple(replace(result, output=UNSET) for result in results),
        issued_by=ledger.actor,
        issued_at=ledger.now(),
    )
    if not (await ledger.certify(certificate)).done:
        detail = "another verification of the head ended at the same time; look at it with 'state.get'"
        reason = Reason(code=ReasonCode.RACE, detail=detail)
        return Verification(certificate=None, reasons=(reason,), results=results)
    await _announce(ledger, "verified", proposal, ())
    return Verification(certificate=certificate, reasons=(), results=results)


async def _failed(
    ledger: Ledger, proposal: Proposal, reasons: tuple[Reason, ...], results: tuple[EvidenceResult, ...]
) -> Verification:
    # A verification that ended meanwhile may have certified what this one found wanting.
    await ledger.revoke()
    await _announce(ledger, "verification_failed", proposal, reasons)
    return Verification(certificate=None, reasons=reasons, results=results)


async def _announce(ledger: Ledger, kind: str, proposal: Proposal, reasons: tuple[Reason, ...]) -> None:
    codes: list[Json] = [str(reason.code) for reason in reasons]
    with contextlib.suppress(StorageError, ValueError):  # the records are the truth; the event is a notice
        await ledger.announce(kind, {**proposal.binding.to_json(), "reasons": codes})
