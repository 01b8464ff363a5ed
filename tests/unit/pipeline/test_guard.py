"""The guard stands before any code of the provider."""

from __future__ import annotations

import pytest

from toolfabric.errors import GuardError
from toolfabric.protocols import Verdict
from toolfabric.values import Origin

from .conftest import Bench, Guarding

pytestmark = pytest.mark.anyio


async def test_a_refusal_names_the_ref_and_the_reason_and_no_provider_code_ran(bench: Bench) -> None:
    prepared: list[object] = []
    bench.tool.preparing = lambda args: prepared.append(args) or args
    bench.settings["guards"] = (Guarding(Verdict.BLOCK, "not in\nthis session"),)
    with pytest.raises(GuardError, match=r"^tool\.run is refused: not in this session$"):
        await bench.call("tool.run", {"path": "a"})
    assert prepared == []


async def test_what_would_be_blocked_runs(bench: Bench) -> None:
    bench.settings["guards"] = (Guarding(Verdict.WOULD_BLOCK),)
    assert await bench.call("tool.run", {"path": "a"}) == {"ok": True}


async def test_every_guard_is_asked_with_the_canonical_ref_and_its_origin(bench: Bench) -> None:
    first, second = Guarding(), Guarding(Verdict.BLOCK)
    bench.settings["guards"] = (first, second)
    with pytest.raises(GuardError, match="by policy"):
        await bench.call("tool.run", {"path": "a"})
    assert first.seen == second.seen == [("tool.run", Origin.HOST)]


async def test_a_guard_that_raises_refuses(bench: Bench) -> None:
    broken = Guarding()
    broken.error = RuntimeError("SECRET")
    bench.settings["guards"] = (broken,)
    with pytest.raises(GuardError, match="the guard that decides on it failed") as caught:
        await bench.call("tool.run", {"path": "a"})
    assert "SECRET" not in str(caught.value)
    assert bench.tool.calls == []


async def test_a_guard_that_gives_no_decision_refuses(bench: Bench) -> None:
    class Silent:
        def decide(self, ref: str, origin: Origin) -> None:
            return None

    bench.settings["guards"] = (Silent(),)
    with pytest.raises(GuardError, match="gave no decision"):
        await bench.call("tool.run", {"path": "a"})


async def test_a_call_after_the_deadline_is_not_made_and_is_recorded_as_timed_out(bench: Bench) -> None:
    with pytest.raises(GuardError, match="time was over"):
        await bench.call("tool.run", {"path": "a"}, deadline=bench.clock.seconds)
    assert bench.tool.calls == []
    assert bench.last()[0] == "timed_out"


async def test_a_call_of_a_cancelled_execution_is_not_made_and_is_recorded_as_aborted(bench: Bench) -> None:
    with pytest.raises(GuardError, match="was cancelled"):
        await bench.call("tool.run", {"path": "a"}, cancelled=lambda: True)
    assert bench.tool.calls == []
    assert bench.last()[0] == "aborted"
