"""What a program holds when it names a namespace or a tool.

A namespace is an opaque object of the host's that the sandbox asks about by its id, which a program never
sees; a tool as a value is a host function whose name is its ref. No name that a program can write has a
dot, so such a name cannot be forged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from pydantic_monty import ClassInstance, ClassType

from toolfabric.kernels.names import GuestError, Namespace

__all__ = ["Holders"]


class _Held(ClassInstance):
    """A namespace in the sandbox: its namespaces go with it, its tools are asked for by name."""

    inner: Mapping[str, ClassInstance]

    def get_eager_attrs(self) -> dict[str, Any]:
        return dict(self.inner)


class Holders:
    """The objects of one run, made when they are first named."""

    def __init__(self, names: Mapping[str, Namespace]) -> None:
        self._names = names
        self._made: dict[str, _Held] = {}
        self._nodes: dict[UUID, Namespace] = {}
        self._refs: set[str] = set()

    def name(self, name: str) -> ClassInstance | None:
        """What a top-level name stands for, if it is a namespace."""
        node = self._names.get(name)
        return None if node is None else self._held(node)

    def attribute(self, holder: UUID, attribute: str) -> ClassInstance | Callable[[], None] | None:
        """What ``namespace.attribute`` stands for as a value; ``None`` if there is no such thing."""
        node = self._nodes.get(holder)
        member = None if node is None else node.members.get(attribute)
        if member is None:
            return None
        return self._held(member) if member.members else self._tool(member.path)

    def called(self, holder: UUID | None, name: str) -> str:
        """The ref that a call means.

        An action that nobody declared is a ref all the same: the registry refuses and records it.

        Raises:
            GuestError: What was called is no tool.
        """
        if holder is None:
            if name in self._refs:
                return name
            if name in self._names:
                raise GuestError("TypeError", f"{name} is a namespace; call one of its tools")
            raise GuestError("NameError", f"name '{name}' is not defined")
        node = self._nodes.get(holder)
        if node is None:
            raise GuestError("TypeError", "a namespace cannot be made")
        if name != "__call__":
            return node.member_ref(name)
        if node.declaration is None:
            raise GuestError("TypeError", f"{node.path} is a namespace; call one of its tools")
        return node.path

    def _held(self, node: Namespace) -> _Held:
        made = self._made.get(node.path)
        if made is None:
            kind = type(node.path, (), {})
            number = 2 * len(self._nodes) + 1
            made = _Held(kind(), id=UUID(int=number), class_type=ClassType(kind, id=UUID(int=number + 1)))
            self._nodes[made.id] = node
            made.inner = {name: self._held(one) for name, one in node.members.items() if one.members}
            self._made[node.path] = made
        return made

    def _tool(self, ref: str) -> Callable[[], None]:
        def tool() -> None:
            """Stands for the tool inside the sandbox; it is never run here."""

        tool.__name__ = ref
        self._refs.add(ref)
        return tool
