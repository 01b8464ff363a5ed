from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Protocol

import pytest

from toolfabric.errors import StateError, StorageError
from toolfabric.mesh.store import MeshStore
from toolfabric.state.certify import Verification
from toolfabric.state.control import State, Status
from toolfabric.state.ledger import Ledger
from toolfabric.state.records import (
    ComplexityLimit,
    EvidenceCommand,
    EvidenceStatus,
    Move,
    Moved,
    ReasonCode,
)
from toolfabric.testing.files import Crashed
from toolfabric.testing.mesh import StoppingMesh

pytestmark = pytest.mark.anyio

VERIFY_CHANGES = 3
"""Revoke, certify, event."""


class World(Protocol):
    store: MeshStore
    workspace: Path
    evidence: Any

    def state(self, store: MeshStore | None = None, *, actor: str = "host-1") -> State: ...
    def ledger(self, store: MeshStore | None = None) -> Ledger: ...
    async def kinds(self) -> list[str]: ...


def commands(*names: str) -> tuple[EvidenceCommand, ...]:
    return tuple(EvidenceCommand(name=name, command="x", args=(), timeout_ms=1_000) for name in names)


def move(to: str, at: int, *names: str, **more: Any) -> Move:
    return Move(to=to, summary="", if_version=at, commands=commands(*names), **more)


def codes(found: Verification | Status) -> list[ReasonCode]:
    return [reason.code for reason in found.reasons]


async def certified(world: World) -> bool:
    status = await world.state().get()
    assert (status.certificate is None) == bool(status.reasons)
    return status.certificate is not None


async def test_confirmed_evidence_certifies_exactly_the_head(world: World) -> None:
    state = world.state()
    moved = await state.transition(move("review", 0, "lint", "tests"))
    assert isinstance(moved, Moved)
    assert codes(await state.get()) == [ReasonCode.NO_CERTIFICATE]
    found = await state.verify(1)
    assert (found.reasons, world.evidence.ran) == ((), ["lint", "tests"])
    assert found.certificate is not None
    assert [result.output for result in found.results] == ["seen", "seen"]
    entry = await world.store.get("state/certificate")
    assert entry is not None
    assert entry.value == {
        "format": 1,
        "transitionId": "t1",
        "version": 1,
        "to": "review",
        "proof": moved.proof,
        "results": [
            {"name": name, "status": "confirmed", "detail": "as told", "exitCode": 0, "outputBytes": 4}
            for name in ("lint", "tests")
        ],
        "issuedBy": "host-1",
        "issuedAt": found.certificate.issued_at,
    }
    assert (await state.get()).certificate == found.certificate
    assert await world.kinds() == ["transitioned", "verified"]


async def test_a_certificate_does_not_hold_for_the_next_head(world: World) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    await state.verify(1)
    await state.transition(move("review", 1, "tests"))
    status = await state.get()
    assert (status.certificate, codes(status)) == (None, [ReasonCode.OTHER_HEAD])
    assert "is of version 1, transition t1, which is not exactly the head" in status.reasons[0].detail


@pytest.mark.parametrize(
    "change",
    [
        {"transitionId": "t9"},
        {"version": 2},
        {"to": "released"},
        {"proof": "0" * 64},
        {"results": []},
        {"results": [{"name": "tests", "status": "error", "detail": ""}]},
        {"results": [{"name": "other", "status": "confirmed", "detail": ""}]},
    ],
)
async def test_a_certificate_that_differs_in_anything_certifies_nothing(
    world: World, change: dict[str, Any]
) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    await state.verify(1)
    entry = await world.store.get("state/certificate")
    assert entry is not None
    await world.store.put("state/certificate", {**entry.value, **change})
    assert codes(await state.get()) == [ReasonCode.OTHER_HEAD]
    await world.store.put("state/certificate", entry.value)
    assert await certified(world)


