"""Each check of the provider suite finds a provider that breaks it, and nothing else does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from toolfabric.protocols import CallContext, Provider
from toolfabric.testing.provider_suite import CHECKS, Finding, ProviderCase, check_provider_contract
from toolfabric.values import ActionSpec, Json, JsonObject, Risk

pytestmark = pytest.mark.anyio

ECHO = ActionSpec(
    name="echo",
    description="Give a text back.",
    risk=Risk.READ,
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {"text": {"type": "string"}},
    },
    output_schema={"type": "string"},
)
WAIT = ActionSpec(name="wait", description="Wait.", risk=Risk.READ, input_schema={"type": "object"})
CASES = [
    ProviderCase("echo", {"text": "a"}, again=True),
    ProviderCase("echo", {"text": "refused"}, fails=True),
    ProviderCase("wait", hangs=True),
]


class Good:
    """A provider that keeps the contract; the others break one thing of it."""

    world: ClassVar[list[str]] = []
    name = "good"
    description = "For the suite's own test."

    def list(self) -> Sequence[ActionSpec]:
        return [ECHO, WAIT]

    def describe(self, name: str) -> ActionSpec | None:
        return next((spec for spec in self.list() if spec.name == name), None)

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        if name == "wait":
            await asyncio.Event().wait()
        if name != "echo" or args["text"] == "refused":
            msg = "refused"
            raise ValueError(msg)
        return args["text"]

    def prepare_arguments(self, name: str, args: JsonObject) -> JsonObject:
        return {**args}

    def preview(self, name: str, args: JsonObject) -> str | None:
        return None if name == "wait" else f"echo {args['text']}\n"

    def invocation_ended(self, invocation_id: str) -> None:
        pass

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def close(self) -> None:
        pass


class Plain(Good):
    """The same, in a thread."""

    def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:  # pyright: ignore[reportIncompatibleMethodOverride] -- both are allowed
        while name == "wait" and not context.cancelled():
            threading.Event().wait(0.01)
        if name != "echo" or args["text"] == "refused":
            msg = "refused"
            raise ValueError(msg)
        return args["text"]


class Small:
    """Nothing but what must be there."""

    name = "small"
    description = "Only what must be there."

    async def list(self) -> Sequence[ActionSpec]:
        return [ECHO]

    async def describe(self, name: str) -> ActionSpec | None:
        return ECHO if name == "echo" else None

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        if name != "echo":
            msg = "refused"
            raise ValueError(msg)
        return args["text"]


async def found(
    provider: Provider, cases: Sequence[ProviderCase] = CASES, grace: float = 5.0
) -> list[Finding]:
    Good.world.clear()
    return await check_provider_contract(
        lambda: provider,
        cases,
        cwd=Path(),
        watch=lambda: tuple(Good.world),
        seconds=5.0,
        moment=0.05,
        grace=grace,
    )


@pytest.mark.parametrize("make", [Good, Plain])
async def test_a_provider_that_keeps_the_contract_has_no_findings(make: Callable[[], Provider]) -> None:
    assert await found(make()) == []


async def test_optional_members_may_be_missing() -> None:
    assert await found(Small(), CASES[:1]) == []


def broken(**members: Any) -> Callable[[], Provider]:
    """A class like ``Good`` with other members."""
    return type("Broken", (Good,), members)


def acting(result: Any) -> Callable[..., Any]:
    def member(self: Good, *args: Any) -> Any:
        Good.world.append("acted")
        return args[-1] if result is ... else result

    return member


def raising(error: BaseException) -> Callable[..., Any]:
    def member(self: Good, *args: Any) -> Any:
        raise error

    return member


def changing(result: Callable[[JsonObject], Any]) -> Callable[..., Any]:
    def member(self: Good, name: str, args: JsonObject, *more: Any) -> Any:
        if name == "wait":
            return Good.invoke(self, name, args, *more) if more else args
        text = args.get("text")
        if name != "echo" or (more and text == "refused"):
            msg = "refused"
            raise ValueError(msg)
        args["text"] = "changed"
        return result({"text": text})

    return member


def giving(value: Any) -> Callable[..., Any]:
    def member(*_args: Any) -> Any:
        return value

    return member


def choosing(known: dict[str, ActionSpec], otherwise: ActionSpec | None = None) -> Callable[..., Any]:
    def describe(self: Good, name: str) -> ActionSpec | None:
        return known.get(name, otherwise)

    return describe


def last(*args: Any) -> Any:
    return args[-1]


def never_ending(self: Good, name: str) -> Any:
    return asyncio.Event().wait()


def counted() -> Callable[..., Any]:
    calls: list[int] = []

    def member(self: Good, *args: Any) -> Any:
        calls.append(1)
        return {"text": str(len(calls))}

    return member


def once(answer: Callable[..., Any]) -> Callable[..., Any]:
    calls: list[int] = []

    def member(self: Good, *args: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            msg = "only once"
            raise RuntimeError(msg)
        return answer(*args)

    return member


def invoking(echo: Any) -> Callable[..., Any]:
    """An ``invoke`` that answers an echo in another way."""

    async def invoke(self: Good, name: str, args: JsonObject, context: CallContext) -> Any:
        if name == "echo" and args["text"] != "refused":
            return echo
        return await Good.invoke(self, name, args, context)

    return invoke


async def one_at_a_time(self: Good, name: str, args: JsonObject, context: CallContext) -> Json:
    if getattr(self, "busy", False):
        msg = "busy"
        raise RuntimeError(msg)
    self.busy = True  # pyright: ignore[reportAttributeAccessIssue] -- a broken provider's own
    await asyncio.sleep(0)
    self.busy = False  # pyright: ignore[reportAttributeAccessIssue]
    return await Good.invoke(self, name, args, context)


async def deaf(self: Good, name: str, args: JsonObject, context: CallContext) -> Json:
    released = asyncio.Event()
    asyncio.get_running_loop().call_later(1.5, released.set)
    while name == "wait" and not released.is_set():
        try:
            await released.wait()
        except asyncio.CancelledError:
            continue
    return await Good.invoke(self, "echo" if name == "wait" else name, args, context)


async def quick(self: Good, name: str, args: JsonObject, context: CallContext) -> Json:
    return None if name == "wait" else await Good.invoke(self, name, args, context)


async def accepting(self: Good, name: str, args: JsonObject, context: CallContext) -> Json:
    return await Good.invoke(self, name, args, context) if name == "wait" else str(args.get("text", ""))


async def leaving(self: Good, name: str, args: JsonObject, context: CallContext) -> Json:
    if name not in {"echo", "wait"}:
        raise SystemExit
    return await Good.invoke(self, name, args, context)


async def silent(self: Good, name: str, args: JsonObject, context: CallContext) -> Json:
    if name not in {"echo", "wait"}:
        raise ValueError
    return await Good.invoke(self, name, args, context)


def growing() -> Callable[..., Any]:
    listed = [ECHO]

    def member(self: Good) -> Any:
        listed.append(WAIT)
        return listed[-2:] if len(listed) == 2 else listed[:1]

    return member


NO_WORDS = ActionSpec(name="echo", description=" ", risk=Risk.READ, input_schema=ECHO.input_schema)
OTHER = ActionSpec(name="echo", description="Another.", risk=Risk.WRITE, input_schema=ECHO.input_schema)
BAD = ActionSpec(name="echo", description="x", risk=Risk.READ, input_schema={"type": "nonsense"})

BROKEN: list[tuple[str, Callable[[], Provider], str, str]] = [
    ("no name", broken(name="Not A Name"), "can be mounted", "a name is"),
    ("bad schema", broken(list=giving([BAD])), "can be mounted", "input schema"),
    ("twice", broken(list=giving([ECHO, ECHO])), "can be mounted", "listed twice"),
    ("list raises", broken(list=raising(ValueError("no"))), "can be mounted", "list() raised"),
    ("list acts", broken(list=acting([ECHO, WAIT])), "lists alike", "changed something"),
    ("list grows", broken(list=growing(), describe=Good.describe), "lists alike", "the second time"),
    ("no description", broken(description=" "), "lists alike", "the provider has no description"),
    (
        "no words",
        broken(list=giving([NO_WORDS, WAIT])),
        "lists alike",
        "the action has no description",
    ),
    ("unlisted", broken(describe=giving(None)), "describes what it lists", "does not know"),
    (
        "other",
        broken(describe=choosing({"echo": OTHER, "wait": WAIT})),
        "describes what it lists",
        "another descriptor",
    ),
    (
        "knows all",
        broken(describe=choosing({"wait": WAIT}, ECHO)),
        "describes what it lists",
        "unknown action",
    ),
    (
        "describe raises",
        broken(describe=raising(KeyError("x"))),
        "describes what it lists",
        "describe() raised",
    ),
    ("prepare acts", broken(prepare_arguments=acting(...)), "prepares without acting", "changed something"),
    (
        "prepare in place",
        broken(prepare_arguments=changing(dict)),
        "prepares without acting",
        "changed its input in place",
    ),
    ("prepare counts", broken(prepare_arguments=counted()), "prepares without acting", "the second time"),
    (
        "prepare once",
        broken(prepare_arguments=once(last)),
        "prepares without acting",
        "raised once",
    ),
    (
        "prepare raises",
        broken(prepare_arguments=raising(ValueError("no"))),
        "prepares without acting",
        "raised ValueError: no",
    ),
    (
        "prepare gives none",
        broken(prepare_arguments=giving({"text": {1, 2}})),
        "prepares without acting",
        "an object of JSON values",
    ),
    (
        "prepare misfits",
        broken(prepare_arguments=giving({"txt": "a"})),
        "takes what its schema says",
        "the schema refuses",
    ),
    ("preview acts", broken(preview=acting("x")), "previews without acting", "changed something"),
    ("preview in place", broken(preview=changing(str)), "previews without acting", "changed its input"),
    ("preview raises", broken(preview=raising(ValueError("no"))), "previews without acting", "raised"),
    ("preview number", broken(preview=giving(3)), "previews without acting", "text or None"),
    (
        "preview steers",
        broken(preview=giving("\x1b[2J")),
        "previews without acting",
        "steer",
    ),
    ("no json", broken(invoke=invoking({1})), "answers in JSON", "the result is not JSON"),
    ("no text", broken(invoke=invoking(3)), "answers in JSON", "does not fit the output schema"),
    ("invoke in place", broken(invoke=changing(lambda args: args["text"])), "answers in JSON", "in place"),
    ("accepts", broken(invoke=accepting), "raises what it refuses", "must raise"),
    ("leaves", broken(invoke=leaving), "raises what it refuses", "SystemExit, which is no Exception"),
    ("silent", broken(invoke=silent), "raises what it refuses", "without a word"),
    ("one at a time", broken(invoke=one_at_a_time), "serves several at once", "at once raised"),
    ("deaf", broken(invoke=deaf), "ends when cancelled", "had not ended"),
    ("quick", broken(invoke=quick), "ends when cancelled", "ended by itself"),
    (
        "ended once",
        broken(invocation_ended=once(giving(None))),
        "bears the end of an invocation",
        "for the same again",
    ),
    ("subscribe raises", broken(subscribe=raising(ValueError("no"))), "unsubscribes", "subscribe() raised"),
    (
        "subscribe nothing",
        broken(subscribe=giving(None)),
        "unsubscribes",
        "must return a function",
    ),
    (
        "unsubscribe once",
        broken(subscribe=giving(iter([None]).__next__)),
        "unsubscribes",
        "ending a subscription",
    ),
    ("close once", broken(close=once(giving(None))), "closes twice", "the second time"),
]


@pytest.mark.parametrize(
    ("make", "check", "problem"), [one[1:] for one in BROKEN], ids=[one[0] for one in BROKEN]
)
async def test_what_breaks_the_contract_is_found_by_its_check(
    make: Callable[[], Provider], check: str, problem: str
) -> None:
    findings = await found(make(), grace=0.01)
    assert [one for one in findings if one.check == check and problem in one.problem], [*map(str, findings)]


def test_every_check_is_shown_to_find_something() -> None:
    assert {check for _, _, check, _ in BROKEN} == {*CHECKS, "can be mounted"}


async def test_what_never_answers_is_a_finding_and_does_not_hang_the_suite() -> None:
    never = broken(describe=never_ending)
    findings = await check_provider_contract(never, [], cwd=Path(), seconds=0.05, grace=0.05)
    assert "did not end within 0.05 s" in str(findings[0])


async def test_a_case_about_an_action_that_is_not_listed_is_told() -> None:
    (finding,) = await found(Good(), [ProviderCase("ecko")])
    assert str(finding) == "cases ecko: the case is about an action that is not listed: ecko"
