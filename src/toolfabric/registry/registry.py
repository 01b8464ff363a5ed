"""All providers that are mounted, and every way to find one of their actions.

Invariants:

1. The table of actions and the list of bindings change together, in one step without a wait, and
   ``generation`` grows with each such change.
2. A provider is mounted whole or not at all, and a refresh that fails leaves the binding as it was.
3. An action that was found stays usable until its lease ends, whatever happens to its provider.

It is used from one event loop. It decides nothing about whether a call is allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Final

from toolfabric._base.attempt import Raised, attempt
from toolfabric._base.canonical import code_units, sorted_code_units
from toolfabric._base.suggest import near_names
from toolfabric._base.supervise import start
from toolfabric._base.text import one_line
from toolfabric.errors import MountError, ResolveError
from toolfabric.protocols import Clock, Provider
from toolfabric.registry.bindings import Action, Binding
from toolfabric.registry.descriptors import bind, check_provider
from toolfabric.registry.leases import CLOSE_SECONDS, Lease, Mounted, optional_member
from toolfabric.registry.refs import MAX_REF, split_ref
from toolfabric.registry.search import ranked
from toolfabric.values import Origin

__all__ = ["Registry"]

LIST_SECONDS: Final = 30.0
ENDED_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.1
_SHOWN_NAMES: Final = 12


class Registry:
    """Mounts, finds, lists and closes providers."""

    def __init__(self, *, clock: Clock, list_seconds: float = LIST_SECONDS) -> None:
        self._clock = clock
        self._list_seconds = list_seconds
        self._mounted: dict[str, Mounted] = {}
        self._mounting: set[str] = set()
        self._retired: list[Mounted] = []
        self._actions: dict[str, Action] = {}
        self._problems: list[str] = []
        self._near = lru_cache(maxsize=256)(self._find_near)
        self.generation = 0

    async def mount(self, provider: Provider, *, origin: Origin = Origin.THIRD_PARTY) -> Binding:
        """Take a provider in, with every action it lists, or nothing of it.

        A provider that was refused is still the caller's to close.

        Raises:
            MountError: Its name is taken or bad, it could not list, or one of its descriptors was
                refused. The message has the provider, the action and the reason.
        """
        check_provider(provider)
        name = provider.name
        if name in self._mounted or name in self._mounting:
            raise MountError(f"provider {name!r}: a provider of this name is mounted already")
        self._mounting.add(name)
        try:
            return await self._mount(name, provider, origin)
        finally:
            self._mounting.discard(name)

    async def unmount(self, name: str) -> None:
        """Take a provider out at once, wait for the calls that still use it, and close it.

        Raises:
            MountError: No provider of this name is mounted, or its ``close`` failed; it is out even so.
        """
        mounted = self._known(name)
        self._retire(mounted)
        problem = await mounted.close(patience=None)
        with suppress(ValueError):  # the whole registry was closed meanwhile
            self._retired.remove(mounted)
        if problem is not None:
            raise MountError(f"provider {name!r}: {problem}")

    async def refresh(self, name: str) -> None:
        """List a provider's actions anew. Calls in flight keep what they were resolved to.

        Raises:
            MountError: No provider of this name is mounted, or the new list was refused; the old
                binding then stays.
        """
        mounted = self._known(name)
        async with mounted.changing:
            listed = await self._listed(mounted.provider)
            if self._mounted.get(name) is not mounted:
                return
            fresh = bind(
                mounted.provider, listed, origin=mounted.binding.origin, generation=self.generation + 1
            )
            if _same(fresh, mounted.binding):
                return
            mounted.binding = fresh
            self._changed()

    def providers(self) -> tuple[Binding, ...]:
        """The current bindings, by name."""
        return tuple(self._mounted[name].binding for name in sorted(self._mounted))

    def actions(self) -> tuple[Action, ...]:
        """All actions that can be called now, by ref in code-unit order."""
        return tuple(self._actions.values())

    def __contains__(self, ref: object) -> bool:
        """Whether there is an action of exactly this ref."""
        return ref in self._actions

    def resolve(self, ref: str) -> Action:
        """The action of exactly this ref.

        Raises:
            ResolveError: There is none; the message lists near ones.
        """
        action = self._actions.get(ref)
        if action is None:
            raise ResolveError(self._unknown(ref))
        return action

    def lease(self, ref: str) -> Lease:
        """The action of exactly this ref, kept usable until the lease is released.

        Raises:
            ResolveError: As ``resolve``.
        """
        action = self.resolve(ref)
        return self._mounted[action.binding.name].lease(action)

    def describe(self, name: str) -> Action:
        """The action of a ref, or of an action's bare name where only one provider has it.

        Raises:
            ResolveError: There is none, or there are several; the message lists them.
        """
        exact = self._actions.get(name)
        if exact is not None:
            return exact
        bare = [action for action in self._actions.values() if action.spec.name == name]
        tails = bare or [action for action in self._actions.values() if action.ref.endswith(f".{name}")]
        if len(tails) == 1:
            return tails[0]
        if tails:
            refs = _enumerated([action.ref for action in tails])
            raise ResolveError(f"{one_line(name)!r} is the name of several actions; use one of {refs}")
        raise ResolveError(self._unknown(name))

    def search(self, query: str, limit: int = 20) -> tuple[Action, ...]:
        """The actions that fit a few words best, best first."""
        return ranked(self._actions.values(), query, limit)

    def problems(self) -> tuple[str, ...]:
        """What went wrong behind the scenes and still stands: refreshes and closings that failed."""
        refreshes = [
            f"provider {name!r}: {one.problem}" for name, one in self._mounted.items() if one.problem
        ]
        return (*refreshes, *self._problems)

    async def invocation_ended(self, invocation_id: str) -> None:
        """Tell every provider that wants to know that an outer execution ended. Never raises."""
        async with asyncio.TaskGroup() as group:
            for mounted in self._mounted.values():
                member = optional_member(mounted.provider, "invocation_ended")
                if member is not None:
                    group.create_task(self._tell_ended(mounted, member, invocation_id))

    async def close(self) -> None:
        """Take all providers out and close them, those still in use after a bounded wait. Never raises."""
        for mounted in tuple(self._mounted.values()):
            self._retire(mounted)
        async with asyncio.TaskGroup() as group:
            for mounted in self._retired:
                group.create_task(self._close(mounted))
        self._retired.clear()

    async def _mount(self, name: str, provider: Provider, origin: Origin) -> Binding:
        announce, connect = _relay(asyncio.get_running_loop())
        unsubscribe = await self._subscribed(provider, announce)
        try:
            listed = await self._listed(provider)
            binding = bind(provider, listed, origin=origin, generation=self.generation + 1)
        except BaseException:
            unsubscribe()
            raise
        mounted = Mounted(provider=provider, binding=binding, unsubscribe=unsubscribe)
        self._mounted[name] = mounted
        self._changed()
        connect(lambda: self._note_change(mounted))
        return binding

    async def _subscribed(self, provider: Provider, announce: Callable[[], None]) -> Callable[[], None]:
        subscribe = optional_member(provider, "subscribe")
        if subscribe is None:
            return lambda: None
        answer = await self._asked(provider, "subscribe", subscribe, announce)
        if not callable(answer):
            raise MountError(f"provider {provider.name!r}: subscribe() gave no function that ends it")
        return lambda: _quietly(answer)

    async def _listed(self, provider: Provider) -> object:
        return await self._asked(provider, "list", provider.list)

    async def _asked(
        self, provider: Provider, what: str, member: Callable[..., object], *args: object
    ) -> object:
        try:
            answer = await attempt(member, *args, within=self._list_seconds)
        except TimeoutError as error:
            raise MountError(
                f"provider {provider.name!r}: {what}() did not answer within {self._list_seconds:g} seconds"
            ) from error
        if isinstance(answer, Raised):
            reason = one_line(f"{type(answer.error).__name__}: {answer.error}")
            raise MountError(f"provider {provider.name!r}: {what}() raised {reason}") from answer.error
        return answer.value

    def _known(self, name: str) -> Mounted:
        mounted = self._mounted.get(name)
        if mounted is None:
            raise MountError(
                f"no provider {one_line(name)!r} is mounted; there are: {_enumerated(self._mounted)}"
            )
        return mounted

    def _retire(self, mounted: Mounted) -> None:
        del self._mounted[mounted.binding.name]
        self._retired.append(mounted)
        mounted.unsubscribe()
        if mounted.refresher is not None:
            mounted.refresher.cancel()
        self._changed()

    def _changed(self) -> None:
        self.generation += 1
        self._near.cache_clear()
        found = {
            action.ref: action for one in self._mounted.values() for action in one.binding.actions.values()
        }
        self._actions = {ref: found[ref] for ref in sorted(found, key=code_units)}

    def _note_change(self, mounted: Mounted) -> None:
        """A provider said that its list changed: list again, once for all that was said meanwhile."""
        mounted.stale = True
        if mounted.refresher is None and self._mounted.get(mounted.binding.name) is mounted:
            mounted.refresher = start(self._keep_fresh(mounted))

    async def _keep_fresh(self, mounted: Mounted) -> None:
        try:
            while mounted.stale:
                # A provider that says so on every listing must not keep the loop busy.
                await asyncio.sleep(max(0.0, mounted.listed_at + _PAUSE_SECONDS - self._clock.monotonic()))
                mounted.stale = False
                try:
                    await self.refresh(mounted.binding.name)
                    mounted.problem = None
                except MountError as error:
                    mounted.problem = str(error)
                mounted.listed_at = self._clock.monotonic()
        finally:
            mounted.refresher = None

    async def _tell_ended(self, mounted: Mounted, member: Callable[..., object], invocation_id: str) -> None:
        try:
            answer = await attempt(member, invocation_id, within=ENDED_SECONDS)
        except TimeoutError as error:
            answer = Raised(error)
        if isinstance(answer, Raised):
            mounted.problem = f"invocation_ended() failed: {one_line(repr(answer.error))}"

    async def _close(self, mounted: Mounted) -> None:
        problem = await mounted.close(patience=CLOSE_SECONDS)
        if problem is not None:
            self._problems.append(f"provider {mounted.binding.name!r}: {problem}")

    def _unknown(self, ref: str) -> str:
        if len(ref) > MAX_REF:
            return f"a ref has at most {MAX_REF} characters, this one has {len(ref)}"
        shown = one_line(ref)
        provider = ref.partition(".")[0]
        if split_ref(ref) is not None and provider in self._mounted:
            start = f"{provider} has no action {one_line(ref.partition('.')[2])!r}"
        elif split_ref(ref) is not None:
            start = f"no provider is called {one_line(provider)!r}; there are: {_enumerated(self._mounted)}"
        else:
            start = f"{shown!r} names no action; a ref is provider.action"
        near = self._near(ref)
        return f"{start}. Did you mean {' or '.join(near)}?" if near else start

    def _find_near(self, ref: str) -> tuple[str, ...]:
        provider, _dot, name = ref.partition(".")
        tail = ref.rpartition(".")[2]
        same = [one for one in self._actions if one.endswith(f".{tail}")] if tail else []
        if same:
            return tuple(same[:3])
        mounted = self._mounted.get(provider)
        if mounted is not None and (near := near_names(name, mounted.binding.actions)):
            return tuple(f"{provider}.{one}" for one in near)
        return near_names(ref, self._actions)


def _relay(
    loop: asyncio.AbstractEventLoop,
) -> tuple[Callable[[], None], Callable[[Callable[[], None]], None]]:
    """What a provider may call from any thread, and how to say later where it leads.

    A change that is announced before anybody can act on it is not lost.
    """
    heard: list[bool] = []
    targets: list[Callable[[], None]] = []

    def arrive() -> None:
        heard.append(True)
        for target in targets:
            target()

    def announce() -> None:
        with suppress(RuntimeError):  # the loop is closed: there is no registry left to tell
            loop.call_soon_threadsafe(arrive)

    def connect(target: Callable[[], None]) -> None:
        targets.append(target)
        if heard:
            target()

    return announce, connect


def _same(one: Binding, other: Binding) -> bool:
    """Whether two bindings declare exactly the same."""
    digests = [{name: action.digest for name, action in binding.actions.items()} for binding in (one, other)]
    return digests[0] == digests[1] and one.description == other.description


def _enumerated(names: Iterable[str]) -> str:
    ordered = sorted_code_units(names)
    more = f" and {len(ordered) - _SHOWN_NAMES} more" if len(ordered) > _SHOWN_NAMES else ""
    return (", ".join(ordered[:_SHOWN_NAMES]) or "none") + more


def _quietly(end: Callable[[], object]) -> None:
    with suppress(Exception):  # ending a subscription is a courtesy, and the provider is closed next
        end()
