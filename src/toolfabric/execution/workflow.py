"""``workflow.*``: what a program says about its own progress.

Each becomes a ``fabric.workflow.*`` operation and a line for whoever watches. ``phase`` also opens a
phase of the trace; ``parallel`` and ``pipeline`` are run by the guest and only announced here.
"""

from __future__ import annotations

from typing import Final, Literal

from toolfabric.errors import ResolveError, ValidateError
from toolfabric.execution.records import Activity
from toolfabric.values import Json, JsonObject

__all__ = ["WORKFLOW", "read_workflow"]

_Kind = Literal["phase", "item", "event", "progress", "parallel", "pipeline"]
WORKFLOW: Final[tuple[_Kind, ...]] = ("phase", "item", "event", "progress", "parallel", "pipeline")
_LINE_CHARS = 200


def read_workflow(name: str, args: JsonObject) -> tuple[str | None, Activity | None]:
    """Read one ``workflow.<name>`` call: the phase it opens, if any, and the line to show, if any.

    Raises:
        ResolveError: There is no such call.
        ValidateError: ``phase`` without a name.
    """
    if name not in WORKFLOW:
        raise ResolveError(f"workflow.{name} does not exist; there are: {', '.join(WORKFLOW)}")
    if name in ("parallel", "pipeline"):
        return None, None
    text = _line(args)
    if name == "phase":
        phase = args.get("name")
        if not isinstance(phase, str) or not phase.strip():
            raise ValidateError("workflow.phase: name must be a string that is not blank")
        return phase, Activity(kind="phase", text=text)
    return None, Activity(kind=name, text=text)


def _line(args: JsonObject) -> str:
    shown = [str(value) for value in args.values() if _is_plain(value)]
    return " ".join(shown)[:_LINE_CHARS]


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
