"""How the sandbox's Python differs from CPython: the one table.

Hints before and during a run are made from it, and so are the pages of the documentation. It is data
about ``pydantic-monty`` 1.4.0, found by running each construct; a test runs them again, so that an
upgrade which changes one is noticed. It is not the check itself (see ``survey`` and ``faults``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "BUILTINS",
    "CONSTRUCTS",
    "MISSING_NAMES",
    "MODULES",
    "MODULE_ADVICE",
    "RAISED_ADVICE",
    "SILENT",
    "Difference",
    "RaisedAdvice",
    "construct",
    "module_advice",
    "raised_hint",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that CPython has and the sandbox has not, or has otherwise.

    ``instead`` completes the sentence "write …". ``example`` is a program that shows the difference.
    """

    key: str
    what: str
    instead: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RaisedAdvice:
    """What to say when a program raised an error whose ``Type: message`` fits ``pattern``."""

    pattern: re.Pattern[str]
    hint: str


_PLAIN_CLASSES = "a class without bases, a plain dict, or collections.namedtuple"

CONSTRUCTS: Final[tuple[Difference, ...]] = (
    Difference(
        key="inheritance",
        what="a class with a base class or a metaclass",
        instead=f"{_PLAIN_CLASSES}; for an error of your own, RuntimeError with a prefix in its message",
        example="class Problem(Exception):\n    pass",
    ),
    Difference(
        key="method-decorator",
        what="a decorator on a method (property, staticmethod, classmethod and others)",
        instead="a plain method, or a function outside the class",
        example="class Box:\n    @property\n    def size(self):\n        return 1",
    ),
    Difference(
        key="class-body",
        what="a class body with more than methods and simple variables",
        instead="the other statements outside the class",
        example="class Outer:\n    class Inner:\n        pass",
    ),
    Difference(
        key="del",
        what="the del statement",
        instead="mapping.pop(key) or items.pop(index); a variable can be set to None",
        example="items = [1]\ndel items[0]",
    ),
    Difference(
        key="yield",
        what="yield, and so generator functions",
        instead="a function that returns a list",
        example="def numbers():\n    yield 1",
    ),
    Difference(
        key="async-with",
        what="async with",
        instead="try and finally around the awaits",
        example="async def run(lock):\n    async with lock:\n        pass",
    ),
    Difference(
        key="async-for",
        what="async for, also in comprehensions",
        instead="a for loop over a list, with await in its body",
        example="async def run(items):\n    async for item in items:\n        pass",
    ),
    Difference(
        key="except-star",
        what="except*",
        instead="except with a tuple of types",
        example="try:\n    pass\nexcept* ValueError:\n    pass",
    ),
    Difference(
        key="type-alias",
        what="the type statement",
        instead="a plain assignment, or no alias",
        example="type Name = str",
    ),
    Difference(
        key="star-import",
        what="import of *",
        instead="the names that are needed",
        example="from math import *",
    ),
    Difference(
        key="relative-import",
        what="a relative import",
        instead="an absolute import of a module that the sandbox has",
        example="from . import names",
    ),
    Difference(
        key="matrix-assign",
        what="the @= operator",
        instead="a loop or a function",
        example="left = 1\nleft @= 2",
    ),
    Difference(
        key="exception-arguments",
        what="an exception made with several arguments, or one that is not text",
        instead='one string, such as ValueError(f"{name}: {reason}")',
        example="raise ValueError(1)",
    ),
)
"""What never works, wherever it stands; all of it can be seen before a run."""

MODULES: Final = frozenset(
    (
        "__future__",
        "asyncio",
        "base64",
        "binascii",
        "bisect",
        "collections",
        "copy",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
        "functools",
        "hashlib",
        "itertools",
        "json",
        "math",
        "os",
        "os.path",
        "pathlib",
        "posixpath",
        "random",
        "re",
        "sys",
        "time",
        "tomllib",
        "typing",
        "unicodedata",
    )
)
"""Every module that can be imported."""

MODULE_ADVICE: Final[dict[str, str]] = {
    "abc": _PLAIN_CLASSES,
    "aiohttp": "a tool that reaches the network; the sandbox does not",
    "collections.abc": "typing (Callable, Iterable, Mapping, Sequence) or no annotation",
    "concurrent": "asyncio.gather or workflow.parallel",
    "contextlib": "try and finally, or a class with __enter__ and __exit__",
    "difflib": "a comparison of your own",
    "enum": "string constants",
    "fnmatch": "re, or pi.find with a pattern",
    "glob": "pi.find with a pattern",
    "heapq": "sorted, min and max, or bisect",
    "httpx": "a tool that reaches the network; the sandbox does not",
    "inspect": "the docs that tools.describe gives",
    "io": "lists of strings and str.join",
    "logging": "print, which goes to the activity log",
    "multiprocessing": "asyncio.gather or workflow.parallel",
    "numpy": "lists, math and sum",
    "operator": "a lambda",
    "pandas": "lists of dicts, csv and sorted",
    "pickle": "json",
    "pprint": "json.dumps(value, indent=2)",
    "queue": "collections.deque",
    "requests": "a tool that reaches the network; the sandbox does not",
    "secrets": "random, which is not for secrets",
    "shlex": "str.split, or a list of arguments",
    "shutil": "the tools that change files",
    "socket": "a tool that reaches the network; the sandbox does not",
    "statistics": "sum(values) / len(values), sorted and math",
    "string": "the characters themselves, as a literal",
    "subprocess": "pi.bash",
    "tempfile": "a path in the workspace",
    "textwrap": "str.splitlines, slices and str.join",
    "threading": "asyncio.gather or workflow.parallel",
    "traceback": "str(error) and type(error).__name__",
    "types": "a plain dict",
    "typing_extensions": "typing",
    "urllib": "a tool that reaches the network; the sandbox does not",
    "uuid": "random, or an id that a tool gives",
    "yaml": "json, or text of your own",
    "zoneinfo": "datetime.timezone with a fixed offset",
}
"""What to use instead of a module that is not there, where something is."""

