"""Approvers that need no person."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from toolfabric.policy.approvers import AllowAll, ChainApprover, DenyAll, NobodyToAsk
from toolfabric.protocols import Approval, ApprovalRequest, Approver
from toolfabric.values import Risk

pytestmark = pytest.mark.anyio
REQUEST = ApprovalRequest(ref="pi.write", risks=(Risk.WRITE, Risk.EXECUTE), args={}, digest="d")


class Stale:
    """Grants something else."""

    async def ask(self, request: ApprovalRequest) -> Approval:
        return Approval(granted=True, digest="other")


async def test_the_plain_answers() -> None:
    assert await AllowAll().ask(REQUEST) == Approval(granted=True, digest="d")
    assert await DenyAll("no").ask(REQUEST) == Approval(granted=False, digest="d", reason="no")


async def test_with_nobody_to_ask_the_refusal_says_how_to_allow() -> None:
    answer = await NobodyToAsk().ask(REQUEST)
    assert not answer.granted
    assert '"approvals": {"write": "allow", "execute": "allow"}' in answer.reason
    assert "--yes write --yes execute" in answer.reason


@pytest.mark.parametrize(
    ("chain", "granted", "reason"),
    [
        ([], False, "nobody is there to ask"),
        ([AllowAll()], True, ""),
        ([AllowAll(), AllowAll()], True, ""),
        ([AllowAll(), DenyAll("second")], False, "second"),
        ([DenyAll("first"), DenyAll("second")], False, "first"),
        ([AllowAll(), Stale()], False, ""),
        ([Stale(), AllowAll()], False, ""),
    ],
)
async def test_of_a_chain_all_must_grant(chain: Sequence[Approver], *, granted: bool, reason: str) -> None:
    assert await ChainApprover(chain).ask(REQUEST) == Approval(granted=granted, digest="d", reason=reason)
