"""Approvers that need no person."""

from __future__ import annotations

import pytest

from toolfabric.policy.approvers import AllowAll, ChainApprover, DenyAll, NobodyToAsk
from toolfabric.protocols import Approval, ApprovalRequest
from toolfabric.values import Risk

pytestmark = pytest.mark.anyio
REQUEST = ApprovalRequest(ref="x.run", risks=(Risk.WRITE, Risk.EXECUTE), args={}, digest="d" * 64)


class Forging:
    async def ask(self, request: ApprovalRequest) -> Approval:
        return Approval(granted=True, digest="e" * 64)


async def test_each_answers_for_the_request_it_was_asked() -> None:
    for approver in (AllowAll(), DenyAll(), NobodyToAsk(), ChainApprover([AllowAll()])):
        assert (await approver.ask(REQUEST)).digest == REQUEST.digest


async def test_nobody_to_ask_names_every_risk_and_both_ways_to_allow() -> None:
    answer = await NobodyToAsk().ask(REQUEST)
    assert not answer.granted
    assert '"write": "allow", "execute": "allow"' in answer.reason
    assert "--yes write --yes execute" in answer.reason


@pytest.mark.parametrize(
    ("chain", "answer"),
    [
        ([], "no"),
        ([AllowAll()], "yes"),
        ([AllowAll(), DenyAll()], "no"),
        ([DenyAll(), AllowAll()], "no"),
        ([Forging(), AllowAll()], "no"),
        ([AllowAll(), AllowAll()], "yes"),
    ],
)
async def test_a_chain_grants_only_when_all_do(
    chain: list[AllowAll | DenyAll | Forging], answer: str
) -> None:
    assert (await ChainApprover(chain).ask(REQUEST)).granted is (answer == "yes")