BUILTINS: Final = frozenset(
    (
        *("ArithmeticError", "AssertionError", "AttributeError", "BaseException", "Ellipsis", "Exception"),
        *("FileExistsError", "FileNotFoundError", "ImportError", "IndexError", "IsADirectoryError"),
        *("KeyError", "KeyboardInterrupt", "LookupError", "MemoryError", "ModuleNotFoundError", "NameError"),
        *("NotADirectoryError", "NotImplemented", "NotImplementedError", "OSError", "OverflowError"),
        *("PermissionError", "RecursionError", "RuntimeError", "StopIteration", "SyntaxError"),
        *("SystemExit", "TimeoutError", "TypeError", "UnboundLocalError", "UnicodeDecodeError"),
        *("UnicodeEncodeError", "ValueError", "ZeroDivisionError", "__annotations__", "__debug__"),
        *("__doc__", "__file__", "__name__", "__package__", "__spec__", "abs", "all", "any", "bin"),
        *("bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate", "eval", "exec", "filter"),
        *("float", "format", "frozenset", "getattr", "hasattr", "hash", "hex", "id", "int", "isinstance"),
        *("iter", "len", "list", "locals", "map", "max", "min", "next", "object", "oct", "open", "ord"),
        *("pow", "print", "property", "range", "repr", "reversed", "round", "set", "setattr", "slice"),
        *("sorted", "str", "sum", "tuple", "type", "zip"),
    )
)
"""Every name that a program has without binding it."""

MISSING_NAMES: Final[dict[str, str]] = {
    "BaseExceptionGroup": "an exception for each failure",
    "ConnectionError": "OSError",
    "EOFError": "ValueError or RuntimeError",
    "EnvironmentError": "OSError",
    "ExceptionGroup": "an exception for each failure",
    "IOError": "OSError",
    "StopAsyncIteration": "a for loop over a list",
    "UnicodeError": "UnicodeDecodeError or UnicodeEncodeError",
    "__builtins__": "the names themselves",
    "__import__": "an import statement",
    "aiter": "a for loop over a list",
    "anext": "a for loop over a list",
    "ascii": "repr",
    "breakpoint": "print",
    "bytearray": "bytes, or a list of bytes joined at the end",
    "callable": 'type(value).__name__ == "function"',
    "classmethod": "a function",
    "compile": "exec or eval with the text",
    "delattr": "None as the attribute's value",
    "dir": "the attributes by name",
    "exit": "return",
    "globals": "a dict of your own",
    "help": "tools.describe",
    "input": 'payloads["key"]',
    "issubclass": "isinstance on a value",
    "memoryview": "slices of bytes",
    "quit": "return",
    "staticmethod": "a function",
    "super": "a function that is called by name",
    "vars": "the attributes by name",
}
"""Builtins of CPython that are not there, and what to write instead."""

SILENT: Final[tuple[Difference, ...]] = (
    Difference(
        key="round-half",
        what="round(2.675, 2) is 2.68, not 2.67",
        instead="decimal.Decimal where the last digit matters",
        example="round(2.675, 2)",
    ),
    Difference(
        key="dict-order",
        what="dict(**values, b=2) puts b first",
        instead="{**values, 'b': 2}",
        example='list(dict(**{"a": 1}, b=2))',
    ),
    Difference(
        key="bool-method",
        what="a __bool__ method is ignored; an object is always true",
        instead="a method that is called by name",
        example="class Flag:\n    def __bool__(self):\n        return False\n1 if Flag() else 0",
    ),
    Difference(
        key="eager",
        what="map, zip, enumerate and generator expressions are made at once, as lists",
        instead="a loop with break over what has no end",
        example="type(x for x in [1]).__name__",
    ),
)
"""What runs, but not as in CPython."""


def _advice(pattern: str, hint: str) -> RaisedAdvice:
    return RaisedAdvice(pattern=re.compile(pattern, re.DOTALL), hint=hint)


_GATHER_SETTLED = (
    "write workflow.parallel(calls, settle=True), or a helper with try and except around the await"
)