async def test_every_reason_is_named_at_once(world: World) -> None:
    (world.workspace / "a.py").write_text("if a and b: pass\n")
    state = world.state()
    limits = (
        ComplexityLimit(path="a.py", at_most=1),
        ComplexityLimit(path="a.py", at_most=2),
        ComplexityLimit(path="missing.py", at_most=9),
        ComplexityLimit(path="../a.py", at_most=9),
    )
    await state.transition(move("review", 0, "a", "b", "c", "d", complexity=limits))
    world.evidence.endings = {
        "a": EvidenceStatus.NONCONFIRMED,
        "b": EvidenceStatus.ERROR,
        "d": EvidenceStatus.NONCONFIRMED,
    }
    found = await state.verify(1)
    assert found.certificate is None
    assert world.evidence.ran == ["a", "b", "c", "d"]
    assert codes(found) == [
        ReasonCode.COMMAND_NONCONFIRMED,
        ReasonCode.COMMAND_ERROR,
        ReasonCode.COMMAND_NONCONFIRMED,
        ReasonCode.TOO_COMPLEX,
        ReasonCode.COMPLEXITY_UNKNOWN,
        ReasonCode.COMPLEXITY_UNKNOWN,
    ]
    assert [reason.detail for reason in found.reasons][:4] == [
        "command 'a' was not confirmed: as told",
        "command 'b' could not be judged: as told",
        "command 'd' was not confirmed: as told",
        "a.py has 2 decision points, and at most 1 are allowed",
    ]
    assert not await certified(world)
    assert await world.kinds() == ["transitioned", "verification_failed"]
    events = (await world.store.read("fabric.state")).events
    assert events[1].data["reasons"] == [str(code) for code in codes(found)]


async def test_limits_on_decision_points_are_evidence_enough(world: World) -> None:
    (world.workspace / "a.py").write_text("if a and b: pass\n")
    state = world.state()
    await state.transition(move("review", 0, complexity=(ComplexityLimit(path="a.py", at_most=2),)))
    assert (await state.verify(1)).certificate is not None
    assert await certified(world)


async def test_a_file_that_does_not_parse_confirms_nothing(world: World) -> None:
    (world.workspace / "a.py").write_text("if a and ((: pass\n")
    state = world.state()
    await state.transition(move("review", 0, complexity=(ComplexityLimit(path="a.py", at_most=99),)))
    assert codes(await state.verify(1)) == [ReasonCode.COMPLEXITY_UNKNOWN]


async def test_without_evidence_there_is_no_certificate(world: World) -> None:
    state = world.state()
    await state.transition(move("review", 0))
    assert codes(await state.verify(1)) == [ReasonCode.NO_EVIDENCE]
    assert not await certified(world)


async def test_without_a_head_there_is_nothing_to_verify(world: World) -> None:
    found = await world.state().verify(1)
    assert (codes(found), found.results) == ([ReasonCode.NO_HEAD], ())
    assert codes(await world.state().get()) == [ReasonCode.NO_HEAD, ReasonCode.NO_CERTIFICATE]


@pytest.mark.parametrize("version", [0, 2])
async def test_another_version_than_asked_for_runs_nothing(world: World, version: int) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    await state.verify(1)
    world.evidence.ran.clear()
    assert codes(await state.verify(version)) == [ReasonCode.VERSION]
    assert world.evidence.ran == []
    assert await certified(world)


async def test_a_pending_head_runs_nothing_and_tells_the_operator(world: World) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    await state.verify(1)
    world.evidence.ran.clear()
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=3)).transition(move("next", 1))
    found = await state.verify(1)
    assert codes(found) == [ReasonCode.PENDING]
    assert "run 'fabric state discard t2'" in found.reasons[0].detail
    assert world.evidence.ran == []
    assert codes(await state.get()) == [ReasonCode.PENDING]
    await state.discard_pending("t2", reason="gone")
    assert await certified(world)


async def test_a_head_that_moves_while_evidence_runs_is_not_certified(world: World) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))

    async def move_on() -> None:
        world.evidence.during = None
        await world.state(actor="host-2").transition(move("next", 1))

    world.evidence.during = move_on
    assert codes(await state.verify(1)) == [ReasonCode.HEAD_MOVED]
    assert not await certified(world)


async def test_a_failed_verification_takes_back_what_another_certified_meanwhile(world: World) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))

    async def other_succeeds() -> None:
        world.evidence.during = None
        assert (await world.state(actor="host-2").verify(1)).certificate is not None
        world.evidence.endings = {"tests": EvidenceStatus.NONCONFIRMED}

    world.evidence.during = other_succeeds
    assert codes(await state.verify(1)) == [ReasonCode.COMMAND_NONCONFIRMED]
    assert not await certified(world)


