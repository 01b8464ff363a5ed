"""The table of differences is true of the sandbox that is installed."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest

from toolfabric.kernels.names import name_tree
from toolfabric.kernels.subset import (
    BUILTINS,
    CONSTRUCTS,
    MISSING_NAMES,
    MODULE_ADVICE,
    MODULES,
    RAISED_ADVICE,
    SILENT,
    Difference,
    construct,
    module_advice,
    raised_hint,
)
from toolfabric.kernels.survey import survey
from toolfabric.protocols import FaultKind

pytestmark = pytest.mark.anyio

TRY_EACH = """
found = []
for name in payloads["names"].split():
    try:
        %s
        found.append(name)
    except %s:
        pass
return found
"""


async def hidden(run: Any, code: str) -> Any:
    """Run a text where no look ahead reads it, and tell its last value or its error."""
    return await run(f"exec({code!r})\nreturn 1")


@pytest.mark.parametrize("one", CONSTRUCTS, ids=lambda one: one.key)
async def test_each_construct_is_refused_by_the_sandbox_itself(run: Any, one: Difference) -> None:
    (fault,) = (await hidden(run, one.example)).faults
    assert fault.kind in {FaultKind.RAISED, FaultKind.SYNTAX}
    found = survey(one.example, name_tree([]))
    if sys.version_info >= (3, 12) or one.key != "type-alias":
        assert found is not None
        assert any(one.what in told.message for told in (*found.faults, *found.notes))
    assert construct(one.key) is one


CLASS_BODIES = [
    "x: int = 1",
    "x = y = 1",
    '"text"',
    "...",
    "x, y = 1, 2",
    "if True:\n        x = 1",
    "x = [1 for _ in range(2)]",
    "x: int",
    "async def f(self):\n        pass",
    "print(1)",
    "for x in [1]:\n        pass",
    "x += 1",
    "import json",
]


@pytest.mark.parametrize("body", CLASS_BODIES)
async def test_the_look_ahead_and_the_parser_agree_on_class_bodies(run: Any, body: str) -> None:
    code = f"class A:\n    {body}"
    found = survey(code, name_tree([]))
    assert found is not None
    assert bool(found.faults) is bool((await hidden(run, code)).faults)


async def test_the_names_of_the_table_are_the_names_of_the_sandbox(run: Any) -> None:
    names = sorted((set(dir(builtins)) | BUILTINS | MISSING_NAMES.keys()) - {"None", "True", "False"})
    ended = await run(
        TRY_EACH % ("eval(name)", "NameError"), program={"payloads": {"names": " ".join(names)}}
    )
    assert set(ended.value) == BUILTINS
    assert BUILTINS.isdisjoint(MISSING_NAMES)


async def test_the_modules_of_the_table_are_the_modules_of_the_sandbox(run: Any) -> None:
    names = sorted(
        {name for name in sys.stdlib_module_names if not name.startswith("_")}
        | MODULES
        | MODULE_ADVICE.keys()
    )
    code = TRY_EACH % ("exec('import ' + name)", "ImportError")
    ended = await run(code, program={"payloads": {"names": " ".join(names)}})
    assert set(ended.value) | {"__future__"} == MODULES


@pytest.mark.parametrize(
    ("key", "value"),
    [("round-half", 2.68), ("dict-order", ["b", "a"]), ("bool-method", 1), ("eager", "list")],
)
async def test_what_is_silently_different_is(run: Any, key: str, value: Any) -> None:
    (one,) = [one for one in SILENT if one.key == key]
    assert (await run(one.example)).value == value


def test_every_silent_difference_is_shown() -> None:
    assert {one.key for one in SILENT} == {"round-half", "dict-order", "bool-method", "eager"}


def test_advice_is_found_by_module_by_message_and_by_parser() -> None:
    assert module_advice("urllib.request") == module_advice("urllib")
    assert module_advice("nothing") is None
    assert raised_hint("TypeError: 'coroutine' object is not subscriptable") == RAISED_ADVICE[0].hint
    assert raised_hint("ValueError: plain") is None
    assert (
        raised_hint("does not yet support the 'del' statement", "parser")
        == f"write {construct('del').instead}"
    )
    assert raised_hint("nothing known", "parser") is None