RAISED_ADVICE: Final[tuple[RaisedAdvice, ...]] = (
    _advice(
        r"'coroutine'|coroutine object",
        'a call of a tool must be awaited before its result is used: write value = await pi.read(path="x")',
    ),
    _advice(
        r"cannot suspend in this synchronous context",
        "a tool cannot be called from a key= function or a callback: call it in a loop or a list "
        "comprehension first, or use workflow.parallel",
    ),
    _advice(r"gather\(\) does not yet support keyword arguments", _GATHER_SETTLED),
    _advice(
        r"module 'asyncio' has no attribute '(create_task|TaskGroup|ensure_future|wait|as_completed)'",
        "a call of a tool starts when it is made: keep it in a variable and await it later, or use "
        "asyncio.gather or workflow.parallel",
    ),
    _advice(
        r"module 'asyncio' has no attribute '(wait_for|timeout)'",
        "there are no timeouts inside a program; the program as a whole has one",
    ),
    _advice(
        r"module 'asyncio' has no attribute '(Semaphore|Lock|Queue|BoundedSemaphore|Event)'",
        "calls that are too many at once wait by themselves; for an order of your own, await in a loop",
    ),
    _advice(r"module 'asyncio' has no attribute", "asyncio has gather, run and sleep here"),
    _advice(
        r"exceptions can only be called with zero or one string argument",
        'give an exception one string: ValueError(f"{name}: {reason}")',
    ),
    _advice(r"'list' object is not an iterator", "write next(iter(items)) or items[0]"),
    _advice(r"^NameError: name 'asyncio' is not defined", "write import asyncio at the top"),
    _advice(
        r"callable replacement is not yet supported in re\.sub", "loop over re.finditer and join the parts"
    ),
    _advice(r"JSONEncoder\.__init__\(\) got an unexpected keyword argument", "convert the values first"),
    _advice(
        r"'Path' object has no attribute|'PosixPath' object",
        "use pathlib for names only; files go through pi",
    ),
    _advice(r"module 'functools' has no attribute 'wraps'", "leave the decorator out; nothing else needs it"),
    _advice(r"module 'functools' has no attribute 'cmp_to_key'", "write key= with a tuple or a number"),
    _advice(r"module 'sys' has no attribute 'exit'", "write return"),
    _advice(r"from 'dataclasses'", "dataclasses has dataclass and field; build the dict by hand"),
    _advice(r"from 'typing'", "leave the annotation out, or write it as a string"),
    _advice(r"from 'datetime'|attribute 'UTC'", "datetime has timezone.utc in place of UTC"),
    _advice(r"'int' object has no attribute 'bit_length'", "write len(bin(value)) - 2"),
    _advice(r"cannot convert 'list' object to bytes", 'write "".join(map(chr, items)).encode("latin-1")'),
    _advice(r"has no attribute '(maketrans|translate)'", "chain str.replace, or join over the characters"),
    _advice(r"object has no attribute '__(class|name|cause|dict)__'", "write type(value).__name__"),
    _advice(
        r"object of type '\w+' has no len\(\)", "a class here has no __len__: give it a method with a name"
    ),
    _advice(r"'<' not supported between instances of '(\w+)' and '\1'", "write key= for sorted, min or max"),
    _advice(
        r"'(NoneType|\w+)' object can't be awaited",
        "only a call of a tool or of an async function is awaited",
    ),
)
"""Advice for errors that the difference itself causes; the first that fits is given."""

_BY_KEY: Final = {one.key: one for one in CONSTRUCTS}
_PARSER_KEYS: Final[tuple[tuple[str, str], ...]] = (
    ("class inheritance", "inheritance"),
    ("method decorators", "method-decorator"),
    ("class bodies", "class-body"),
    ("'del' statement", "del"),
    ("yield expressions", "yield"),
    ("async context managers", "async-with"),
    ("async for", "async-for"),
    ("async comprehensions", "async-for"),
    ("exception groups", "except-star"),
    ("type aliases", "type-alias"),
    ("Wildcard imports", "star-import"),
    ("relative import", "relative-import"),
    ("matrix multiplication augmented", "matrix-assign"),
)


def construct(key: str) -> Difference:
    """The construct of that key.

    Raises:
        KeyError: There is none.
    """
    return _BY_KEY[key]


def module_advice(name: str) -> str | None:
    """What to use instead of a module that the sandbox has not, looked up by its dotted name."""
    advice = MODULE_ADVICE.get(name) or MODULE_ADVICE.get(name.partition(".")[0])
    return None if advice is None else f"use {advice}"


def raised_hint(text: str, kind: Literal["raised", "parser"] = "raised") -> str | None:
    """The advice for an error's ``Type: message``, if the table has any.

    ``kind`` is ``parser`` for what the sandbox's parser refused.
    """
    if kind == "parser":
        key = next((key for part, key in _PARSER_KEYS if part in text), None)
        return None if key is None else f"write {_BY_KEY[key].instead}"
    return next((one.hint for one in RAISED_ADVICE if one.pattern.search(text)), None)