async def test_of_two_verifications_at_once_one_certifies(world: World) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))

    async def other_succeeds() -> None:
        world.evidence.during = None
        assert (await world.state(actor="host-2").verify(1)).certificate is not None

    world.evidence.during = other_succeeds
    assert codes(await state.verify(1)) == [ReasonCode.RACE]
    assert await certified(world)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, VERIFY_CHANGES + 1))
async def test_a_host_that_dies_while_verifying_leaves_the_head_and_no_false_certificate(
    world: World, number: int, *, after: bool, before: bool
) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    if before:
        await state.verify(1)
    head = (await state.get()).view
    dying = StoppingMesh(world.store, stop_at=number, after=after)
    with pytest.raises(Crashed):
        await world.state(dying).verify(1)
    made = number if after else number - 1
    assert await certified(world) == (made >= 2 or (made == 0 and before))
    assert (await state.get()).view == head
    assert (await state.verify(1)).certificate is not None


@pytest.mark.parametrize("number", range(1, VERIFY_CHANGES + 1))
async def test_a_host_that_dies_while_failing_a_head_leaves_no_certificate(world: World, number: int) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    await state.verify(1)
    world.evidence.endings = {"tests": EvidenceStatus.NONCONFIRMED}
    with pytest.raises(Crashed):
        await world.state(StoppingMesh(world.store, stop_at=number)).verify(1)
    assert await certified(world) == (number == 1)


async def test_a_cancelled_verification_certifies_nothing(world: World) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    await state.verify(1)
    running = asyncio.Event()

    async def hang() -> None:
        running.set()
        await asyncio.Event().wait()

    world.evidence.during = hang
    verifying = asyncio.ensure_future(state.verify(1))
    await running.wait()
    verifying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await verifying
    assert not await certified(world)


async def test_an_event_that_is_not_kept_does_not_undo_a_certificate(world: World) -> None:
    await world.state().transition(move("review", 0, "tests"))
    failing = StoppingMesh(world.store, stop_at=3, error=StorageError("full"))
    assert (await world.state(failing).verify(1)).certificate is not None
    assert await certified(world)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("state/head", {"format": 2}, "state/head"),
        ("state/head", "nonsense", "state/head"),
        ("state/proposal/t1", None, "its proposal is gone"),
        ("state/proposal/t1", {"summary": "changed"}, "does not have the proof that the head holds"),
        ("state/proposal/t1", {"to": "released"}, "does not have the proof that the head holds"),
        ("state/proposal/t1", {"data": 2**60}, "does not have the proof that the head holds"),
        ("state/proposal/t1", "nonsense", "a record of the head"),
        ("state/decision/t1", None, "no commit marker"),
        ("state/decision/t1", {"outcome": "discarded"}, "no commit marker"),
        ("state/decision/t1", {"proof": "0" * 64}, "no commit marker"),
        ("state/certificate", {"format": 2}, "the certificate cannot be read"),
    ],
)
async def test_records_that_do_not_fit_are_damage_and_nothing_is_built_on_them(
    world: World, key: str, value: Any, what: str
) -> None:
    state = world.state()
    await state.transition(move("review", 0, "tests"))
    await state.verify(1)
    world.evidence.ran.clear()
    entry = await world.store.get(key)
    assert entry is not None
    if value is None:
        await world.store.delete(key)
    else:
        await world.store.put(key, {**entry.value, **value} if isinstance(value, dict) else value)
    before = await world.store.list()
    status = await state.get()
    assert ReasonCode.DAMAGED in codes(status)
    assert what in "".join(reason.detail for reason in status.reasons)
    if key != "state/certificate":
        assert ReasonCode.DAMAGED in codes(await state.verify(1))
        for failing in (
            state.transition(move("next", 1)),
            state.binding(),
            state.commands(1),
            state.history(),
        ):
            with pytest.raises(StateError, match="damaged"):
                await failing
        assert world.evidence.ran == []
        assert await world.store.list() == before
