"""The storage behind the mesh, as a protocol: what every backend promises.

It is small on purpose: one event, or one key, at a time. ``sqlite_store`` is the backend for one machine;
whoever writes another runs it through ``toolfabric.testing.mesh_suite``.

What every backend promises:

1. *Durable.* When ``append``, ``put`` or ``delete`` returns, what it did survives the death of this process
   and, as far as the medium can, of the machine.
2. *One winner.* Of several changes of a key with the same ``if_version``, at most one is done. A version is
   never used twice for a key, not even after the key was deleted.
3. *One order.* The events of a topic have the sequences 1, 2, 3, … in the order in which they became
   durable: a reader that has seen a sequence never finds a smaller one later.
4. *Reading what was written.* Whoever learns of an acknowledged change sees it, on every handle.
5. *Honest retention.* A cursor never fails for what retention dropped; the page says how many were missed.

A change that raises ``StorageError`` was not done, with one exception: when the medium failed in the very
act of making it durable, it may come to light later. A change whose caller was cancelled may be done or not.
Both are told apart by reading.
"""

from __future__ import annotations

from typing import Protocol

from toolfabric.mesh.records import Draft, Entry, Event, Limits, Listing, Page, Swap, Topic
from toolfabric.values import Json

__all__ = ["MeshStore"]


class MeshStore(Protocol):
    """One handle on a mesh, used from one event loop. Several handles, in any process, may share it.

    Every method raises ``StorageError`` when the storage failed or the handle was closed, and
    ``ValueError`` for a malformed name, a cursor of somewhere else, or something too large; then nothing
    was done.
    """

    @property
    def limits(self) -> Limits:
        """The bounds that it keeps."""
        ...

    async def append(self, draft: Draft, /) -> Event:
        """Add an event to the end of its topic, which comes to be with its first event."""
        ...

    async def read(
        self, topic: str, /, *, cursor: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Page:
        """Read events after a cursor, oldest first.

        Args:
            topic: The topic; one that has no events yet is empty.
            cursor: The last sequence seen, 0 for none.
            limit: How many at most, from 1; never more than ``limits.max_read_events``, which is also
                the default. A page has at most ``limits.max_page_bytes``, but always an event if
                there is one.
            wait_seconds: How long to wait for the first event when there is none. The reader is woken
                by writers in other processes too.
        """
        ...

    async def topics(self, prefix: str = "", /) -> tuple[Topic, ...]:
        """All topics whose name begins so, in the order of their names."""
        ...

    async def get(self, key: str, /) -> Entry | None:
        """The value of a key, or ``None`` when it is not there."""
        ...

    async def list(self, prefix: str = "", /, *, cursor: str = "", limit: int | None = None) -> Listing:
        """Entries whose key begins so and comes after the cursor, in the order of their keys.

        ``limit`` and the bytes of a page are bounded as in ``read``.
        """
        ...

    async def put(self, key: str, value: Json, /, *, if_version: int | None = None) -> Swap:
        """Set a key: always, or only if it is at a version (0: only if it is not there)."""
        ...

    async def delete(self, key: str, /, *, if_version: int | None = None) -> Swap:
        """Remove a key: always, or only if it is at a version. Removing what is not there is done at once."""
        ...

    async def problems(self) -> tuple[str, ...]:
        """Check the storage itself; what is wrong with it, or nothing. May take long."""
        ...

    async def close(self) -> None:
        """Finish what was begun and release everything. Safe to call twice."""
        ...
