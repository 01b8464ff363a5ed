"""What every backend of the mesh must show: run it over yours.

A backend gives the suite a way to open *another handle on the same, at first empty, data*::

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", mesh_checks(), ids=str)
    async def test_the_backend_keeps_its_promises(check, tmp_path):
        async with opened(tmp_path) as open_handle:      # yours: closes all handles at the end
            await check.run(open_handle)

``open_handle(limits)`` is a coroutine function that gives a ``MeshStore`` with these limits. A check that is
not kept raises ``AssertionError`` with what was found. The checks need no particular test runner.

Not here, because it needs processes of your own: that acknowledged changes survive when they are killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import UNSET

from toolfabric.errors import StorageError
from toolfabric.mesh.records import Draft, Limits, Retention, Swap
from toolfabric.mesh.store import MeshStore
from toolfabric.values import Json

__all__ = ["MeshCheck", "OpenHandle", "mesh_checks"]

OpenHandle: TypeAlias = Callable[[Limits], Awaitable[MeshStore]]

_SMALL: Final = Limits(
    max_event_bytes=400,
    max_value_bytes=400,
    max_read_events=5,
    max_page_bytes=1_000,
    retention=Retention(max_events=6, max_bytes=10_000),
    host_retention=Retention(max_events=9, max_bytes=10_000),
)
_LONG_ENOUGH: Final = 30.0
_MALFORMED_TOPICS: Final = ("", ".", "a.", ".a", "a..b", "a b", "a/b", "ä", "a\n", "a" * 257, "a\x1b[31m")
_MALFORMED_KEYS: Final = ("", "/", "a/", "/a", "a//b", "a b", "ä", "a\n", "k" * 257, "a\x00")


@dataclass(frozen=True, slots=True)
class MeshCheck:
    """One promise, and how it is looked at."""

    promise: str
    run: Callable[[OpenHandle], Awaitable[None]]

    def __str__(self) -> str:
        return self.promise


def mesh_checks() -> tuple[MeshCheck, ...]:
    """All checks, each on fresh data."""
    return tuple(
        MeshCheck(function.__name__.removeprefix("_").replace("_", " "), function) for function in _CHECKS
    )


def _draft(number: int = 0, topic: str = "t", data: Json = None) -> Draft:
    return Draft(topic=topic, kind="k", sender="s", data={"number": number} if data is None else data)


def _expect(actual: object, expected: object) -> None:
    assert actual == expected, f"expected {expected!r}, found {actual!r}"


async def _refuses(kind: type[Exception], work: Awaitable[object], what: str) -> None:
    try:
        answer = await work
    except kind:
        return
    msg = f"{what} was not refused with {kind.__name__}; it answered {answer!r}"
    raise AssertionError(msg)


async def _is_done(change: Awaitable[Swap]) -> None:
    swap = await change
    assert swap.done, f"a change that had to be done was not: {swap!r}"


async def _is_refused(change: Awaitable[Swap]) -> None:
    swap = await change
    assert not swap.done, f"a change at the wrong version was done: {swap!r}"


async def _events_have_the_sequences_1_2_3_on_every_handle(open_handle: OpenHandle) -> None:
    one, two = await open_handle(Limits()), await open_handle(Limits())
    made = [await (one, two)[number % 2].append(_draft(number)) for number in range(5)]
    await one.append(_draft(topic="other"))
    _expect([event.sequence for event in made], [1, 2, 3, 4, 5])
    _expect(len({event.id for event in made}), 5)
    for handle in (one, two):
        page = await handle.read("t")
        _expect(list(page.events), made)
        _expect((page.cursor, page.latest, page.missed), (5, 5, 0))
        _expect(
            [(t.topic, t.events, t.latest) for t in await handle.topics()], [("other", 1, 1), ("t", 5, 5)]
        )


async def _events_come_back_as_they_were_written(open_handle: OpenHandle) -> None:
    store = await open_handle(Limits())
    datas: list[Json] = [None, True, 0, -1, 1.0, 1.5, 2**60, "", "é\u2028\U0001f600\x00\x1b", [], {}]
    datas.append([[{"a": [None]}]])
    datas.append({"": 0})
    for data in datas:
        whole = Draft(topic="t", kind="k", sender="a/b:1", to="c", text="x\ny", data=data)
        event = await store.append(whole)
        _expect(
            (event.kind, event.sender, event.to, event.text, event.data), ("k", "a/b:1", "c", "x\ny", data)
        )
    read = (await store.read("t")).events
    _expect([repr(event.data) for event in read], [repr(data) for data in datas])
    bare = await store.append(Draft(topic="bare", kind="k", sender="s"))
    _expect((bare.to, bare.text, bare.data), (UNSET, UNSET, UNSET))
    _expect((await store.read("bare")).events, (bare,))


async def _a_page_is_bounded_and_its_cursor_goes_on(open_handle: OpenHandle) -> None:
    store = await open_handle(_SMALL)
    await _fill(store, 6)
    page = await store.read("t", limit=99)
    _expect(([e.sequence for e in page.events], page.cursor, page.latest), ([1, 2, 3, 4, 5], 5, 6))
    page = await store.read("t", cursor=page.cursor, limit=2)
    _expect(([e.sequence for e in page.events], page.cursor), ([6], 6))
    page = await store.read("t", cursor=2, limit=2)
    _expect(([e.sequence for e in page.events], page.cursor), ([3, 4], 4))
    page = await store.read("t", cursor=6)
    _expect((page.events, page.cursor, page.latest, page.missed), ((), 6, 6, 0))
    page = await store.read("nothing")
    _expect((page.events, page.cursor, page.latest, page.missed), ((), 0, 0, 0))


async def _a_page_is_bounded_in_bytes_but_never_empty_for_that(open_handle: OpenHandle) -> None:
    limits = Limits(max_event_bytes=2_000, max_value_bytes=2_000, max_page_bytes=1_000)
    store = await open_handle(limits)
    for size in (400, 400, 400, 1_500, 1_500):
        await store.append(_draft(data="x" * size))
        await store.put(f"k/{size}-{(await store.topics())[0].latest}", "x" * size)
    sizes: list[int] = []
    cursor = 0
    while (page := await store.read("t", cursor=cursor)).events:
        sizes.append(len(page.events))
        cursor = page.cursor
    _expect(sizes, [2, 1, 1, 1])
    listed: list[int] = []
    key = ""
    while True:
        listing = await store.list(cursor=key)
        listed.append(len(listing.entries))
        if listing.cursor is UNSET:
            break
        key = listing.cursor
    _expect(listed, [1, 1, 2, 1])


async def _retention_drops_the_oldest_and_no_cursor_breaks(open_handle: OpenHandle) -> None:
    store = await open_handle(_SMALL)
    await _fill(store, 20)
    await _fill(store, 20, topic="fabric.host")
    page = await store.read("t", cursor=3, limit=2)
    _expect(([e.sequence for e in page.events], page.cursor, page.missed), ([15, 16], 16, 11))
    page = await store.read("t", cursor=page.cursor)
    _expect(([e.sequence for e in page.events], page.cursor, page.missed), ([17, 18, 19, 20], 20, 0))
    kept = [(t.topic, t.events, t.oldest, t.latest) for t in await store.topics()]
    _expect(kept, [("fabric.host", 9, 12, 20), ("t", 6, 15, 20)])
    for sequence in (21, 22):
        _expect((await store.append(_draft())).sequence, sequence)


async def _retention_by_bytes_keeps_at_least_the_newest(open_handle: OpenHandle) -> None:
    limits = Limits(retention=Retention(max_events=100, max_bytes=1_000))
    store = await open_handle(limits)
    for size in (200, 200, 200, 200, 200, 2_000):
        await store.append(_draft(data="x" * size))
        [topic] = await store.topics()
        assert topic.bytes <= limits.retention.max_bytes or topic.events == 1, (
            f"{topic!r} holds too many bytes"
        )
    _expect((topic.events, topic.oldest, topic.latest), (1, 6, 6))
    page = await store.read("t")
    _expect((page.missed, page.cursor), (5, 6))


async def _a_cursor_of_somewhere_else_is_refused(open_handle: OpenHandle) -> None:
    store = await open_handle(Limits())
    await _fill(store, 2)
    for cursor in (-1, 3):
        await _refuses(ValueError, store.read("t", cursor=cursor), f"cursor {cursor} of 2 events")
    await _refuses(ValueError, store.read("t", limit=0), "a limit of 0")
    await _refuses(ValueError, store.list(limit=0), "a limit of 0")


async def _malformed_names_and_large_values_are_refused(open_handle: OpenHandle) -> None:
    store = await open_handle(_SMALL)
    for topic in _MALFORMED_TOPICS:
        await _refuses(ValueError, store.append(_draft(topic=topic)), f"topic {topic!r}")
        await _refuses(ValueError, store.read(topic), f"topic {topic!r}")
    for key in _MALFORMED_KEYS:
        await _refuses(ValueError, store.get(key), f"key {key!r}")
        await _refuses(ValueError, store.put(key, 1), f"key {key!r}")
        await _refuses(ValueError, store.delete(key), f"key {key!r}")
    for word in ("", "a b", "\x1b", "x" * 257):
        await _refuses(ValueError, store.append(Draft(topic="t", kind=word, sender="s")), f"kind {word!r}")
        await _refuses(ValueError, store.append(Draft(topic="t", kind="k", sender=word)), f"sender {word!r}")
    for value in ("x" * 400, float("nan"), "\ud800"):
        await _refuses(ValueError, store.put("k", value), "such a value")
        await _refuses(ValueError, store.append(_draft(data=[value])), "such an event")
    _expect((await store.topics(), (await store.list()).entries), ((), ()))
    await _is_done(store.put("k", "x" * 398))


async def _a_key_changes_only_at_the_version_asked_for(open_handle: OpenHandle) -> None:
    one, two = await open_handle(Limits()), await open_handle(Limits())
    _expect(await one.get("a/b"), None)
    swap = await one.put("a/b", 1, if_version=7)
    _expect((swap.done, swap.version), (False, 0))
    swap = await one.put("a/b", {"v": 1}, if_version=0)
    _expect((swap.key, swap.done, swap.version), ("a/b", True, 1))
    swap = await two.put("a/b", 2, if_version=0)
    _expect((swap.done, swap.version), (False, 1))
    swap = await two.put("a/b", [2], if_version=1)
    _expect((swap.done, swap.version), (True, 2))
    swap = await one.put("a/b", 3)
    _expect((swap.done, swap.version), (True, 3))
    for handle in (one, two):
        entry = await handle.get("a/b")
        assert entry is not None, "the entry is gone"
        _expect((entry.key, entry.version, entry.value), ("a/b", 3, 3))


async def _a_deleted_key_remembers_its_version(open_handle: OpenHandle) -> None:
    one, two = await open_handle(Limits()), await open_handle(Limits())
    await _is_done(one.delete("k"))
    await _is_refused(one.delete("k", if_version=3))
    await one.put("k", 1)
    await _is_refused(two.delete("k", if_version=2))
    gone = await two.delete("k", if_version=1)
    assert gone.done, "a key could not be deleted at its version"
    assert gone.version > 1, f"the deletion did not take a version of its own: {gone!r}"
    _expect((await one.get("k"), (await one.list()).entries), (None, ()))
    await _is_refused(one.put("k", 2, if_version=1))
    await _is_refused(one.put("k", 2, if_version=gone.version))
    back = await one.put("k", 2, if_version=0)
    assert back.done, "a deleted key could not be made again"
    assert back.version > gone.version, f"version {back.version} was used before"
    entry = await one.get("k")
    _expect(entry is not None and entry.version, back.version)


async def _keys_are_listed_in_order_and_by_prefix(open_handle: OpenHandle) -> None:
    store = await open_handle(_SMALL)
    for key in ("b", "a/2", "a/1", "a", "a/10", "ab", "A", "a~", "a/1/x"):
        await store.put(key, key)
    listed = await store.list("a/")
    _expect([entry.key for entry in listed.entries], ["a/1", "a/1/x", "a/10", "a/2"])
    _expect(listed.cursor, UNSET)
    first = await store.list()
    _expect([entry.key for entry in first.entries], ["A", "a", "a/1", "a/1/x", "a/10"])
    _expect(first.cursor, "a/10")
    rest = await store.list(cursor="a/10")
    _expect([entry.key for entry in rest.entries], ["a/2", "ab", "a~", "b"])
    _expect(rest.cursor, UNSET)
    _expect([entry.key for entry in (await store.list("a/", limit=1)).entries], ["a/1"])


async def _of_many_swaps_at_once_one_wins(open_handle: OpenHandle) -> None:
    handles = [await open_handle(Limits()) for _ in range(3)]

    async def climb(handle: MeshStore, won: list[int]) -> None:
        for _ in range(20):
            entry = await handle.get("k")
            swap = await handle.put("k", 0, if_version=0 if entry is None else entry.version)
            if swap.done:
                won.append(swap.version)

    won: list[int] = []
    async with asyncio.TaskGroup() as tasks:
        for handle in handles * 2:
            tasks.create_task(climb(handle, won))
    _expect(sorted(won), list(range(1, len(won) + 1)))
    entry = await handles[0].get("k")
    _expect(entry is not None and entry.version, len(won))


async def _many_appends_at_once_keep_one_order(open_handle: OpenHandle) -> None:
    handles = [await open_handle(Limits()) for _ in range(3)]

    async def add(handle: MeshStore, name: int) -> list[int]:
        return [(await handle.append(_draft(name * 100 + number))).sequence for number in range(20)]

    async with asyncio.TaskGroup() as tasks:
        adding = [tasks.create_task(add(handle, name)) for name, handle in enumerate(handles * 2)]
    for task in adding:
        _expect(task.result(), sorted(task.result()))
    _expect(sorted(sequence for task in adding for sequence in task.result()), list(range(1, 121)))
    numbers = [event.data["number"] for event in (await handles[0].read("t")).events]
    for name in range(6):
        own = [number for number in numbers if number // 100 == name]
        _expect(own, [name * 100 + number for number in range(20)])


async def _a_reader_is_woken_by_another_handle(open_handle: OpenHandle) -> None:
    one, two = await open_handle(Limits()), await open_handle(Limits())
    await one.append(_draft(1))
    async with asyncio.TaskGroup() as tasks:
        waits = [
            tasks.create_task(handle.read("t", cursor=1, wait_seconds=_LONG_ENOUGH))
            for handle in (one, two, two)
        ]
        elsewhere = tasks.create_task(two.read("new", wait_seconds=_LONG_ENOUGH))
        await asyncio.sleep(0)
        event = await one.append(_draft(2))
        for wait in waits:
            _expect((await wait).events, (event,))
        assert not elsewhere.done(), "a reader of another topic was given something"
        await two.append(_draft(topic="new"))
        _expect([one.sequence for one in (await elsewhere).events], [1])


async def _a_wait_ends_and_finds_nothing(open_handle: OpenHandle) -> None:
    store = await open_handle(Limits())
    page = await store.read("t", wait_seconds=0.01)
    _expect((page.events, page.cursor), ((), 0))


async def _a_closed_handle_says_so(open_handle: OpenHandle) -> None:
    one, two = await open_handle(Limits()), await open_handle(Limits())
    await one.put("k", 1)
    await one.close()
    await one.close()
    await _refuses(StorageError, one.put("k", 2), "a change on a closed handle")
    await _refuses(StorageError, one.get("k"), "a read on a closed handle")
    entry = await two.get("k")
    _expect(entry is not None and entry.value, 1)
    _expect(await two.problems(), ())


async def _fill(store: MeshStore, count: int, topic: str = "t") -> None:
    for number in range(count):
        await store.append(_draft(number, topic))


_CHECKS: Final = (
    _events_have_the_sequences_1_2_3_on_every_handle,
    _events_come_back_as_they_were_written,
    _a_page_is_bounded_and_its_cursor_goes_on,
    _a_page_is_bounded_in_bytes_but_never_empty_for_that,
    _retention_drops_the_oldest_and_no_cursor_breaks,
    _retention_by_bytes_keeps_at_least_the_newest,
    _a_cursor_of_somewhere_else_is_refused,
    _malformed_names_and_large_values_are_refused,
    _a_key_changes_only_at_the_version_asked_for,
    _a_deleted_key_remembers_its_version,
    _keys_are_listed_in_order_and_by_prefix,
    _of_many_swaps_at_once_one_wins,
    _many_appends_at_once_keep_one_order,
    _a_reader_is_woken_by_another_handle,
    _a_wait_ends_and_finds_nothing,
    _a_closed_handle_says_so,
)
