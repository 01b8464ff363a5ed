"""What others implement: providers, kernels, guards, approvers, and the machine's edges.

These are contracts only. Real clocks, files and identifiers are in ``_base`` and ``durable``; fakes
and conformance suites that any implementation can be run through are in ``toolfabric.testing``.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from toolfabric.values import ActionSpec, Json, JsonObject, Origin, Outcome, Risk

__all__ = [
    "ActionDeclaration",
    "Approval",
    "ApprovalRequest",
    "Approver",
    "Bridge",
    "CallContext",
    "Clock",
    "Decision",
    "FaultKind",
    "FileOps",
    "Guard",
    "Ids",
    "Kernel",
    "KernelOutcome",
    "Limits",
    "Program",
    "ProgramFault",
    "Provider",
    "Verdict",
]


# --- providers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a provider may know of the call it serves.

    ``invocation_id`` names the outer execution, ``call_id`` this call (it starts with
    ``NESTED_TOOL_CALL_ID_PREFIX``). ``deadline`` is on the clock of ``Clock.monotonic``, in
    seconds; cancellation reaches a coroutine as cancellation, and a function run in a thread
    through ``cancelled()``. ``progress`` takes a short line for the person who watches.
    """

    invocation_id: str
    call_id: str
    cwd: Path
    deadline: float | None = None
    cancelled: Callable[[], bool] = lambda: False
    progress: Callable[[str], None] = lambda _line: None


@runtime_checkable
class Provider(Protocol):
    """A named group of actions.

    Every member that is called may be a plain function or a coroutine function. A plain one is run in
    a worker thread, so it may block, and must not touch the event loop. ``invoke`` gets arguments that
    the declared schema accepted and returns a JSON value, made of plain lists, dictionaries and
    scalars. Any exception means that the call failed.

    Optional members, looked up by name and absent by default:

    - ``prepare_arguments(name, args) -> args``: the provider's own reshaping of old argument forms.
      It must not act; an exception is final. It must not change its input in place.
    - ``preview(name, args) -> str | None``: what the call would do, shown when approval is asked.
      It must not act.
    - ``invocation_ended(invocation_id)``: the outer execution ended, however it ended.
    - ``subscribe(changed)``: ``changed()`` is to be called when the list of actions changed; returns
      a plain function that ends the subscription. ``changed`` may be called from any thread.
    - ``close()``: release everything; no call follows.
    """

    @property
    def name(self) -> str:
        """The first part of every ref: ``[a-z][a-z0-9_-]*``, at most 64 characters."""
        ...

    @property
    def description(self) -> str:
        """One or two sentences for a reader who looks for a tool."""
        ...

    def list(self) -> Sequence[ActionSpec] | Awaitable[Sequence[ActionSpec]]:
        """All actions that can be called now."""
        ...

    def describe(self, name: str) -> ActionSpec | Awaitable[ActionSpec | None] | None:
        """One action by its name, or ``None``."""
        ...

    def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json | Awaitable[Json]:
        """Run one action."""
        ...


# --- policy --------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """What a guard says of a call."""

    ALLOW = "allow"
    WOULD_BLOCK = "would_block"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A guard's verdict with the sentence that explains it."""

    verdict: Verdict
    reason: str = ""


class Guard(Protocol):
    """Decides, before any provider code runs, whether a resolved ref may be called at all.

    A guard that raises refuses the call.
    """

    def decide(self, ref: str, origin: Origin, /) -> Decision:
        """Judge a canonical ref whose binding came from ``origin``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What is asked of the approver: exactly this call and no other.

    ``digest`` is over the ref, the action's descriptor and the arguments, so that a grant cannot
    be used for anything else. ``preview`` is the provider's own account of what would happen.
    """

    ref: str
    risks: tuple[Risk, ...]
    args: JsonObject
    digest: str
    description: str = ""
    effect: str | None = None
    preview: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The approver's answer. ``digest`` repeats the request's; any other digest grants nothing."""

    granted: bool
    digest: str
    reason: str = ""


class Approver(Protocol):
    """Asks a person, or whoever stands for one, when a risk's policy is ``ask``."""

    async def ask(self, request: ApprovalRequest, /) -> Approval:
        """Answer one request; not answering in time is a refusal."""
        ...


