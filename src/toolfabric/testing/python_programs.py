"""The conformance suite's programs in Python: what a model writes, and what must come of it."""

from __future__ import annotations

from typing import Final

from toolfabric.protocols import FaultKind, Limits
from toolfabric.testing.kernel_suite import Case
from toolfabric.values import Json, Outcome

__all__ = ["PYTHON_PROGRAMS"]


def _gives(name: str, code: str, value: Json, *calls: str, printed: str | None = None) -> Case:
    return Case(
        name=name,
        kind="program",
        code=code,
        value=value,
        calls=calls,
        printed=printed,
        payloads=(("k", "v"),),
    )


def _fails(
    name: str, code: str, fault: FaultKind, line: int, message: str = "", *calls: str, strict: bool = False
) -> Case:
    return Case(
        name=name,
        kind="program",
        code=code,
        outcome=Outcome.FAILED,
        fault=fault,
        line=line,
        message=message,
        calls=calls,
        strict=strict,
    )


_VALUES: Final = (
    _gives("return at the top", "return 1", 1),
    _gives("trailing expression", "x = 2\nx + 1", 3),
    _gives("no value", "x = 1", None),
    _gives("empty program", "", None),
    _gives("comment only", "# nothing", None),
    _gives("none", "return None", None),
    _gives("booleans", "return [True, False]", [True, False]),
    _gives("big integers", "return 2 ** 70", 2**70),
    _gives("floats", "return [0.1, 1e300, -0.5]", [0.1, 1e300, -0.5]),
    _gives("unicode text", 'return "é𝄞 " + "中"', "é𝄞 中"),
    _gives("nested containers", 'return {"a": [{"b": [1, 2]}]}', {"a": [{"b": [1, 2]}]}),
    _gives("tuples become lists", "return (1, (2, 3))", [1, [2, 3]]),
    _gives("ten thousand numbers", "return len(list(range(10000)))", 10_000),
    _gives("payloads", 'return payloads["k"].upper()', "V"),
    _gives("payload keys", "return sorted(payloads)", ["k"]),
)
_LANGUAGE: Final = (
    _gives(
        "functions",
        "def f(a, b=2, *c, d=4, **e):\n    return [a, b, list(c), d, e]\nreturn f(1, 5, 6, d=7, x=8)",
        [1, 5, [6], 7, {"x": 8}],
    ),
    _gives(
        "closures",
        "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n        return n\n    return inner\nf = outer()\nf()\nreturn f()",
        2,
    ),
    _gives("lambdas", "return sorted([3, 1, 2], key=lambda x: -x)", [3, 2, 1]),
    _gives("comprehensions", "return [[x * y for x in range(3) if x] for y in (1, 2)]", [[1, 2], [2, 4]]),
    _gives("dict comprehension", 'return {k: v for k, v in [("a", 1)]}', {"a": 1}),
    _gives("f-strings", 'n = 3.14159\nreturn f"{n:.2f} {n!r:>10} {1 + 1}"', "3.14    3.14159 2"),
    _gives(
        "match",
        'match {"a": [1, 2]}:\n    case {"a": [x, *_]}:\n        return x\n    case _:\n        return None',
        1,
    ),
    _gives("walrus", "if (n := 5) > 3:\n    return n", 5),
    _gives(
        "try else finally",
        'log = []\ntry:\n    log.append("try")\nexcept ValueError:\n    log.append("except")\nelse:\n    log.append("else")\nfinally:\n    log.append("finally")\nreturn log',
        ["try", "else", "finally"],
    ),
    _gives("caught error", 'try:\n    int("x")\nexcept ValueError as error:\n    return "no"', "no"),
    _gives(
        "simple class",
        "class P:\n    def __init__(self, x):\n        self.x = x\n    def twice(self):\n        return self.x * 2\nreturn P(4).twice()",
        8,
    ),
    _gives(
        "dataclass",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\np = P(1)\nreturn [p.x, p.y]",
        [1, 2],
    ),
    _gives("while and break", "n = 0\nwhile True:\n    n += 1\n    if n > 4:\n        break\nreturn n", 5),
    _gives("unpacking", "a, *b = [1, 2, 3]\nreturn [a, b]", [1, [2, 3]]),
    _gives("slices", "return [1, 2, 3, 4][::-2]", [4, 2]),
    _gives("sets inside", "return sorted({3, 1, 2} - {2})", [1, 3]),
    _gives("string methods", 'return " a,b ".strip().split(",")', ["a", "b"]),
    _gives("conditional", 'return "yes" if 1 < 2 <= 2 else "no"', "yes"),
    _gives(
        "recursion", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nreturn fib(15)", 610
    ),
    _gives(
        "type annotations",
        "def f(x: int | None = None) -> list[str]:\n    return [str(x)]\nreturn f(3)",
        ["3"],
    ),
    _gives("json", 'import json\nreturn json.loads(json.dumps({"a": [1, None]}))', {"a": [1, None]}),
    _gives("re", 'import re\nreturn re.findall(r"[a-z]+", "ab1cd")', ["ab", "cd"]),
    _gives("math", "import math\nreturn math.floor(math.sqrt(17))", 4),
    _gives("collections", "from collections import Counter\nreturn Counter('aab')['a']", 2),
    _gives("itertools", "import itertools\nreturn list(itertools.chain([1], [2]))", [1, 2]),
    _gives("datetime", "from datetime import date\nreturn date(2026, 1, 31).isoformat()", "2026-01-31"),
    _gives("print", 'print("a", 1, sep="-", end="!\\n")\nprint("b")\nreturn 1', 1, printed="a-1!\nb\n"),
)
_CALLS: Final = (
    _gives("keyword call", 'return await pi.read(path="x")', {"given": {"path": "x"}}, "pi.read"),
    _gives("one dict", 'return await pi.read({"path": "x"})', {"given": {"path": "x"}}, "pi.read"),
    _gives(
        "nested name",
        'return await mcp.github.search_issues(q="x")',
        {"given": {"q": "x"}},
        "mcp.github.search_issues",
    ),
    _gives(
        "cleaned name", "return await mcp.github.get_issue(n=1)", {"given": {"n": 1}}, "mcp.github.get-issue"
    ),
    _gives("cleaned dollar", "return await mcp.servers()", {"given": {}}, "mcp.$servers"),
    _gives(
        "computed call",
        'return await tools.call("pi.read", {"path": "x"})',
        {"given": {"path": "x"}},
        "tools.call",
    ),
    _gives(
        "computed by keyword",
        'return await tools.call(ref="pi.read", args={"path": "x"})',
        {"given": {"path": "x"}},
        "tools.call",
    ),
    _gives("discovery", 'return await tools.search("read")', {"given": {"query": "read"}}, "tools.search"),
    _gives(
        "describe",
        'return await tools.describe(name="pi.read")',
        {"given": {"name": "pi.read"}},
        "tools.describe",
    ),
    _gives("no arguments", "return await tools.providers()", {"given": {}}, "tools.providers"),
    _gives("phase", 'await workflow.phase("look")\nreturn 1', 1, "workflow.phase"),
    _gives("action as a value", 'f = pi.read\nreturn (await f(path="y"))["given"]', {"path": "y"}, "pi.read"),
    _gives(
        "action in a function",
        'async def g(path):\n    return (await pi.read(path=path))["given"]["path"]\nreturn await g("z")',
        "z",
        "pi.read",
    ),
    _gives(
        "gather",
        'import asyncio\nr = await asyncio.gather(*[pi.read(path=str(n)) for n in range(5)])\nreturn [one["given"]["path"] for one in r]',
        ["0", "1", "2", "3", "4"],
        *["pi.read"] * 5,
    ),
    _gives(
        "started before awaited",
        'a = pi.read(path="a")\nb = pi.read(path="b")\nreturn [(await b)["given"], (await a)["given"]]',
        [{"path": "b"}, {"path": "a"}],
        "pi.read",
        "pi.read",
    ),
    _gives(
        "parallel",
        'r = await workflow.parallel([pi.read(path="a"), lambda: pi.read(path="b")])\nreturn [one["given"]["path"] for one in r]',
        ["a", "b"],
        "pi.read",
        "workflow.parallel",
        "pi.read",
    ),
    _gives(
        "parallel settled",
        'r = await workflow.parallel([pi.fail(), pi.echo(value=1)], settle=True)\nreturn [one["ok"] for one in r]',
        [False, True],
        "pi.fail",
        "pi.echo",
        "workflow.parallel",
    ),
    _gives(
        "pipeline",
        "async def double(x):\n    return x * 2\nasync def send(x):\n    return await pi.echo(value=x)\nreturn await workflow.pipeline([1, 2], double, send)",
        [2, 4],
        "workflow.pipeline",
        "pi.echo",
        "pi.echo",
    ),
    _gives(
        "failed call caught",
        "try:\n    await pi.fail()\nexcept RuntimeError as error:\n    return str(error)",
        "pi.fail: it always fails",
        "pi.fail",
    ),
    _gives(
        "refused call caught",
        'try:\n    await pi.refuse(x=1)\nexcept ValueError as error:\n    return "x" in str(error)',
        True,
        "pi.refuse",
    ),
    _gives(
        "unknown action caught",
        'try:\n    await pi.nothing()\nexcept LookupError:\n    return "none"',
        "none",
        "pi.nothing",
    ),
    _gives(
        "values cross whole",
        'v = [None, True, 1, 1.5, "é", {"k": [[]]}]\nreturn await pi.echo(value=v) == v',
        True,
        "pi.echo",
    ),
    _gives("phase without await", 'workflow.phase("look")\nreturn 1', 1, "workflow.phase"),
    _gives(
        "action by getattr",
        'return [hasattr(pi, "nothing"), (await getattr(pi, "read")(path="x"))["given"]]',
        [False, {"path": "x"}],
        "pi.read",
    ),
    _gives(
        "map over an action",
        "import asyncio\nreturn sum(await asyncio.gather(*map(lambda n: pi.echo(value=n), [1, 2])))",
        3,
        "pi.echo",
        "pi.echo",
    ),
    _gives(
        "partial of an action",
        "import functools\nreturn await functools.partial(pi.echo, value=1)()",
        1,
        "pi.echo",
    ),
    _gives(
        "parallel of functions",
        "return await workflow.parallel([lambda: 1, lambda: pi.echo(value=2), pi.echo(value=3)])",
        [1, 2, 3],
        "pi.echo",
        "workflow.parallel",
        "pi.echo",
    ),
    _gives(
        "pipeline of plain functions",
        "return await workflow.pipeline([1, 2], lambda n: n + 1, lambda n: pi.echo(value=n))",
        [2, 3],
        "workflow.pipeline",
        "pi.echo",
        "pi.echo",
    ),
    _gives("a call without await ends", "pi.echo(value=1)\nreturn 1", 1, "pi.echo"),
    _gives(
        "a match that may be none",
        'import re\nm = re.match("(a)", "ab")\nreturn m.group(1)',
        "a",
    ),
    _gives("sleep", "import asyncio\nawait asyncio.sleep(0.001)\nreturn 1", 1),
    _gives(
        "a thousand calls",
        "n = 0\nfor i in range(1000):\n    n += await pi.echo(value=i)\nreturn n",
        499_500,
        *["pi.echo"] * 1_000,
    ),
    _gives("wrong arguments go to the host", "return await pi.read(pth=1)", {"given": {"pth": 1}}, "pi.read"),
    _gives("a value shadows a namespace", "pi = 3\nreturn pi", 3),
)
_ERRORS: Final = (
    _fails("syntax error", "x = 1\ny = (", FaultKind.SYNTAX, 2),
    _fails("undefined name", "x = 1\nreturn pii.read(path='x')", FaultKind.TYPES, 2, "pii"),
    _fails("own type error", "x: int = 1\nx.upper()\nreturn x", FaultKind.TYPES, 2, "upper"),
    _fails("raised", 'x = 1\n\nraise ValueError("because")', FaultKind.RAISED, 3, "ValueError: because"),
    _fails("raised in a function", "def f():\n    return [][1]\nf()", FaultKind.RAISED, 2, "IndexError"),
    _fails(
        "failed call not caught", "x = 1\nawait pi.fail()", FaultKind.RAISED, 2, "it always fails", "pi.fail"
    ),
    _fails("missing module", "import subprocess", FaultKind.TYPES, 1, "subprocess"),
    _fails("unsupported class", "class E(Exception):\n    pass", FaultKind.SYNTAX, 1, "base class"),
    Case(
        name="forgotten await",
        kind="program",
        code='return pi.read(path="x")',
        outcome=Outcome.FAILED,
        fault=FaultKind.VALUE,
        message="await",
    ),
    Case(
        name="a set is no result",
        kind="program",
        code="return {1, 2}",
        outcome=Outcome.FAILED,
        fault=FaultKind.VALUE,
        message="list",
    ),
    Case(
        name="bytes are no result",
        kind="program",
        code='return b"x"',
        outcome=Outcome.FAILED,
        fault=FaultKind.VALUE,
        message="bytes",
    ),
    Case(
        name="nan is no result",
        kind="program",
        code='return float("nan")',
        outcome=Outcome.FAILED,
        fault=FaultKind.VALUE,
        message="NaN",
    ),
    Case(
        name="keys must be strings",
        kind="program",
        code="return {1: 2}",
        outcome=Outcome.FAILED,
        fault=FaultKind.VALUE,
        message="key",
    ),
    _fails("strict arguments block", "return await pi.read(pth=1)", FaultKind.TYPES, 1, "path", strict=True),
    Case(
        name="both problems at once",
        kind="program",
        code="class A(B):\n    pass\ndel x",
        outcome=Outcome.FAILED,
        fault=FaultKind.SYNTAX,
        calls=(),
    ),
    Case(
        name="limits stand alone",
        kind="program",
        code="return 1",
        value=1,
        limits=Limits(timeout_ms=5_000, calls=1),
    ),
)

PYTHON_PROGRAMS: Final[tuple[Case, ...]] = (
    *_VALUES,
    *_LANGUAGE,
    *_CALLS,
    *_ERRORS,
)
"""Every ordinary program of the suite."""
