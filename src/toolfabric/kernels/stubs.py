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
from typing import Final

from toolfabric.kernels.names import Namespace
from toolfabric.protocols import ActionDeclaration
from toolfabric.values import Json, JsonObject

__all__ = ["STUB_CLASS", "StubCache", "method_parameters", "stub_text", "type_of"]

STUB_CLASS: Final = "_Namespace_"
"""How the classes of the stub begin; a diagnostic that names one is about a call of a tool."""

_HEAD: Final = "from typing import Any, Coroutine, Literal\n"
_ANYTHING: Final = "*_given: Any, **_named: Any"
_RESULT: Final = "Coroutine[Any, Any, Any]"
_PLAIN: Final = re.compile(r"[A-Za-z0-9 _.:/+-]{1,64}")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_MAX_PROPERTIES: Final = 128
_MAX_MEMBERS: Final = 32
_MAX_DEPTH: Final = 4
_CACHED: Final = 4_096
_COMBINED: Final = ("anyOf", "oneOf", "allOf", "not", "if", "$ref", "patternProperties")
_SIMPLE: Final[dict[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}


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


def stub_text(
    names: Mapping[str, Namespace], *, code: str, bound: AbstractSet[str], cache: StubCache | None = None
) -> str:
    """The stub for one program: only what its text mentions, so that a large surface costs nothing.

    ``bound`` are names that the program gives a meaning of its own; they are typed as anything.
    """
    writer = _Writer(set(re.findall(r"\w+", code)), cache or StubCache())
    lines = [_HEAD, "payloads: dict[str, str]" if "payloads" not in bound else "payloads: Any"]
    for name, node in names.items():
        if name not in writer.mentioned:
            continue
        if name in bound:
            lines.append(f"{name}: Any")
        else:
            lines.append(f"{name}: {writer.namespace(node)}")
    return "\n".join([lines[0], *writer.classes, *lines[1:], ""])


class _Writer:
    def __init__(self, mentioned: set[str], cache: StubCache) -> None:
        self.mentioned = mentioned
        self.classes: list[str] = []
        self._cache = cache

    def namespace(self, node: Namespace) -> str:
        """Write the class of a namespace and give its name."""
        body = [line for name, member in node.members.items() for line in self._member(name, member)]
        name = f"{STUB_CLASS}{len(self.classes)}"
        call = f"    def __call__(self, {_ANYTHING}) -> {_RESULT}: ...\n" if node.declaration else ""
        self.classes.append(
            f"class {name}:\n{call}{''.join(body)}    def __getattr__(self, name: str) -> Any: ...\n"
        )
        return name

    def _member(self, name: str, member: Namespace) -> Iterator[str]:
        if name not in self.mentioned:
            return
        if member.members:
            yield f"    {name}: {self.namespace(member)}\n"
        elif member.declaration is not None:
            yield f"    def {name}({self._cache.parameters(member.declaration)}) -> {_RESULT}: ...\n"


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
    rest = ["**_named: Any"] if is_open else []
    star = ["*"] if named else []
    return ", ".join(["_self", "_given: Any = ...", "/", *star, *named, *rest])


def type_of(schema: Json, depth: int = 0) -> str:
    """The type of a value that a schema accepts, ``Any`` where it cannot be said simply.

    It may accept more than the schema, never less.
    """
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return "Any"
    if "enum" in schema or "const" in schema:
        return _literals(schema)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            branches = schema[word]
            return (
                _union(type_of(one, depth + 1) for one in branches) if isinstance(branches, list) else "Any"
            )
    if any(word in schema for word in _COMBINED):
        return "Any"
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _union(_simple(kind, schema, depth) for kind in kinds)
    return _simple(kinds, schema, depth)


def _simple(kind: Json, schema: JsonObject, depth: int) -> str:
    if kind == "array":
        item = type_of(schema.get("items"), depth + 1)
        return f"list[{item}] | tuple[{item}, ...]"
    return _SIMPLE.get(kind, "Any") if isinstance(kind, str) else "Any"


def _union(types: Iterator[str]) -> str:
    found = list(dict.fromkeys(types))
    return " | ".join(found) if found and "Any" not in found else "Any"


def _literals(schema: JsonObject) -> str:
    members = [schema["const"]] if "const" in schema else schema["enum"]
    if not isinstance(members, list) or not 0 < len(members) <= _MAX_MEMBERS:
        return "Any"
    if all(isinstance(one, str) and _PLAIN.fullmatch(one) for one in members):
        return f"Literal[{', '.join(repr(one) for one in members)}]"
    return "Any"


def _is_parameter(name: str) -> bool:
    """A double underscore would be mangled in a class; the stub's own names begin with one."""
    return _NAME.fullmatch(name) is not None and not keyword.iskeyword(name)
