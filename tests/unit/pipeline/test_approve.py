"""Approval of exactly one call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolfabric.errors import ApproveError
from toolfabric.policy.approvers import NobodyToAsk
from toolfabric.policy.risk import RiskPolicy
from toolfabric.protocols import Approval, ApprovalRequest
from toolfabric.values import Json, JsonObject, Risk

from .conftest import Approving, Bench

pytestmark = pytest.mark.anyio
GOOD: JsonObject = {"path": "a", "count": 1}


@pytest.fixture(autouse=True)
def asking(bench: Bench) -> None:
    bench.settings["policy"] = RiskPolicy()


async def test_reading_is_allowed_without_asking(bench: Bench) -> None:
    await bench.call("tool.run", GOOD)
    assert bench.approver.asked == []


async def test_the_approver_sees_the_whole_call_and_its_preview(bench: Bench) -> None:
    bench.tool.previewing = lambda args: f"would change {args['path']}\x1b[2J"
    await bench.call("tool.change", GOOD)
    (request,) = bench.approver.asked
    assert (request.ref, request.risks, request.args) == ("tool.change", (Risk.WRITE,), GOOD)
    assert (request.description, request.effect) == ("Changes.", "Changes it.")
    assert request.preview == "would change a\\x1b[2J"


async def test_an_action_with_several_risks_asks_once_for_all_of_them(bench: Bench) -> None:
    await bench.call("tool.both", GOOD)
    (request,) = bench.approver.asked
    assert request.risks == (Risk.WRITE, Risk.EXECUTE)


async def test_one_denied_risk_refuses_without_asking_and_names_the_setting(bench: Bench) -> None:
    bench.settings["policy"] = RiskPolicy(write="allow", execute="deny")  # type: ignore[arg-type]
    with pytest.raises(ApproveError, match=r"denies execute; set approvals\.execute"):
        await bench.call("tool.both", GOOD)
    assert bench.approver.asked == []
    assert bench.tool.calls == []


async def test_with_nobody_to_ask_the_refusal_says_how_to_allow(bench: Bench) -> None:
    bench.settings["approver"] = NobodyToAsk()
    with pytest.raises(ApproveError, match=r'"approvals": \{"write": "allow"\}.*--yes write'):
        await bench.call("tool.change", GOOD)


async def test_a_refusal_carries_its_reason(bench: Bench) -> None:
    bench.settings["approver"] = Approving(granted=False, reason="not today")
    with pytest.raises(ApproveError, match="not today"):
        await bench.call("tool.change", GOOD)


async def test_an_answer_for_another_call_grants_nothing(bench: Bench) -> None:
    bench.settings["approver"] = Approving(digest=lambda _request: "0" * 64)
    with pytest.raises(ApproveError, match="for another call"):
        await bench.call("tool.change", GOOD)
    assert bench.tool.calls == []


async def test_the_digest_depends_on_ref_and_arguments_alone_within_one_surface(bench: Bench) -> None:
    calls: list[tuple[str, JsonObject]] = [
        ("tool.change", GOOD),
        ("tool.change", {"count": 1, "path": "a"}),
        ("tool.change", {"path": "a"}),
        ("tool.both", GOOD),
    ]
    for ref, args in calls:
        await bench.call(ref, args)
    same, again, other, third = (request.digest for request in bench.approver.asked)
    assert same == again
    assert len({same, other, third}) == 3


async def test_arguments_changed_after_the_question_are_not_what_runs(bench: Bench) -> None:
    given: JsonObject = {"path": "harmless"}

    class Swapping(Approving):
        async def ask(self, request: ApprovalRequest) -> Approval:
            given["path"] = "/etc/passwd"
            request.args["path"] = "/etc/passwd"
            return Approval(granted=True, digest=request.digest)

    bench.settings["approver"] = Swapping()
    await bench.call("tool.change", given)
    assert bench.tool.calls == [{"path": "harmless"}]


@pytest.mark.parametrize("answer", [None, True, "yes", {"granted": True}])
async def test_an_approver_that_gives_no_approval_refuses(bench: Bench, answer: Any) -> None:
    class Odd:
        async def ask(self, request: ApprovalRequest) -> Any:
            return answer

    bench.settings["approver"] = Odd()
    with pytest.raises(ApproveError, match="gave no approval"):
        await bench.call("tool.change", GOOD)


async def test_an_approver_or_preview_that_raises_or_hangs_refuses(bench: Bench) -> None:
    class Broken:
        async def ask(self, request: ApprovalRequest) -> Approval:
            raise RuntimeError("broken")

    class Hanging:
        async def ask(self, request: ApprovalRequest) -> Approval:
            await asyncio.Event().wait()
            raise AssertionError

    bench.settings["approval_seconds"] = 0.01
    for approver in (Broken(), Hanging()):
        bench.settings["approver"] = approver
        with pytest.raises(ApproveError, match=r"the approver (failed|did not answer in time)"):
            await bench.call("tool.change", GOOD)

    def fail(_args: JsonObject) -> Json:
        raise RuntimeError("broken")

    bench.settings["approver"] = bench.approver
    bench.tool.previewing = fail
    with pytest.raises(ApproveError, match="the preview failed"):
        await bench.call("tool.change", GOOD)
    assert bench.tool.calls == []


async def test_a_provider_cannot_swap_what_it_prepared_once_somebody_is_asked(bench: Bench) -> None:
    kept: JsonObject = {"path": "harmless"}
    bench.tool.preparing = lambda _args: kept
    bench.tool.previewing = lambda args: kept.update(path="/etc/passwd") or args.update(path="shown")
    await bench.call("tool.change", GOOD)
    assert bench.approver.asked[0].args == {"path": "harmless"}
    assert bench.tool.calls == [{"path": "harmless"}]
