"""Who is on the mesh: each host holds a record under ``member/<id>`` on a lease that it renews.

A host that was killed renews nothing more, and is *stale* once its lease has run out; nobody has to judge
whether it lives. One that left removed its record. Leases compare the clocks of machines: what is stale on
one may have moments left on another.

What a lease is not: a lock. Whoever needs exclusion takes a lock, or swaps a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final, assert_never

import anyio
from msgspec import UNSET, UnsetType

from toolfabric._base.camel import Record
from toolfabric.errors import RecordError, StorageError
from toolfabric.mesh.records import wire_time
from toolfabric.mesh.store import MeshStore
from toolfabric.protocols import Clock

__all__ = ["LEASE_SECONDS", "Identity", "Member", "MemberScope", "MemberView", "Membership", "list_members"]

LEASE_SECONDS: Final = 30.0
FORGET_AFTER: Final = timedelta(days=1)
_PREFIX: Final = "member/"
_RENEWALS_PER_LEASE: Final = 3


class MemberScope(StrEnum):
    """Which members are asked for: all of the mesh, those of this machine, or those of this session."""

    MESH = "mesh"
    MACHINE = "machine"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this host is. ``id`` is fresh for every start, so that a restarted host is another member.

    ``kind`` says what it is, such as ``cli`` or ``mcp-server``; ``machine`` names the computer.
    """

    id: str
    kind: str
    machine: str
    pid: int
    cwd: Path
    session: str | None = None
    name: str | None = None


class Member(Record, frozen=True, kw_only=True):
    """The record that a host holds while it is on the mesh."""

    id: str
    kind: str
    machine: str
    pid: int
    cwd: str
    joined_at: str
    renewed_at: str
    expires_at: str
    session: str | UnsetType = UNSET
    name: str | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """A member as one of them sees it: ``stale`` once its lease has run out, ``me`` for the one who asks."""

    member: Member
    stale: bool
    me: bool


class Membership:
    """This host's own record. ``join``, keep ``run`` running, ``leave``."""

    def __init__(
        self, store: MeshStore, identity: Identity, *, clock: Clock, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self._store = store
        self._identity = identity
        self._clock = clock
        self._lease = timedelta(seconds=lease_seconds)
        self._joined_at = ""
        self.last_error: StorageError | None = None
        """Why the last renewal failed; ``None`` when it did not."""

    @property
    def identity(self) -> Identity:
        """Who this host is."""
        return self._identity

    @property
    def record(self) -> Member:
        """The record as it would be written now."""
        now = self._clock.now()
        own = self._identity
        return Member(
            id=own.id,
            kind=own.kind,
            machine=own.machine,
            pid=own.pid,
            cwd=str(own.cwd),
            joined_at=self._joined_at or wire_time(now),
            renewed_at=wire_time(now),
            expires_at=wire_time(now + self._lease),
            session=UNSET if own.session is None else own.session,
            name=UNSET if own.name is None else own.name,
        )

    async def join(self) -> Member:
        """Take the lease, and sweep away members that have been stale for a day.

        Raises:
            StorageError: The mesh failed.
        """
        self._joined_at = wire_time(self._clock.now())
        await self._sweep()
        return await self.renew()

    async def renew(self) -> Member:
        """Extend the lease; a record that somebody removed comes back.

        Raises:
            StorageError: The mesh failed; the old lease runs on.
        """
        record = self.record
        await self._store.put(f"{_PREFIX}{self._identity.id}", record.to_json())
        return record

    async def run(self) -> None:
        """Renew the lease until cancelled; a renewal that fails is tried again at the next beat."""
        while True:
            await anyio.sleep(self._lease.total_seconds() / _RENEWALS_PER_LEASE)
            try:
                await self.renew()
                self.last_error = None
            except StorageError as error:
                self.last_error = error

    async def leave(self) -> None:
        """Give the lease up.

        Raises:
            StorageError: The mesh failed; the lease runs out by itself.
        """
        await self._store.delete(f"{_PREFIX}{self._identity.id}")

    async def members(
        self, scope: MemberScope = MemberScope.MESH, *, include_stale: bool = False
    ) -> tuple[MemberView, ...]:
        """Who is on the mesh, oldest first; see ``list_members``."""
        found = await list_members(self._store, now=self._clock.now())
        return tuple(
            MemberView(member=member, stale=stale, me=member.id == self._identity.id)
            for member, stale in found
            if (include_stale or not stale) and self._is_in(member, scope)
        )

    def _is_in(self, member: Member, scope: MemberScope) -> bool:
        match scope:
            case MemberScope.MESH:
                return True
            case MemberScope.MACHINE:
                return member.machine == self._identity.machine
            case MemberScope.SESSION:
                own = self._identity
                return member.id == own.id or (own.session is not None and member.session == own.session)
            case _:
                assert_never(scope)

    async def _sweep(self) -> None:
        now = self._clock.now()
        for member, _stale in await list_members(self._store, now=now):
            if _expiry(member) < now - FORGET_AFTER:
                # Only the record that was seen: its host may have come back meanwhile.
                entry = await self._store.get(f"{_PREFIX}{member.id}")
                if entry is not None and entry.value == member.to_json():
                    await self._store.delete(entry.key, if_version=entry.version)


async def list_members(store: MeshStore, *, now: datetime) -> tuple[tuple[Member, bool], ...]:
    """All members with whether they are stale, in the order in which they joined.

    A record that cannot be read is left out: it is no member that this version knows.

    Raises:
        StorageError: The mesh failed.
    """
    found: list[tuple[Member, bool]] = []
    cursor = ""
    while True:
        page = await store.list(_PREFIX, cursor=cursor)
        for entry in page.entries:
            try:
                member = Member.from_json(entry.value)
                found.append((member, _expiry(member) <= now))
            except (RecordError, ValueError):
                continue
        if page.cursor is UNSET:
            return tuple(sorted(found, key=lambda one: (one[0].joined_at, one[0].id)))
        cursor = page.cursor


def _expiry(member: Member) -> datetime:
    moment = datetime.fromisoformat(member.expires_at)
    if moment.tzinfo is None:
        msg = "a lease without a time zone"
        raise ValueError(msg)
    return moment
