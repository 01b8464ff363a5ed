"""The thread's side of one run: drives a session of the sandbox from one suspension to the next.

Every call of the program is answered with a future at once and posted to the desk, so calls overlap and
are made in the order in which the program made them. When the program cannot go on, it is given the
answers that have come. Nothing here touches the event loop but ``Desk.post``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final, Literal
from uuid import UUID

from pydantic_monty import (
    ClassInstance,
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    MontyComplete,
    MontySession,
    NameLookupSnapshot,
    SyncSnapshot,
)

from toolfabric.kernels.crossing import NotJsonError, TooLargeError, cross
from toolfabric.kernels.desk import Answer, Call, Desk, Nap, Printed
from toolfabric.kernels.names import GuestError, Namespace, read_call
from toolfabric.kernels.prelude import HOST_WORKFLOW
from toolfabric.protocols import FaultKind, Limits, ProgramFault

__all__ = ["Breach", "Drive", "Ended"]

_SLEEP: Final = "system.async_sleep"


class Breach(Exception):  # noqa: N818 -- not an error of ours: the program went past a limit
    """The program went past a limit that is counted here."""

    def __init__(self, kind: FaultKind, message: str, hint: str | None = None) -> None:
        super().__init__(kind, message, hint)
        self.fault = ProgramFault(kind=kind, message=message, hint=hint)


class Ended(Exception):  # noqa: N818 -- as above
    """The run was ended from outside while the program waited."""


@dataclass(frozen=True, slots=True)
class Action:
    """What the program holds when it holds a namespace or an action."""

    ref: str

    def __repr__(self) -> str:
        return f"<action {self.ref}>"


class Drive:
    """Drives one program. ``answers`` carries ends of calls, and ``None`` for "end the run"."""

    def __init__(
        self,
        desk: Desk,
        answers: SimpleQueue[Answer | None],
        *,
        names: Mapping[str, Namespace],
        limits: Limits,
    ) -> None:
        self._desk = desk
        self._answers = answers
        self._names = names
        self._limits = limits
        self._numbers = itertools.count(1)
        self._instances: dict[str, ClassInstance] = {}
        self._refs: dict[UUID, str] = {}
        self._nodes: dict[str, Namespace] = {}
        self._ready: dict[int, Answer] = {}
        self._waiting: set[int] = set()
        self._printed = 0
        self.breach: Breach | None = None

    def run(self, session: MontySession, code: str, payloads: Mapping[str, str], *, checked: bool) -> Any:
        """Run a program in a session that has read the prelude, and give its value.

        Raises:
            Breach: It went past a limit that is counted here.
            Ended: The run was ended from outside.
            pydantic_monty.MontyError: The program failed, or the sandbox did.
        """
        snapshot: SyncSnapshot = session.feed_start(
            code,
            inputs={"payloads": dict(payloads)},
            print_callback=self._print,
            skip_type_check=checked,
        )
        while not isinstance(snapshot, MontyComplete):
            if self.breach is not None:
                raise self.breach
            snapshot = self._step(snapshot)
        if self.breach is not None:
            raise self.breach
        return snapshot.output

    def _step(self, snapshot: SyncSnapshot) -> SyncSnapshot:
        match snapshot:
            case NameLookupSnapshot():
                return self._look_up(snapshot)
            case FunctionSnapshot():
                return self._call(snapshot)
            case FutureSnapshot():
                return snapshot.resume(self._settled(snapshot.pending_call_ids))
            case MontyComplete():
                return snapshot

    # --- names -----------------------------------------------------------------------------------

    def _look_up(self, snapshot: NameLookupSnapshot) -> SyncSnapshot:
        name, holder = snapshot.variable_name, snapshot.object_id
        if holder is not None:
            ref = self._member(self._refs[holder], name)
            return snapshot.resume() if ref is None else snapshot.resume(value=self._instance(ref))
        if name == HOST_WORKFLOW:
            return snapshot.resume(value=self._instance("workflow"))
        if name in self._names:
            node = self._names[name]
            self._nodes[node.path] = node
            return snapshot.resume(value=self._instance(node.path))
        return snapshot.resume()

    def _member(self, ref: str, name: str) -> str | None:
        """The ref of an attribute; one that no action has goes to the registry, which records it."""
        node = self._nodes.get(ref) or self._names.get(ref)
        if node is None:
            return f"{ref}.{name}"
        member = node.members.get(name)
        if member is not None:
            self._nodes[member.path] = member
            return member.path
        return None if node.is_fixed else f"{ref}.{name}"

    def _instance(self, ref: str) -> ClassInstance:
        made = self._instances.get(ref)
        if made is None:
            made = ClassInstance(Action(ref), lazy_attrs="all", allowed_methods="all")
            self._instances[ref] = made
            self._refs[made.id] = ref
        return made

    # --- calls -----------------------------------------------------------------------------------

    def _call(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        if snapshot.is_os_function:
            return self._system(snapshot)
        try:
            ref = self._called(snapshot)
            args, _size = cross(
                read_call(ref, snapshot.args, snapshot.kwargs), limit=self._limits.value_bytes
            )
        except GuestError as error:
            return snapshot.resume({"exc_type": _exception(error.kind), "message": error.message})
        except NotJsonError as error:
            return snapshot.resume({"exc_type": "TypeError", "message": f"{error}; {error.hint}"})
        except TooLargeError as error:
            raise Breach(FaultKind.VALUE, f"the arguments of a call are {error}") from error
        number = next(self._numbers)
        if number > self._limits.calls:
            raise Breach(FaultKind.CALLS, f"it made more than {self._limits.calls:,} calls")
        while len(self._waiting) >= self._limits.calls_in_flight:
            self._take()
        self._waiting.add(snapshot.call_id)
        self._desk.post(Call(snapshot.call_id, ref, args))
        return snapshot.resume({"future": ...})

    def _called(self, snapshot: FunctionSnapshot) -> str:
        holder = snapshot.object_id
        if holder is None or holder not in self._refs:
            raise GuestError("NameError", f"name {str(snapshot.function_name)!r} is not defined")
        ref = self._refs[holder]
        name = str(snapshot.function_name)
        if name == "__call__":
            return ref
        member = self._member(ref, name)
        if member is None:
            there = ", ".join(self._nodes[ref].members if ref in self._nodes else self._names[ref].members)
            raise GuestError("AttributeError", f"{ref} has no {name}; there are: {there}")
        return member

    def _system(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        if snapshot.function_name != _SLEEP:
            return snapshot.resume_not_handled()
        seconds = snapshot.args[0] if snapshot.args else 0
        self._waiting.add(snapshot.call_id)
        self._desk.post(Nap(snapshot.call_id, float(max(seconds, 0))))
        return snapshot.resume({"future": ...})

    # --- answers ---------------------------------------------------------------------------------

    def _settled(self, pending: list[int]) -> dict[int, ExternalSettledResult]:
        """The answers for what the program waits for, as soon as there is one."""
        while True:
            while not self._answers.empty():
                self._take()
            ready = [number for number in pending if number in self._ready]
            if ready:
                return {number: _result(self._ready.pop(number)) for number in ready}
            self._take()

    def _take(self) -> None:
        answer = self._answers.get()
        if answer is None:
            raise Ended
        self._waiting.discard(answer.number)
        self._ready[answer.number] = answer

    # --- printing --------------------------------------------------------------------------------

    def _print(self, _stream: Literal["stdout", "stderr"], text: str) -> None:
        if self.breach is not None:
            return
        self._printed += len(text)
        if self._printed > self._limits.output_chars:
            self.breach = Breach(
                FaultKind.OUTPUT, f"it printed more than {self._limits.output_chars:,} characters"
            )
            raise self.breach
        self._desk.post(Printed(text))


def _result(answer: Answer) -> ExternalSettledResult:
    failure = answer.failure
    if failure is None:
        return {"return_value": answer.value}
    return {"exc_type": _exception(failure.kind), "message": failure.message}


def _exception(kind: str) -> Any:
    """The name of a builtin exception, of those that ``names`` and ``desk`` use."""
    return kind
