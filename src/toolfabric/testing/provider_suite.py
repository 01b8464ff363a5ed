"""What every provider must show: run it over yours.

The suite is told how to make the provider, and calls that are typical of it::

    findings = await check_provider_contract(
        lambda: MyProvider(folder),
        [
            ProviderCase("hello", {"whom": "Ada"}),
            ProviderCase("hello", {"whom": ""}, fails=True),
            ProviderCase("listen", {}, hangs=True),
        ],
        cwd=folder,
        watch=lambda: sorted(folder.rglob("*")),
    )
    assert findings == []

Each finding names the check, the action and what did not hold, in words. ``watch`` returns a picture of
what the provider could change; whatever must not act is held to it. The suite needs no test runner; it
runs on asyncio, and nothing that the provider does makes it hang for longer than the bounds given.

The checks, in order, are in ``CHECKS``. They hold what ``toolfabric.protocols.Provider`` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from toolfabric._base.attempt import Attempt, Raised, attempt
from toolfabric._base.json_form import NotJsonError, json_size
from toolfabric._base.supervise import abandoned, supervised
from toolfabric._base.text import one_line, told
from toolfabric._base.validation import compile_schema
from toolfabric.errors import MountError
from toolfabric.protocols import CallContext, Provider
from toolfabric.registry.bindings import Action
from toolfabric.registry.descriptors import bind, check_provider
from toolfabric.values import NESTED_TOOL_CALL_ID_PREFIX, ActionSpec, Json, JsonObject, Origin

__all__ = ["CHECKS", "Finding", "ProviderCase", "check_provider_contract"]

_UNKNOWN: Final = "no_such_action"
_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class ProviderCase:
    """One call that is typical of a provider.

    Args:
        action: The action's name.
        args: Its arguments, in any form that ``prepare_arguments`` understands.
        fails: The call is refused by the provider itself: it must raise, and not answer.
        hangs: The call goes on until it is cancelled.
        again: The call may be made several times at once with the same result in kind.
    """

    action: str
    args: JsonObject = field(default_factory=dict[str, Json])
    fails: bool = False
    hangs: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that did not hold."""

    check: str
    action: str | None
    problem: str

    def __str__(self) -> str:
        where = "" if self.action is None else f" {self.action}"
        return f"{self.check}{where}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """What the checks share: one provider, the calls, and how to make them."""

    provider: Provider
    cases: Sequence[ProviderCase]
    context: CallContext
    watch: Callable[[], object]
    seconds: float
    moment: float
    grace: float
    actions: Mapping[str, Action]

    def member(self, name: str) -> Callable[..., Any] | None:
        """An optional member, if the provider has it."""
        return cast("Callable[..., Any] | None", getattr(self.provider, name, None))

    async def tried(self, function: Callable[..., Any], *args: object) -> Attempt:
        """Call the provider's own code. What hangs counts as raised."""
        try:
            return await attempt(function, *args, within=self.seconds)
        except TimeoutError:
            return Raised(TimeoutError(f"it did not end within {self.seconds:g} s"))

    async def prepared(self, case: ProviderCase) -> JsonObject | None:
        """The arguments as they reach ``invoke``, or nothing where preparing them fails."""
        member = self.member("prepare_arguments")
        args = deepcopy(case.args)
        if member is None:
            return args
        answer = await self.tried(member, case.action, args)
        return None if isinstance(answer, Raised) else cast("JsonObject", answer.value)

    async def invoked(self, case: ProviderCase, args: JsonObject) -> Attempt:
        """Make one call as the pipeline does."""
        return await self.tried(self.provider.invoke, case.action, args, self.context)

    def calls(self) -> list[ProviderCase]:
        """The cases that should succeed."""
        return [case for case in self.cases if not case.fails and not case.hangs]


_Problem: TypeAlias = tuple[str | None, str]
_Check: TypeAlias = Callable[[_Bench], AsyncIterator[_Problem]]


