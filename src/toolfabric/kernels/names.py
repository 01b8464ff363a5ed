"""What a program can name: one namespace per provider, ``tools`` and ``workflow``.

Refs become a tree by their dots. Names in refs come from tool servers, so they are data: a part that
is no Python name gets a cleaned attribute when that is unambiguous, and is otherwise reached with
``tools.call`` alone. Nothing here touches the sandbox.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, cast

from toolfabric._base.suggest import near_names
from toolfabric.kernels.subset import BUILTINS
from toolfabric.protocols import ActionDeclaration

__all__ = ["FIXED", "GuestError", "Namespace", "attribute_names", "name_tree", "read_call"]

_NOT_NAME: Final = re.compile(r"[^0-9A-Za-z_]+")
_RESERVED: Final = BUILTINS | {"payloads", "tools", "workflow"}

FIXED: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "tools": {
            "providers": (),
            "search": ("query", "limit"),
            "describe": ("name",),
            "list": ("provider",),
            "catalog": (),
            "call": ("ref", "args"),
        },
        "workflow": {
            "phase": ("name",),
            "item": ("name", "status"),
            "event": ("name", "data"),
            "progress": ("done", "total", "message"),
            "parallel": ("count",),
            "pipeline": ("count",),
        },
    }
)
"""The two namespaces that are always there, each method with the names of its positional arguments."""


class GuestError(Exception):
    """An error to raise in the program, at the call that caused it: a builtin type and a message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message


@dataclass(slots=True, kw_only=True)
class Namespace:
    """A node of the tree: something that can be called, has members, or both.

    ``path`` is the dotted ref up to here, ``declaration`` the action of exactly that ref. ``members``
    are by the attribute that a program writes.
    """

    path: str
    declaration: ActionDeclaration | None = None
    members: dict[str, Namespace] = field(default_factory=dict[str, "Namespace"])

    @property
    def is_fixed(self) -> bool:
        """Whether it is ``tools`` or ``workflow``, whose methods are not actions."""
        return self.path in FIXED

    def member_ref(self, attribute: str) -> str:
        """The ref that a call of that attribute means, known or not.

        Raises:
            GuestError: ``tools`` and ``workflow`` have no such method.
        """
        member = self.members.get(attribute)
        if member is not None:
            return member.path
        if self.is_fixed:
            near = near_names(attribute, self.members)
            meant = f"; did you mean {self.path}.{near[0]}?" if near else ""
            there = ", ".join(self.members)
            raise GuestError("AttributeError", f"{self.path} has no {attribute}{meant} There are: {there}")
        return f"{self.path}.{attribute}"


def name_tree(actions: Sequence[ActionDeclaration]) -> Mapping[str, Namespace]:
    """The top-level names for a surface.

    A provider whose name is a builtin's is not given a name of its own: shadowing ``list`` would
    break programs that never heard of it. It stays reachable with ``tools.call``.
    """
    root = Namespace(path="")
    for action in actions:
        node = root
        for part in action.ref.split("."):
            path = f"{node.path}.{part}" if node.path else part
            node = node.members.setdefault(part, Namespace(path=path))
        node.declaration = action
    _rename(root)
    found = {name: node for name, node in root.members.items() if name not in _RESERVED}
    for name, methods in FIXED.items():
        members = {method: Namespace(path=f"{name}.{method}") for method in methods}
        found[name] = Namespace(path=name, members=members)
    return found


def attribute_names(parts: Iterable[str]) -> dict[str, str]:
    """For each part of a ref that a program can write as an attribute, how to write it.

    A Python name stands for itself. In any other, what cannot stand in a name becomes ``_`` and the
    ends are trimmed: ``get-issue`` is ``get_issue``, ``$servers`` is ``servers``. Two that come out
    alike, or like a real name, get none.
    """
    exact: dict[str, str] = {}
    cleaned: dict[str, str] = {}
    for part in parts:
        if _is_attribute(part):
            exact[part] = part
        else:
            cleaned[part] = _clean(part)
    counts = Counter(cleaned.values())
    usable = {
        part: name
        for part, name in cleaned.items()
        if counts[name] == 1 and name not in exact and _is_attribute(name)
    }
    return exact | usable


def read_call(ref: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The one argument value of a call: keywords, or one positional value (design 10, Guest names).

    A single positional value that is not a dict goes to the registry as it is, which refuses and
    records it; that is where a wrong shape belongs.

    Raises:
        GuestError: Positional values and keywords that cannot be one object.
    """
    group, _dot, method = ref.partition(".")
    positions = FIXED.get(group, {}).get(method)
    if positions is not None:
        return _fixed_arguments(ref, positions, args, kwargs)
    if not args:
        return dict(kwargs)
    if len(args) > 1 or kwargs:
        raise GuestError(
            "TypeError", f"{ref} takes keywords, as in {ref}(name=value), or one dict; not a mixture"
        )
    return args[0]


def _fixed_arguments(
    ref: str, positions: tuple[str, ...], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    if len(args) == 1 and not kwargs and isinstance(args[0], dict) and ref != "tools.call":
        return cast("dict[str, Any]", args[0])
    if len(args) > len(positions):
        shape = ", ".join(positions)
        raise GuestError("TypeError", f"{ref}({shape}) takes at most {len(positions)} positional arguments")
    given = dict(zip(positions, args, strict=False))
    twice = sorted(given.keys() & kwargs.keys())
    if twice:
        raise GuestError("TypeError", f"{ref} got {twice[0]} twice")
    given |= kwargs
    if ref == "tools.call":
        return _computed_call(given)
    return given


def _computed_call(given: dict[str, Any]) -> dict[str, Any]:
    """``tools.call(ref, path="x")`` means the same as ``tools.call(ref, {"path": "x"})``."""
    extra = {name: value for name, value in given.items() if name not in {"ref", "args"}}
    if not extra:
        return given
    if "args" in given:
        raise GuestError(
            "TypeError", "tools.call takes a ref and one dict of arguments, or keywords; not both"
        )
    return {"ref": given.get("ref"), "args": extra}


def _rename(node: Namespace) -> None:
    names = attribute_names(node.members)
    node.members = {names[part]: member for part, member in node.members.items() if part in names}
    for member in node.members.values():
        _rename(member)


def _is_attribute(name: str) -> bool:
    """An attribute with a leading underscore is never asked of the host by the sandbox."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def _clean(part: str) -> str:
    return _NOT_NAME.sub("_", part).strip("_")
