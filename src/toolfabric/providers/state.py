"""The ``state`` provider: where the work stands, as actions.

Descriptors and mapping only: how the head moves and what certifies it is in ``toolfabric.state``.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from toolfabric._base.declare import closed_object, count, flag, text
from toolfabric.errors import FabricError, InvokeError
from toolfabric.protocols import CallContext
from toolfabric.state.control import State
from toolfabric.state.history import Step
from toolfabric.state.records import Blocked, ComplexityLimit, EvidenceCommand, Move, Reason
from toolfabric.values import ActionSpec, Json, JsonObject, Risk

__all__ = ["StateProvider"]

_DEFAULT_TIMEOUT_MS: Final = 30_000
_DEFAULT_STEPS: Final = 20
_MAX_STEPS: Final = 100
_LABEL_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9 _.:/-]{0,99}$"


def _text(description: str, most: int | None = None) -> JsonObject:
    made = text(description)
    return made if most is None else {**made, "maxLength": most}


def _label(description: str) -> JsonObject:
    return {"type": "string", "pattern": _LABEL_PATTERN, "description": description}


def _list(items: JsonObject, description: str, *, least: int = 0, most: int | None = None) -> JsonObject:
    made: JsonObject = {"type": "array", "items": items, "description": description, "minItems": least}
    return made if most is None else {**made, "maxItems": most}


def _or_null(schema: JsonObject) -> JsonObject:
    return {"anyOf": [schema, {"type": "null"}]}


_LIMITS: Final = _list(
    closed_object(
        {"path": _text("A source file of the workspace"), "atMost": count("Decision points")},
        "path",
        "atMost",
    ),
    "Source files that have at most so many decision points",
    most=100,
)
_COMMANDS: Final = _list(
    closed_object(
        {
            "name": _label("What it shows"),
            "command": _text("The program; no shell reads it"),
            "args": _list(_text("One argument", 4_096), "Its arguments; none by default", most=64),
            "timeoutMs": {
                **count("Milliseconds that it may take; 30000 by default", 1_000),
                "maximum": 600_000,
            },
        },
        "name",
        "command",
    ),
    "Programs that must end with exit code 0; 'state.verify' runs them, and nothing else does",
    most=16,
)
_BINDING: Final = closed_object(
    {
        "transitionId": _text("The transition that led here"),
        "version": count("How many transitions led here", 1),
        "to": _text("The state"),
    },
    "transitionId",
    "version",
    "to",
)
_REASONS: Final = _list(
    closed_object(
        {"code": _text("The reason in one word"), "detail": _text("The reason for people")}, "code", "detail"
    ),
    "Every reason; empty when there is none",
)
_DATED: Final[JsonObject] = {"type": "object"}

_SPECS: Final = (
    ActionSpec(
        name="transition",
        description=(
            "Move the state of the work, if it is at a version, and attach the evidence that would show it. "
            "The evidence is not looked at here: see 'verify'."
        ),
        risk=Risk.WRITE,
        effect="Changes the state of the work that all hosts of the project share",
        input_schema=closed_object(
            {
                "to": _label("The new state, such as 'reviewed'"),
                "summary": _text("What was done, for people", 4_000),
                "ifVersion": count("The version the head is at: 'version' of 'state.get', 0 for none"),
                "commands": _COMMANDS,
                "complexity": _LIMITS,
                "data": {"description": "Any JSON to keep with it"},
            },
            "to",
            "summary",
            "ifVersion",
        ),
        output_schema=closed_object(
            {
                "ok": flag("Whether the head moved"),
                "head": _or_null(_BINDING),
                "from": _or_null(_BINDING),
                "proof": _text("The digest of this transition and all before it"),
                "announced": flag("Whether the event about it was kept too"),
            },
            "ok",
            "head",
        ),
    ),
    ActionSpec(
        name="get",
        description="Where the work stands, and whether that is certified or every reason why not.",
        risk=Risk.READ,
        input_schema=closed_object({}),
        output_schema=closed_object(
            {
                "head": _or_null(_BINDING),
                "version": count("The head's version; 0 when there is none"),
                "certified": flag("Whether a certificate holds for exactly this head"),
                "reasons": _REASONS,
                "transition": _DATED,
                "certificate": _DATED,
                "pending": _DATED,
            },
            "head",
            "version",
            "certified",
            "reasons",
        ),
    ),
    ActionSpec(
        name="history",
        description="The transitions that led to the head, newest first, as far back as they are kept.",
        risk=Risk.READ,
        input_schema=closed_object(
            {
                "limit": {**count("How many at most; 20 by default", 1), "maximum": _MAX_STEPS},
                "cursor": _text("Go on from here: 'cursor' of the last answer"),
            }
        ),
        output_schema=closed_object(
            {
                "transitions": _list(_DATED, "The transitions with 'committedAt' and 'proof'"),
                "cursor": _text("What to go on from; left out when this was all"),
                "archive": _DATED,
            },
            "transitions",
        ),
    ),
    ActionSpec(
        name="complexity",
        description="Count the decision points of TypeScript, JavaScript and Python files.",
        risk=Risk.READ,
        input_schema=closed_object(
            {"paths": _list(_text("A file of the workspace"), "The files", least=1, most=100)}, "paths"
        ),
        output_schema=closed_object(
            {"files": _list(_DATED, "One for each path, in order"), "decisions": count("All together")},
            "files",
            "decisions",
        ),
    ),
    ActionSpec(
        name="verify",
        description=(
            "Run the evidence of the head and certify it, or say every reason why not. All evidence must be "
            "confirmed, and the head must not move meanwhile."
        ),
        risk=Risk.EXECUTE,
        effect="Runs the commands that are attached to the head, in the workspace",
        input_schema=closed_object(
            {"version": count("The version to verify: 'version' of 'state.get'", 1)}, "version"
        ),
        output_schema=closed_object(
            {
                "verified": flag("Whether the head is certified now"),
                "reasons": _REASONS,
                "results": _list(_DATED, "How each command ended, in order"),
                "certificate": _DATED,
            },
            "verified",
            "reasons",
            "results",
        ),
    ),
    ActionSpec(
        name="goal",
        description="Set where the work is to get to, and how that is told.",
        risk=Risk.WRITE,
        effect="Changes the goal that all hosts of the project share",
        input_schema=closed_object(
            {
                "text": _text("The goal, for people", 4_000),
                "to": _label("The state the head must be at"),
                "certified": flag("Whether the head must be certified; false by default"),
                "complexity": _LIMITS,
                "ifVersion": count("Only if the goal is at this version; 0: only if there is none"),
            },
            "text",
        ),
        output_schema=closed_object(
            {
                "ok": flag("Whether it was set"),
                "version": count("The goal's version; if not set, the one that stood in the way"),
            },
            "ok",
            "version",
        ),
    ),
    ActionSpec(
        name="checkGoal",
        description="Whether the goal is reached, or every reason why not.",
        risk=Risk.READ,
        input_schema=closed_object({}),
        output_schema=closed_object(
            {
                "reached": flag("Whether it is"),
                "reasons": _REASONS,
                "goal": _DATED,
                "version": count("The goal's version"),
            },
            "reached",
            "reasons",
        ),
    ),
)
_BY_NAME: Final = {spec.name: spec for spec in _SPECS}


class StateProvider:
    """``transition get history complexity verify goal checkGoal``.

    Args:
        state: The state. What it rests on belongs to the host.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def name(self) -> str:
        """The first part of every ref."""
        return "state"

    @property
    def description(self) -> str:
        """For a reader who looks for a tool."""
        return (
            "Say where the work stands, attach the evidence for it, verify it, and compare it with the goal."
        )

    def list(self) -> Sequence[ActionSpec]:
        """All seven actions."""
        return _SPECS

    def describe(self, name: str) -> ActionSpec | None:
        """One action by its name."""
        return _BY_NAME.get(name)

    async def preview(self, name: str, args: JsonObject) -> str | None:
        """What a change would do; for ``verify``, what it would run.

        Raises:
            StateError: The head is damaged.
            StorageError: The mesh failed.
        """
        match name:
            case "transition":
                return f"Move the state to:\n{_spelled(args)}"
            case "goal":
                return f"Set the goal:\n{_spelled(args)}"
            case "verify":
                commands = await self._state.commands(_int(args, "version"))
                return (
                    _commands_shown(commands)
                    or "Run nothing: the head has no commands, or is at another version"
                )
            case _:
                return None

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Run one action.

        Raises:
            InvokeError: The head is pending or damaged, a file cannot be counted, or the mesh failed.
        """
        del context
        try:
            return await self._run(name, args)
        except InvokeError:
            raise
        except (FabricError, ValueError) as error:
            raise InvokeError(str(error)) from error

    async def _run(self, name: str, args: JsonObject) -> Json:
        match name:
            case "transition":
                return await self._transition(args)
            case "get":
                return await self._get()
            case "history":
                return await self._history(args)
            case "complexity":
                return await self._complexity(args)
            case "verify":
                return await self._verify(args)
            case "goal" | "checkGoal":
                return await (self._goal(args) if name == "goal" else self._check_goal())
            case _:
                msg = f"state has no action {name!r}"
                raise InvokeError(msg)

    async def _transition(self, args: JsonObject) -> Json:
        commands = cast("list[JsonObject]", args.get("commands", []))
        moved = await self._state.transition(
            Move(
                to=str(args["to"]),
                summary=str(args["summary"]),
                if_version=_int(args, "ifVersion"),
                commands=tuple(_command(one) for one in commands),
                complexity=_limits(args),
                data=args.get("data", UNSET),
            )
        )
        if isinstance(moved, Blocked):
            return {"ok": False, "head": None if moved.current is None else moved.current.to_json()}
        return {
            "ok": True,
            "head": moved.binding.to_json(),
            "from": None if moved.source is None else moved.source.to_json(),
            "proof": moved.proof,
            "announced": moved.announced,
        }

    async def _get(self) -> Json:
        status = await self._state.get()
        view = status.view
        answer: JsonObject = {
            "head": None if view.current is None else view.current.to_json(),
            "version": view.version,
            "certified": status.certificate is not None,
            "reasons": _reasons(status.reasons),
        }
        for name, record in (
            ("transition", view.proposal),
            ("certificate", status.certificate),
            ("pending", view.pending),
        ):
            if record is not None:
                answer[name] = record.to_json()
        return answer

    async def _history(self, args: JsonObject) -> Json:
        found = await self._state.history(
            limit=_int(args, "limit", _DEFAULT_STEPS), cursor=cast("str | None", args.get("cursor"))
        )
        answer: JsonObject = {"transitions": [_step(step) for step in found.steps]}
        if found.cursor is not None:
            answer["cursor"] = found.cursor
        if found.archive is not None:
            answer["archive"] = found.archive.to_json()
        return answer

    async def _complexity(self, args: JsonObject) -> Json:
        found = await self._state.complexity(cast("list[str]", args["paths"]))
        files: list[Json] = [one.to_json() for one in found]
        return {"files": files, "decisions": sum(one.decisions for one in found)}

    async def _verify(self, args: JsonObject) -> Json:
        found = await self._state.verify(_int(args, "version"))
        results: list[Json] = [result.to_json() for result in found.results]
        answer: JsonObject = {
            "verified": found.certificate is not None,
            "reasons": _reasons(found.reasons),
            "results": results,
        }
        if found.certificate is not None:
            answer["certificate"] = found.certificate.to_json()
        return answer

    async def _goal(self, args: JsonObject) -> Json:
        swap = await self._state.set_goal(
            str(args["text"]),
            to=str(args["to"]) if "to" in args else UNSET,
            certified=args.get("certified") is True,
            complexity=_limits(args),
            if_version=_int(args, "ifVersion") if "ifVersion" in args else None,
        )
        return {"ok": swap.done, "version": swap.version}

    async def _check_goal(self) -> Json:
        found = await self._state.check_goal()
        answer: JsonObject = {"reached": found.reached, "reasons": _reasons(found.reasons)}
        if found.goal is not None:
            answer |= {"goal": found.goal.record.to_json(), "version": found.goal.version}
        return answer


def _int(args: JsonObject, name: str, default: int = 0) -> int:
    # A whole number may come as 2.0: JSON Schema takes it for an integer.
    return int(cast("float", args.get(name, default)))


def _command(given: JsonObject) -> EvidenceCommand:
    return EvidenceCommand(
        name=str(given["name"]),
        command=str(given["command"]),
        args=tuple(cast("list[str]", given.get("args", []))),
        timeout_ms=_int(given, "timeoutMs", _DEFAULT_TIMEOUT_MS),
    )


def _limits(args: JsonObject) -> tuple[ComplexityLimit, ...]:
    given = cast("list[dict[str, Any]]", args.get("complexity", []))
    return tuple(ComplexityLimit(path=one["path"], at_most=int(one["atMost"])) for one in given)


def _reasons(reasons: tuple[Reason, ...]) -> list[Json]:
    return [reason.to_json() for reason in reasons]


def _step(step: Step) -> Json:
    return {**step.proposal.to_json(), "committedAt": step.decision.decided_at, "proof": step.proof}


def _commands_shown(commands: tuple[EvidenceCommand, ...]) -> str:
    return "\n".join(
        f"{one.name}: {shlex.join((one.command, *one.args))} ({one.timeout_ms} ms)" for one in commands
    )


def _spelled(value: Json) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