async def check_provider_contract(
    make: Callable[[], Provider],
    cases: Sequence[ProviderCase] = (),
    *,
    cwd: Path,
    watch: Callable[[], object] = lambda: None,
    seconds: float = 30.0,
    moment: float = 0.3,
    grace: float = 5.0,
) -> list[Finding]:
    """Run a provider through every check of the contract.

    Args:
        make: Makes a fresh provider; called once. If it can be mounted, it is closed at the end.
        cases: Typical calls, made in this order.
        cwd: The folder that calls are told to work in.
        watch: A picture of what the provider could change, comparable with ``==``.
        seconds: How long one call may take.
        moment: After how long a call that hangs is cancelled.
        grace: How long a cancelled call may take to end.

    Returns:
        What did not hold; nothing if all did.
    """
    provider = make()
    try:
        check_provider(provider)
        bench = _Bench(
            provider=provider,
            cases=cases,
            context=CallContext(invocation_id="contract", call_id=f"{NESTED_TOOL_CALL_ID_PREFIX}1", cwd=cwd),
            watch=watch,
            seconds=seconds,
            moment=moment,
            grace=grace,
            actions=await _actions(provider, seconds),
        )
    except MountError as error:
        return [Finding(check="can be mounted", action=None, problem=str(error))]
    missing = [case.action for case in cases if case.action not in bench.actions]
    if missing:
        problem = f"the case is about an action that is not listed: {one_line(missing[0])}"
        return [Finding(check="cases", action=missing[0], problem=problem)]
    return [
        Finding(check=name, action=action, problem=problem)
        for name, check in CHECKS.items()
        async for action, problem in check(bench)
    ]


async def _actions(provider: Provider, seconds: float) -> Mapping[str, Action]:
    try:
        answer = await attempt(provider.list, within=seconds)
    except TimeoutError as error:
        raise MountError(f"list() did not end within {seconds:g} s") from error
    if isinstance(answer, Raised):
        raise MountError(f"list() raised {told(answer.error)}") from answer.error
    return bind(provider, answer.value, origin=Origin.THIRD_PARTY, generation=1).actions


async def _lists_alike(bench: _Bench) -> AsyncIterator[_Problem]:
    """Listing twice gives the same, unless something changed, and nothing is changed by it."""
    before = bench.watch()
    try:
        again = await _actions(bench.provider, bench.seconds)
    except MountError as error:
        yield None, f"the second list cannot be mounted: {error}"
        return
    if {name: one.digest for name, one in again.items()} != {
        name: one.digest for name, one in bench.actions.items()
    }:
        yield None, "list() gives other descriptors the second time"
    if bench.watch() != before:
        yield None, "list() changed something"
    if not bench.provider.description.strip():
        yield None, "the provider has no description"
    for name, action in again.items():
        if not action.spec.description.strip():
            yield name, "the action has no description"


async def _describes_what_it_lists(bench: _Bench) -> AsyncIterator[_Problem]:
    for name, action in bench.actions.items():
        answer = await bench.tried(bench.provider.describe, name)
        if isinstance(answer, Raised):
            yield name, f"describe() raised {told(answer.error)}"
        elif not isinstance(answer.value, ActionSpec):
            yield name, "describe() does not know an action that is listed"
        elif _digest(bench.provider, answer.value) != action.digest:
            yield name, "describe() gives another descriptor than list()"
    answer = await bench.tried(bench.provider.describe, _UNKNOWN)
    if isinstance(answer, Raised) or answer.value is not None:
        yield _UNKNOWN, "describe() must return None for an unknown action"


def _digest(provider: Provider, spec: ActionSpec) -> str | None:
    try:
        found = bind(provider, [spec], origin=Origin.THIRD_PARTY, generation=1).actions
    except MountError:
        return None
    return next(iter(found.values())).digest


