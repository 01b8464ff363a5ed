"""Approvers that need no person, and one that joins others.

Each answers with the digest of the request it was asked, so an answer counts for that call alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolfabric.protocols import Approval, ApprovalRequest, Approver

__all__ = ["AllowAll", "ChainApprover", "DenyAll", "NobodyToAsk"]


class AllowAll:
    """Grants everything. For tests, and for hosts that asked in another way before."""

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Grant."""
        return Approval(granted=True, digest=request.digest)


class DenyAll:
    """Refuses everything, with one reason."""

    def __init__(self, reason: str = "everything that would have to be asked is refused here") -> None:
        self._reason = reason

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Refuse."""
        return Approval(granted=False, digest=request.digest, reason=self._reason)


class NobodyToAsk:
    """Refuses because nobody could answer, and says how to allow such calls beforehand."""

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Refuse."""
        wanted = ", ".join(f'"{risk}": "allow"' for risk in request.risks)
        options = " ".join(f"--yes {risk}" for risk in request.risks)
        reason = (
            f'nobody is there to ask; to allow it, put "approvals": {{{wanted}}} into fabric.json, '
            f"or give {options} on the command line"
        )
        return Approval(granted=False, digest=request.digest, reason=reason)


class ChainApprover:
    """Asks several in turn; all must grant, and the first refusal ends it.

    Without anybody in the chain it refuses.
    """

    def __init__(self, approvers: Sequence[Approver]) -> None:
        self._approvers = tuple(approvers)

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Ask one after the other."""
        answer = Approval(granted=False, digest=request.digest, reason="nobody is there to ask")
        for approver in self._approvers:
            answer = await approver.ask(request)
            if not answer.granted or answer.digest != request.digest:
                return Approval(granted=False, digest=request.digest, reason=answer.reason)
        return answer
