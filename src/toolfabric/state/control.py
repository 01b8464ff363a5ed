"""The verbs of ``state``, over one mesh and one workspace: what hosts and the provider use."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from msgspec import UNSET, UnsetType

from toolfabric.errors import StateError, StorageError
from toolfabric.mesh.records import Swap
from toolfabric.mesh.store import MeshStore
from toolfabric.protocols import Clock, Ids
from toolfabric.state.certify import Verification, current_certification, verify_head
from toolfabric.state.complexity import FileComplexity, measure_files
from toolfabric.state.evidence import RunCommand, run_command
from toolfabric.state.goals import GoalCheck, check_goal, set_goal
from toolfabric.state.history import History, archive_old, read_history
from toolfabric.state.ledger import Ledger, View
from toolfabric.state.records import (
    Blocked,
    Certificate,
    ComplexityLimit,
    EvidenceCommand,
    Move,
    Moved,
    Reason,
    StateBinding,
)
from toolfabric.state.transitions import PATIENCE_SECONDS, discard_pending, move_head

__all__ = ["State", "Status"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where the work stands: the head as it was looked at, and its certificate or every reason for none."""

    view: View
    certificate: Certificate | None
    reasons: tuple[Reason, ...]


class State:
    """One state of the work, shared by all hosts on a mesh.

    Args:
        store: Where its records are.
        clock: Dates them.
        ids: Names transitions.
        actor: Who this host is on the mesh; stands in everything it writes.
        workspace: Where evidence commands run and sources are read.
        run: Runs evidence commands.
        patience_seconds: How long another host's move may be pending before it counts as abandoned.
    """

    def __init__(
        self,
        store: MeshStore,
        *,
        clock: Clock,
        ids: Ids,
        actor: str,
        workspace: Path,
        run: RunCommand = run_command,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._ledger = Ledger(store, clock=clock, actor=actor)
        self._ids = ids
        self._workspace = workspace
        self._run = run
        self._patience = patience_seconds

    async def binding(self) -> StateBinding | None:
        """What to bind to: the committed head, or ``None`` before the first.

        Raises:
            StateError: The head is damaged.
            StorageError: The mesh failed.
        """
        return (await self._ledger.sound()).current

    async def transition(self, move: Move) -> Moved | Blocked:
        """Move the head, if it is at the version asked for; see ``transitions.move_head``."""
        moved = await move_head(self._ledger, move, ids=self._ids, patience_seconds=self._patience)
        if isinstance(moved, Moved):
            await self._tidy()
        return moved

    async def get(self) -> Status:
        """Where the work stands. Damage and a pending head are among the reasons, not errors.

        Raises:
            StorageError: The mesh failed.
        """
        view = await self._ledger.look()
        certificate, reasons = await current_certification(self._ledger, view)
        return Status(view=view, certificate=certificate, reasons=reasons)

    async def history(self, *, limit: int = 20, cursor: str | None = None) -> History:
        """Committed transitions, newest first; see ``history.read_history``."""
        return await read_history(self._ledger, limit=limit, cursor=cursor)

    async def complexity(self, paths: Sequence[str]) -> tuple[FileComplexity, ...]:
        """The decision points of files in the workspace; see ``complexity.measure_files``."""
        return await anyio.to_thread.run_sync(measure_files, self._workspace, paths)

    async def commands(self, version: int) -> tuple[EvidenceCommand, ...]:
        """What verifying the head would run, if it is at that version; it runs nothing.

        Raises:
            StateError: The head is damaged.
            StorageError: The mesh failed.
        """
        view = await self._ledger.sound()
        return view.proposal.commands if view.proposal is not None and view.version == version else ()

    async def verify(self, version: int) -> Verification:
        """Run the head's evidence and certify it, if it is at that version; see ``certify.verify_head``."""
        return await verify_head(self._ledger, version=version, workspace=self._workspace, run=self._run)

    async def set_goal(
        self,
        text: str,
        *,
        to: str | UnsetType = UNSET,
        certified: bool = False,
        complexity: tuple[ComplexityLimit, ...] = (),
        if_version: int | None = None,
    ) -> Swap:
        """Set the goal; see ``goals.set_goal``."""
        return await set_goal(
            self._ledger, text, to=to, certified=certified, complexity=complexity, if_version=if_version
        )

    async def check_goal(self) -> GoalCheck:
        """Whether the goal is reached, or every reason why not; see ``goals.check_goal``."""
        return await check_goal(self._ledger, await self._ledger.look(), workspace=self._workspace)

    async def discard_pending(self, transition_id: str, *, reason: str) -> StateBinding | None:
        """End a pending transition, as an operator; see ``transitions.discard_pending``."""
        return await discard_pending(self._ledger, transition_id, reason=reason)

    async def _tidy(self) -> None:
        """Move the archive boundary if it is time; the transition before it stands whatever happens."""
        with contextlib.suppress(StateError, StorageError):  # the next transition tries again
            await archive_old(self._ledger, await self._ledger.sound())
