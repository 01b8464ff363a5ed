"""The ``pi`` provider: the host's own tools over one workspace.

Only ``bash`` waits on the event loop. The others run in threads; reading stops soon after a
cancellation, and a change that has begun is completed, since it is one rename.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from toolfabric.durable.confine import Confined
from toolfabric.durable.pathnames import shown
from toolfabric.errors import InvokeError, PathError, StorageError
from toolfabric.protocols import CallContext, FileOps
from toolfabric.providers.pi.arguments import prepared_edit
from toolfabric.providers.pi.schemas import SPECS
from toolfabric.providers.pi.workspace import PiLimits, Stopped, Workspace, explained
from toolfabric.values import ActionSpec, Json, JsonObject

__all__ = ["PiProvider"]

_GRACE_SECONDS: Final = 5.0
_BY_NAME: Final = {spec.name: spec for spec in SPECS}


class PiProvider:
    """``read grep find ls edit write bash`` in one folder.

    Args:
        workspace: The folder. It is opened now and held; a link to it is resolved once.
        files: What changes files.
        allow_outside: Let paths lead anywhere. ``.git``, ``.pi`` and what is protected stay unwritable.
        protected: The host's own storage, never written to by ``edit`` and ``write``.
        limits: Bounds on single calls.
        env: The environment of commands; the host's own by default.

    Raises:
        PathError: The workspace is missing or not a folder.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        files: FileOps,
        allow_outside: bool = False,
        protected: Sequence[Path] = (),
        limits: PiLimits | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        root = Path("/") if allow_outside else workspace
        try:
            confined = Confined(root, base=workspace if allow_outside else None, protected=protected)
            folder = Path(os.path.realpath(workspace))
        except OSError as error:
            msg = f"the workspace '{shown(str(workspace))}' cannot be opened: {error.strerror}"
            raise PathError(msg) from error
        self._workspace = Workspace(
            confined=confined, folder=folder, files=files, limits=limits or PiLimits()
        )
        self._env = env

    @property
    def name(self) -> str:
        """The first part of every ref."""
        return "pi"

    @property
    def description(self) -> str:
        """For a reader who looks for a tool."""
        return "Read, search and change the files of the workspace, and run commands in it."

    def list(self) -> Sequence[ActionSpec]:
        """All seven actions."""
        return SPECS

    def describe(self, name: str) -> ActionSpec | None:
        """One action by its name."""
        return _BY_NAME.get(name)

    def prepare_arguments(self, name: str, args: JsonObject) -> JsonObject:
        """Reshape the older forms of ``edit``; everything else comes back as it is."""
        return prepared_edit(args) if name == "edit" else args

    def preview(self, name: str, args: JsonObject) -> str | None:
        """What a change or a command would do."""
        from toolfabric.providers.pi.preview import preview_of

        return preview_of(self._workspace, name, args)

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Run one action.

        Raises:
            InvokeError: It failed; the message says what, where, and what to do.
        """
        path = args.get("path")
        try:
            return await self._run(name, args, context)
        except InvokeError:
            raise
        except (OSError, PathError, StorageError) as error:
            raise explained(error, path if isinstance(path, str) else None, self._workspace) from error

    def close(self) -> None:
        """Release the folder. Safe to call twice."""
        self._workspace.confined.close()

    async def _run(self, name: str, args: JsonObject, context: CallContext) -> Json:
        # What only some programs use is loaded with its first call: searching brings the pattern engine.
        workspace = self._workspace
        match name:
            case "read":
                from toolfabric.providers.pi.read import read_action

                return await _in_thread(lambda stopped: read_action(workspace, args, stopped), context)
            case "grep":
                from toolfabric.providers.pi.grep import grep_action

                return await _in_thread(lambda stopped: grep_action(workspace, args, stopped), context)
            case "find" | "ls":
                from toolfabric.providers.pi.find import find_action, list_action

                act = find_action if name == "find" else list_action
                return await _in_thread(lambda stopped: act(workspace, args, stopped), context)
            case "edit" | "write":
                from toolfabric.providers.pi.edit import edit_action, write_action

                change = edit_action if name == "edit" else write_action
                return await _in_thread(
                    lambda stopped: _unless(stopped, lambda: change(workspace, args)), context
                )
            case "bash":
                from toolfabric.providers.pi.bash import bash_action

                return await bash_action(workspace, args, self._env)
            case _:
                msg = f"pi has no action '{shown(name)}'; it has {', '.join(_BY_NAME)}"
                raise InvokeError(msg)


def _unless(stopped: Stopped, change: Callable[[], Json]) -> Json:
    """Make a change, unless the call was cancelled while it waited for a thread."""
    if stopped():
        msg = "the call was cancelled before it began"
        raise InvokeError(msg)
    return change()


async def _in_thread(work: Callable[[Stopped], Json], context: CallContext) -> Json:
    """Run work in a thread, and do not leave it behind when the call is cancelled.

    Raises:
        asyncio.CancelledError: The call was cancelled; the work was told, and has ended.
    """
    stop = threading.Event()

    def stopped() -> bool:
        return stop.is_set() or context.cancelled()

    running = asyncio.get_running_loop().run_in_executor(None, work, stopped)
    # After a cancellation nobody asks how the work ended, and an error that nobody asked for is logged.
    running.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({running})
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({running}, timeout=_GRACE_SECONDS)
        raise
    return running.result()
