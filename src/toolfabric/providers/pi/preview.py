"""What a call of ``pi`` would do, in words, for whoever is asked to allow it.

Reads at most the one file that would change, and never more than a bound of it. Nothing in a preview can
steer a terminal.
"""

from __future__ import annotations

from typing import Final

from toolfabric._base.text import printable
from toolfabric.durable.pathnames import shown
from toolfabric.errors import FabricError
from toolfabric.providers.pi.arguments import prepared_edit, text_argument
from toolfabric.providers.pi.diffs import short_diff
from toolfabric.providers.pi.edit import edited, read_whole
from toolfabric.providers.pi.workspace import Workspace
from toolfabric.values import JsonObject

__all__ = ["preview_of"]

_READ_BYTES: Final = 1024 * 1024


def preview_of(workspace: Workspace, name: str, args: JsonObject) -> str | None:
    """A diff for ``edit`` and ``write``, the command for ``bash``, nothing for the others."""
    match name:
        case "edit":
            text = _edit(workspace, args)
        case "write":
            text = _write(workspace, args)
        case "bash":
            timeout = args.get("timeout")
            within = f"  (at most {timeout} s)" if isinstance(timeout, int | float) else ""
            text = f"$ {text_argument(args, 'command')}{within}"
        case _:
            return None
    return printable(text, limit=workspace.limits.preview_chars)


def _edit(workspace: Workspace, args: JsonObject) -> str:
    path = text_argument(args, "path")
    try:
        with workspace.confined.place(path, writable=True) as place:
            old, _ = read_whole(place, _READ_BYTES)
        new, _ = edited(old, prepared_edit(args), path)
    except (FabricError, OSError) as error:
        return f"edit {shown(path)}: {_reason(error)}"
    return short_diff(old, new, shown(path), limit=workspace.limits.preview_chars)


def _write(workspace: Workspace, args: JsonObject) -> str:
    path = text_argument(args, "path")
    content = text_argument(args, "content").encode("utf-8", "replace")
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    size = f"{lines} lines, {len(content)} bytes"
    try:
        with workspace.confined.place(path, writable=True) as place:
            if place.stat() is not None:
                old, _ = read_whole(place, _READ_BYTES)
                diff = short_diff(old, content, shown(path), limit=workspace.limits.preview_chars)
                return f"replace {shown(path)} ({size})\n{diff}"
    except FileNotFoundError:
        pass  # a folder on the way is missing, and would be made
    except (FabricError, OSError) as error:
        return f"write {shown(path)} ({size}): {_reason(error)}"
    return f"create {shown(path)} ({size})\n{content.decode('utf-8', 'replace')}"


def _reason(error: FabricError | OSError) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