# --- kernels -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDeclaration:
    """An action as a program sees it: what names, stubs and type checks are made from."""

    ref: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A guest program with all that it can name.

    ``actions`` become namespaces (``pi.read``); ``tools`` and ``workflow`` are always there and
    cross the bridge as refs of those names (``tools.search``, ``workflow.phase``).
    """

    code: str
    payloads: Mapping[str, str] = field(default_factory=dict[str, str])
    actions: Sequence[ActionDeclaration] = ()
    strict_arguments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program may use. Sizes are in bytes or characters as named, times in milliseconds."""

    timeout_ms: int = 120_000
    memory_bytes: int = 256 * 1024 * 1024
    recursion: int = 1_000
    output_chars: int = 1_000_000
    calls_in_flight: int = 256
    calls: int = 100_000
    value_bytes: int = 64 * 1024 * 1024


class FaultKind(StrEnum):
    """Why a program did not complete."""

    SYNTAX = "syntax"
    TYPES = "types"
    RAISED = "raised"
    TIME = "time"
    MEMORY = "memory"
    RECURSION = "recursion"
    OUTPUT = "output"
    CALLS = "calls"
    VALUE = "value"
    CANCELLED = "cancelled"
    SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFault:
    """One reason for failure, in the lines and columns (from 1) of the user's own program.

    ``message`` may hold text of the program: it is for the caller, never for a durable record.
    ``hint`` says what to write instead, where that is known.
    """

    kind: FaultKind
    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOutcome:
    """How a program ended. ``notes`` are remarks that did not stop it."""

    outcome: Outcome
    value: Json = None
    faults: tuple[ProgramFault, ...] = ()
    notes: tuple[ProgramFault, ...] = ()


class Bridge(Protocol):
    """The only way out of a sandbox.

    ``call`` is entered in the order in which the program issued its calls. It raises ``CallError``;
    the kernel turns that into an exception the guest can catch. ``log`` takes printed text.
    """

    async def call(self, ref: str, args: Json, /) -> Json:
        """Make one host call and return its JSON value."""
        ...

    def log(self, text: str, /) -> None:
        """Keep what the program printed."""
        ...


class Kernel(Protocol):
    """Runs guest programs without ambient authority.

    A breach of ``limits`` or an error of the program is an outcome, never an exception. When
    ``run`` is cancelled or returns, no host coroutine that it started is still running.
    """

    @property
    def name(self) -> str:
        """The name by which configuration chooses it."""
        ...

    async def run(self, program: Program, bridge: Bridge, limits: Limits, /) -> KernelOutcome:
        """Run one program to its end.

        Raises:
            KernelError: The sandbox itself could not be started or broke its own protocol.
        """
        ...

    async def close(self) -> None:
        """End all workers. Safe to call twice."""
        ...


# --- the machine ---------------------------------------------------------------------------------


class Clock(Protocol):
    """Time, injected so that tests own it."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; the clock of the event loop."""
        ...


class Ids(Protocol):
    """Fresh identifiers, injected so that tests can foresee them."""

    def session(self) -> str:
        """A new session id, sortable by time (UUID version 7 in text form)."""
        ...

    def entry(self) -> str:
        """A new record id: eight lower-case hexadecimal digits."""
        ...


class FileOps(Protocol):
    """The system calls that change files, one method each, so that a test can fail any of them.

    Signatures and errors are those of the functions of the same name in ``os``. Reading needs no
    injection and uses ``os`` and ``pathlib`` as they are.
    """

    def open(
        self, path: str | os.PathLike[str], flags: int, mode: int = 0o600, *, dir_fd: int | None = None
    ) -> int: ...
    def write(self, fd: int, data: bytes | memoryview) -> int: ...
    def fsync(self, fd: int) -> None: ...
    def ftruncate(self, fd: int, length: int) -> None: ...
    def fchmod(self, fd: int, mode: int) -> None: ...
    def close(self, fd: int) -> None: ...
    def mkdir(
        self, path: str | os.PathLike[str], mode: int = 0o700, *, dir_fd: int | None = None
    ) -> None: ...
    def mkfifo(
        self, path: str | os.PathLike[str], mode: int = 0o600, *, dir_fd: int | None = None
    ) -> None: ...
    def replace(
        self,
        src: str | os.PathLike[str],
        dst: str | os.PathLike[str],
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None: ...
    def unlink(self, path: str | os.PathLike[str], *, dir_fd: int | None = None) -> None: ...
    def rmdir(self, path: str | os.PathLike[str], *, dir_fd: int | None = None) -> None: ...