async def _prepares_without_acting(bench: _Bench) -> AsyncIterator[_Problem]:
    member = bench.member("prepare_arguments")
    if member is None:
        return
    for case in bench.cases:
        before, args = bench.watch(), deepcopy(case.args)
        first = await bench.tried(member, case.action, args)
        second = await bench.tried(member, case.action, deepcopy(case.args))
        for problem in _acted(bench, before, args, case.args):
            yield case.action, f"prepare_arguments() {problem}"
        problem = _prepared_problem(first, second, may_refuse=case.fails)
        if problem is not None:
            yield case.action, f"prepare_arguments() {problem}"


def _acted(bench: _Bench, before: object, given: Json, args: Json) -> list[str]:
    """What a member did that it must not do: change its input, or anything else."""
    told_of = ["changed its input in place"] if given != args else []
    return [*told_of, "changed something"] if bench.watch() != before else told_of


def _prepared_problem(first: Attempt, second: Attempt, *, may_refuse: bool) -> str | None:
    if isinstance(first, Raised) or isinstance(second, Raised):
        if type(first) is not type(second):
            return "raised once and not the other time"
        return None if may_refuse else f"raised {told(cast('Raised', first).error)}"
    if first.value != second.value:
        return "gives something else the second time"
    is_object = isinstance(first.value, dict) and _json_problem(cast("object", first.value)) is None
    return None if is_object else "must return an object of JSON values"


async def _takes_what_its_schema_says(bench: _Bench) -> AsyncIterator[_Problem]:
    for case in bench.calls():
        args = await bench.prepared(case)
        if args is not None:
            for violation in bench.actions[case.action].validator.violations(args):
                yield case.action, f"the schema refuses the arguments of a case: {violation}"


async def _previews_without_acting(bench: _Bench) -> AsyncIterator[_Problem]:
    member = bench.member("preview")
    if member is None:
        return
    for case in bench.cases:
        args = await bench.prepared(case)
        if args is None:
            continue
        before, given = bench.watch(), deepcopy(args)
        answer = await bench.tried(member, case.action, given)
        problem = _preview_problem(answer)
        if problem is not None:
            yield case.action, f"preview() {problem}"
        for problem in _acted(bench, before, given, args):
            yield case.action, f"preview() {problem}"


def _preview_problem(answer: Attempt) -> str | None:
    if isinstance(answer, Raised):
        return f"raised {told(answer.error)}"
    if answer.value is None:
        return None
    if not isinstance(answer.value, str):
        return "must return text or None"
    safe = all(one.isprintable() or one in "\n\t" for one in answer.value)
    return None if safe else "holds characters that steer a terminal"


async def _answers_in_json(bench: _Bench) -> AsyncIterator[_Problem]:
    for case in bench.calls():
        args = await bench.prepared(case)
        if args is None:
            continue
        given = deepcopy(args)
        answer = await bench.invoked(case, given)
        if isinstance(answer, Raised):
            yield case.action, f"invoke() raised {told(answer.error)}"
            continue
        problem = _json_problem(answer.value) or _schema_problem(bench.actions[case.action], answer.value)
        if problem is not None:
            yield case.action, problem
        if given != args:
            yield case.action, "invoke() changed its arguments in place"


def _json_problem(value: object) -> str | None:
    try:
        json_size(value)
    except NotJsonError as error:
        return f"the result is not JSON: {error}"
    return None


def _schema_problem(action: Action, value: Json) -> str | None:
    if action.spec.output_schema is None:
        return None
    violations = compile_schema(action.spec.output_schema).violations(value)
    return f"the result does not fit the output schema: {violations[0]}" if violations else None


async def _raises_what_it_refuses(bench: _Bench) -> AsyncIterator[_Problem]:
    unknown = ProviderCase(_UNKNOWN)
    for case in (unknown, *(case for case in bench.cases if case.fails)):
        args = {} if case is unknown else await bench.prepared(case)
        if args is None:
            continue  # refused even earlier
        answer = await bench.invoked(case, args)
        if not isinstance(answer, Raised):
            yield case.action, "invoke() must raise, and it returned"
        elif isinstance(answer.error, TimeoutError):
            yield case.action, told(answer.error)
        elif not isinstance(answer.error, Exception):
            yield case.action, f"invoke() raised {type(answer.error).__name__}, which is no Exception"
        elif not str(answer.error).strip():
            yield case.action, f"invoke() raised {type(answer.error).__name__} without a word"


