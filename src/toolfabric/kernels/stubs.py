"""Type stubs from live schemas: what the program's type check knows of the tools.

Schemas come from tool servers, so their text is hostile until shown otherwise. Of it, only property
names that are Python names, and enum members that are short and plain, ever reach the stub, the latter
as literals; descriptions, defaults, titles and everything else are dropped. A schema that this cannot
read gives a method that takes anything: the registry validates every call anyway.
"""

from __future__ import annotations

import keyword
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from toolfabric.kernels.names import Namespace
from toolfabric.protocols import ActionDeclaration
from toolfabric.values import Json, JsonObject

__all__ = ["STUB_CLASS", "Stub", "StubCache", "method_parameters", "stub_for", "type_of"]

STUB_CLASS: Final = "_Namespace_"
"""How the classes of the stub begin; a diagnostic that names one is about a call of a tool."""

# Every name in an annotation begins with an underscore, and no member does: a method called ``list``
# or ``str`` would otherwise be taken for the type by the methods beside it.
_HEAD: Final = (
    "from typing import Any as _Any, Coroutine as _Coroutine, Literal as _Literal\n"
    "_str = str\n_int = int\n_float = float\n_bool = bool\n_dict = dict\n_list = list\n_tuple = tuple\n"
)
_ANYTHING: Final = "*_given: _Any, **_named: _Any"
_RESULT: Final = "_Coroutine[_Any, _Any, _Any]"
_PLAIN: Final = re.compile(r"[A-Za-z0-9 _.:/+-]{1,64}")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_MAX_PROPERTIES: Final = 128
_MAX_MEMBERS: Final = 32
_MAX_DEPTH: Final = 4
_CACHED: Final = 4_096
_COMBINED: Final = ("anyOf", "oneOf", "allOf", "not", "if", "$ref", "patternProperties")
_SIMPLE: Final[dict[str, str]] = {
    "string": "_str",
    "integer": "_int",
    "number": "_float",
    "boolean": "_bool",
    "null": "None",
    "object": "_dict[_str, _Any]",
}


@dataclass(frozen=True, slots=True)
class Stub:
    """The text of a stub, and for each of its classes the namespace that it stands for."""

    text: str
    paths: Mapping[str, str]


class StubCache:
    """Method stubs by the identity of their schema; a schema that was replaced is another object."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[JsonObject, str]] = OrderedDict()

    def parameters(self, declaration: ActionDeclaration) -> str:
        """The parameters of an action's method."""
        schema = declaration.input_schema
        kept = self._kept.get(id(schema))
        if kept is not None and kept[0] is schema:
            return kept[1]
        made = method_parameters(schema)
        self._kept[id(schema)] = (schema, made)
        if len(self._kept) > _CACHED:
            self._kept.popitem(last=False)
        return made


def stub_for(
    names: Mapping[str, Namespace], *, code: str, bound: AbstractSet[str], cache: StubCache | None = None
) -> Stub:
    """The stub for one program: only what its text mentions, so that a large surface costs nothing.

    ``bound`` are names that the program gives a meaning of its own; they are typed as anything.
    """
    writer = _Writer(set(re.findall(r"\w+", code)), cache or StubCache())
    lines = [_HEAD, "payloads: _dict[_str, _str]" if "payloads" not in bound else "payloads: _Any"]
    for name, node in names.items():
        if name not in writer.mentioned:
            continue
        if name in bound:
            lines.append(f"{name}: _Any")
        else:
            lines.append(f"{name}: {writer.namespace(node)}")
    return Stub("\n".join([lines[0], *writer.classes, *lines[1:], ""]), writer.paths)


class _Writer:
    def __init__(self, mentioned: set[str], cache: StubCache) -> None:
        self.mentioned = mentioned
        self.classes: list[str] = []
        self.paths: dict[str, str] = {}
        self._cache = cache

    def namespace(self, node: Namespace) -> str:
        """Write the class of a namespace and give its name."""
        body = [line for name, member in node.members.items() for line in self._member(name, member)]
        name = f"{STUB_CLASS}{len(self.classes)}"
        self.paths[name] = node.path
        call = f"    def __call__(self, {_ANYTHING}) -> {_RESULT}: ...\n" if node.declaration else ""
        self.classes.append(
            f"class {name}:\n{call}{''.join(body)}    def __getattr__(self, name: _str) -> _Any: ...\n"
        )
        return name

    def _member(self, name: str, member: Namespace) -> Iterator[str]:
        if name not in self.mentioned:
            return
        if member.members:
            yield f"    {name}: {self.namespace(member)}\n"
        elif member.declaration is not None:
            yield f"    def {name}({self._cache.parameters(member.declaration)}) -> {_RESULT}: ...\n"
        elif member.path.startswith("tools."):
            yield f"    def {name}(_self, {_ANYTHING}) -> {_RESULT}: ...\n"


def method_parameters(schema: JsonObject) -> str:
    """The parameters for an input schema: keywords, or one positional dict that is not looked into."""
    properties = schema.get("properties", {})
    if schema.get("type", "object") != "object" or any(word in schema for word in _COMBINED):
        return f"_self, {_ANYTHING}"
    if not isinstance(properties, dict) or len(properties) > _MAX_PROPERTIES:
        return f"_self, {_ANYTHING}"
    required = schema.get("required")
    listed: list[Json] = required if isinstance(required, list) else []
    needed = {name for name in listed if isinstance(name, str)}
    writable = {name: value for name, value in properties.items() if _is_parameter(name)}
    if not needed <= writable.keys():
        return f"_self, {_ANYTHING}"
    named = [
        f"{name}: {type_of(value)}" + ("" if name in needed else " = ...") for name, value in writable.items()
    ]
    is_open = schema.get("additionalProperties") is not False or len(writable) < len(properties)
    rest = ["**_named: _Any"] if is_open else []
    star = ["*"] if named else []
    return ", ".join(["_self", "_given: _Any = ...", "/", *star, *named, *rest])


def type_of(schema: Json, depth: int = 0) -> str:
    """The type of a value that a schema accepts, ``_Any`` where it cannot be said simply.

    It may accept more than the schema, never less.
    """
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return "_Any"
    if "enum" in schema or "const" in schema:
        return _literals(schema)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            branches = schema[word]
            return (
                _union(type_of(one, depth + 1) for one in branches) if isinstance(branches, list) else "_Any"
            )
    if any(word in schema for word in _COMBINED):
        return "_Any"
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _union(_simple(kind, schema, depth) for kind in kinds)
    return _simple(kinds, schema, depth)


def _simple(kind: Json, schema: JsonObject, depth: int) -> str:
    if kind == "array":
        item = type_of(schema.get("items"), depth + 1)
        return f"_list[{item}] | _tuple[{item}, ...]"
    return _SIMPLE.get(kind, "_Any") if isinstance(kind, str) else "_Any"


def _union(types: Iterator[str]) -> str:
    found = list(dict.fromkeys(types))
    return " | ".join(found) if found and "_Any" not in found else "_Any"


def _literals(schema: JsonObject) -> str:
    members = [schema["const"]] if "const" in schema else schema["enum"]
    if not isinstance(members, list) or not 0 < len(members) <= _MAX_MEMBERS:
        return "_Any"
    if all(isinstance(one, str) and _PLAIN.fullmatch(one) for one in members):
        return f"_Literal[{', '.join(repr(one) for one in members)}]"
    return "_Any"


def _is_parameter(name: str) -> bool:
    """A double underscore would be mangled in a class; the stub's own names begin with one."""
    return _NAME.fullmatch(name) is not None and not keyword.iskeyword(name)
