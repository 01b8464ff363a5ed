"""The mesh as programs see it: everything may be read, and nothing of the host's may be written.

An event's sender is the host's word, never the program's.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, UnsetType

from toolfabric.mesh.records import Draft, Entry, Event, Listing, Page, Swap
from toolfabric.mesh.reserved import HOST_PREFIXES, HOST_TOPIC, is_host_key, is_host_topic
from toolfabric.mesh.store import MeshStore
from toolfabric.values import Json

__all__ = ["MAX_WAIT_SECONDS", "ProgramMesh"]

MAX_WAIT_SECONDS: Final = 60.0


class ProgramMesh:
    """A store behind the rule on reserved names. Every method raises what the store's does.

    Args:
        store: The store.
        sender: What stands as ``from`` in every event that a program publishes.
    """

    def __init__(self, store: MeshStore, *, sender: str) -> None:
        self._store = store
        self._sender = sender

    async def publish(
        self,
        topic: str,
        kind: str,
        *,
        to: str | None = None,
        text: str | None = None,
        data: Json | UnsetType = UNSET,
    ) -> Event:
        """Add an event to a topic.

        Raises:
            ValueError: Only the host writes to that topic.
        """
        if is_host_topic(topic):
            msg = f"only the host writes to {HOST_TOPIC!r} and the topics below it; choose another topic"
            raise ValueError(msg)
        return await self._store.append(
            Draft(topic=topic, kind=kind, sender=self._sender, to=to, text=text, data=data)
        )

    async def read(
        self, topic: str, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        """Read events after a cursor, and wait a bounded time for one if there is none yet."""
        wait = min(wait_seconds, MAX_WAIT_SECONDS)
        return await self._store.read(topic, cursor=cursor, limit=limit, wait_seconds=wait)

    async def get(self, key: str) -> Entry | None:
        """The value of a key."""
        return await self._store.get(key)

    async def list(self, prefix: str = "", *, cursor: str = "", limit: int | None = None) -> Listing:
        """Entries whose key begins so."""
        return await self._store.list(prefix, cursor=cursor, limit=limit)

    async def put(self, key: str, value: Json, *, if_version: int | None = None) -> Swap:
        """Set a key.

        Raises:
            ValueError: Only the host changes that key.
        """
        _refuse_host_key(key)
        return await self._store.put(key, value, if_version=if_version)

    async def delete(self, key: str, *, if_version: int | None = None) -> Swap:
        """Remove a key.

        Raises:
            ValueError: Only the host changes that key.
        """
        _refuse_host_key(key)
        return await self._store.delete(key, if_version=if_version)


def _refuse_host_key(key: str) -> None:
    if is_host_key(key):
        prefixes = ", ".join(f"'{prefix}'" for prefix in HOST_PREFIXES)
        msg = f"only the host changes keys under {prefixes}; choose another key"
        raise ValueError(msg)