async def _serves_several_at_once(bench: _Bench) -> AsyncIterator[_Problem]:
    for case in bench.calls():
        args = await bench.prepared(case)
        if not case.again or args is None:
            continue
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(bench.invoked(case, deepcopy(args))) for _ in range(_AT_ONCE)]
        failed = [answer for task in tasks if isinstance(answer := task.result(), Raised)]
        if failed:
            yield case.action, f"{len(failed)} of {_AT_ONCE} calls at once raised {told(failed[0].error)}"


async def _ends_when_cancelled(bench: _Bench) -> AsyncIterator[_Problem]:
    for case in bench.cases:
        args = await bench.prepared(case) if case.hangs else None
        if args is None:
            continue
        problem = await _cancelled(bench, case, args)
        if problem is not None:
            yield case.action, problem


async def _cancelled(bench: _Bench, case: ProviderCase, args: JsonObject) -> str | None:
    """Call, cancel after a moment, and see whether anything is left running."""
    left_before = abandoned()
    stop = asyncio.Event()
    asked = CallContext(
        invocation_id=bench.context.invocation_id,
        call_id=bench.context.call_id,
        cwd=bench.context.cwd,
        cancelled=stop.is_set,
    )
    call = attempt(bench.provider.invoke, case.action, args, asked, stop=stop.set)
    try:
        await supervised(call, within=bench.moment, grace=bench.grace)
    except TimeoutError:
        left = abandoned() > left_before
        return f"it was cancelled and had not ended {bench.grace:g} s later" if left else None
    return "it ended by itself, so its cancellation could not be seen"


async def _bears_the_end_of_an_invocation(bench: _Bench) -> AsyncIterator[_Problem]:
    member = bench.member("invocation_ended")
    if member is None:
        return
    known = bench.context.invocation_id
    for label, invocation in (("its own", known), ("the same again", known), ("an unknown one", "unknown")):
        answer = await bench.tried(member, invocation)
        if isinstance(answer, Raised):
            yield None, f"invocation_ended() raised {told(answer.error)} for {label}"


async def _unsubscribes(bench: _Bench) -> AsyncIterator[_Problem]:
    member = bench.member("subscribe")
    if member is None:
        return
    answer = await bench.tried(member, lambda: None)
    if isinstance(answer, Raised):
        yield None, f"subscribe() raised {told(answer.error)}"
    elif not callable(answer.value):
        yield None, "subscribe() must return a function that ends the subscription"
    else:
        for _ in range(2):
            ended = await bench.tried(cast("Callable[[], Awaitable[None] | None]", answer.value))
            if isinstance(ended, Raised):
                yield None, f"ending a subscription raised {told(ended.error)}"


async def _closes_twice(bench: _Bench) -> AsyncIterator[_Problem]:
    member = bench.member("close")
    if member is None:
        return
    for label in ("", " the second time"):
        answer = await bench.tried(member)
        if isinstance(answer, Raised):
            yield None, f"close() raised {told(answer.error)}{label}"


CHECKS: Final[Mapping[str, _Check]] = {
    "lists alike": _lists_alike,
    "describes what it lists": _describes_what_it_lists,
    "prepares without acting": _prepares_without_acting,
    "takes what its schema says": _takes_what_its_schema_says,
    "previews without acting": _previews_without_acting,
    "answers in JSON": _answers_in_json,
    "raises what it refuses": _raises_what_it_refuses,
    "serves several at once": _serves_several_at_once,
    "ends when cancelled": _ends_when_cancelled,
    "bears the end of an invocation": _bears_the_end_of_an_invocation,
    "unsubscribes": _unsubscribes,
    "closes twice": _closes_twice,
}
"""Every check by its name, in the order in which they are run. Closing comes last."""
