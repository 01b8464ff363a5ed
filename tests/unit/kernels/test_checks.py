"""Type checks block wrong programs and let right ones run."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from toolfabric.kernels.checks import Diagnostic, read_diagnostics
from toolfabric.kernels.python_host import PythonKernel
from toolfabric.kernels.stubs import STUB_CLASS
from toolfabric.protocols import ActionDeclaration, FaultKind, Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge
from toolfabric.values import JsonObject, Outcome

pytestmark = pytest.mark.anyio


@pytest.fixture
async def kernel() -> AsyncIterator[PythonKernel]:
    made = PythonKernel(max_workers=1)
    yield made
    await made.close()


RIGHT = [
    'r = await pi.read(path="x")\nreturn r["given"]["path"].upper()',
    'r = await pi.read(path="x")\nn = r.get("n", 0) + 1\nreturn n',
    "out = {}\nfor n in range(3):\n    out[str(n)] = await pi.echo(value=n)\nreturn out",
    'def pick(d, k, other=None):\n    return d[k] if k in d else other\nreturn pick(payloads, "a")',
    "items = []\nfor x in await pi.echo(value=[1, 2]):\n    if x > 1:\n        items.append(x)\nreturn items",
    'import json\nd = json.loads(\'{"a": [1]}\')\nreturn d["a"][0] + 1',
    'import re\nm = re.search(r"(\\d+)", "a12")\nreturn int(m.group(1)) if m else None',
    'total = 0\nfor k, v in {"a": 1, "b": 2}.items():\n    total += v\nreturn total',
    "x = None\nfor n in [1, 2]:\n    x = n if x is None else x + n\nreturn x",
    'async def get(p):\n    r = await pi.read(path=p)\n    return r["given"]\nreturn await get("a")',
    'rows = [{"n": 3}, {"n": 1}]\nrows.sort(key=lambda r: r["n"])\nreturn [r["n"] for r in rows]',
    "try:\n    await pi.fail()\n    x = 1\nexcept Exception as e:\n    x = str(e)\nreturn x",
    'text = payloads.get("k", "none")\nreturn text.splitlines()',
    'from collections import defaultdict\nd = defaultdict(list)\nd["a"].append(1)\nreturn dict(d)',
    'm = max([1, 5, 3], key=lambda v: -v)\nreturn f"{m:>3}"',
    'if True:\n    y = 1\nelse:\n    y = "s"\nreturn y',
    'return getattr(pi, "read") is not None and hasattr(payloads, "get")',
    "return [list(map(str, [1])), list(filter(None, [0, 1]))]",
    "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nreturn numpy",
    "try:\n    undefined_name\nexcept NameError:\n    return 1",
    'try:\n    x = 1 + payloads["k"]\nexcept TypeError:\n    return 1',
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from typing import Awaitable\nreturn 1",
    'import re\nm = re.match("(a)", "ab")\nreturn m.group(1)',
    'return payloads.get("k").upper()',
    "total = None\ndef f():\n    global total\n    total = 5\nf()\nreturn total + 1",
    "class A:\n    pass\na = A()\na.z = 3\nreturn a.z",
    "class A:\n    def __init__(self):\n        self.x = None\na = A()\nsetattr(a, 'x', 1)\nreturn a.x + 1",
    'd = {"k": None}\ndef fill(d):\n    d["k"] = 5\nd["k"] = None\nfill(d)\nreturn d["k"] + 1',
    "def f(xs: list[float], name: str = None) -> float:\n    return sum(xs)\nv = [1, 2]\nreturn f(v)",
    'exec("made = 1")\nreturn made',
    'state = {"a": 1}\ntools = [1]\nworkflow = 2\npi = 3.14\nreturn [state["a"], tools[0], workflow, pi]',
    "def f[T](x: T) -> T:\n    return x\nreturn f(1)",
    "best = {}\nfor name, n in [('a', 1)]:\n    best.setdefault(name, []).append(n)\nreturn best",
]


@pytest.mark.parametrize("code", RIGHT)
async def test_a_right_program_is_never_blocked(kernel: PythonKernel, code: str) -> None:
    program = Program(code=code, actions=ACTIONS, payloads={"k": "v"})
    ended = await kernel.run(program, RecordingBridge(), Limits(timeout_ms=20_000))
    assert (ended.outcome, ended.faults) == (Outcome.SUCCEEDED, ())


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("x = 1\nreturn y", 2),
        ('x = "a"\nreturn x + 1', 2),
        ("return len(3)", 1),
        ("import json\njson.nothing()", 2),
        ("x: int = 'a'\nreturn x", 1),
        ("def f(a):\n    return a\nreturn f()", 3),
        ("def f() -> int:\n    return 'a'\nreturn f()", 2),
        ("r = pi.read(path='x')\nreturn r['given']", 2),
        ("from collections import OrderedDict\nreturn 1", 1),
        ("try:\n    x = 1 + 'a'\nexcept ValueError:\n    x = 2\nreturn x", 2),
        ("return asyncio.sleep(1)", 1),
    ],
)
async def test_a_wrong_program_is_blocked_before_any_call(kernel: PythonKernel, code: str, line: int) -> None:
    bridge = RecordingBridge()
    program = Program(code=f"{code}", actions=ACTIONS)
    ended = await kernel.run(program, bridge, Limits(timeout_ms=20_000))
    assert (ended.faults[0].kind, ended.faults[0].line, bridge.calls) == (FaultKind.TYPES, line, [])


async def test_complaints_about_arguments_are_remarks_unless_strict(kernel: PythonKernel) -> None:
    for strict, outcome in ((False, Outcome.SUCCEEDED), (True, Outcome.FAILED)):
        program = Program(code="return await pi.read(pth=1)", actions=ACTIONS, strict_arguments=strict)
        ended = await kernel.run(program, RecordingBridge(), Limits(timeout_ms=20_000))
        assert ended.outcome is outcome
        assert any("path" in one.message for one in (*ended.notes, *ended.faults))


@pytest.mark.parametrize(
    "call",
    ['pi.read({"path": "x"})', 'pi.read(**{"path": "x"})', "pi.read(*[{'path': 'x'}])", "pi.echo(any=1)"],
)
async def test_other_forms_of_arguments_are_not_the_checkers_to_judge(
    kernel: PythonKernel, call: str
) -> None:
    for strict in (False, True):
        program = Program(code=f"return await {call}", actions=ACTIONS, strict_arguments=strict)
        ended = await kernel.run(program, RecordingBridge(), Limits(timeout_ms=20_000))
        assert (ended.outcome, ended.notes) == (Outcome.SUCCEEDED, ())


async def test_a_remark_names_the_tool_and_the_place_of_the_argument(kernel: PythonKernel) -> None:
    program = Program(code='return await pi.read(\n    path="x", limit="2"\n)', actions=ACTIONS)
    (note,) = (await kernel.run(program, RecordingBridge(), Limits(timeout_ms=20_000))).notes
    assert (note.line, note.column) == (2, 15)
    assert "pi.read" in note.message
    assert STUB_CLASS not in note.message


async def test_a_method_named_as_a_type_does_not_disturb_the_others(kernel: PythonKernel) -> None:
    names: JsonObject = {"type": "array", "items": {"type": "string"}}
    actions = [
        ActionDeclaration(
            ref=ref, description="", input_schema={"type": "object", "properties": {"names": names}}
        )
        for ref in ("pi.list", "pi.str", "pi.echo")
    ]
    code = 'pi.str\npi.list\nawait pi.echo(names=["a"])\nreturn await pi.echo(names=[1])'
    program = Program(code=code, actions=actions)
    ended = await kernel.run(program, RecordingBridge(), Limits(timeout_ms=20_000))
    assert [one.line for one in ended.notes] == [4]


def test_diagnostics_of_an_unknown_form_are_left_out() -> None:
    known = {"code": "x", "message": "m", "location": {"row": 1, "column": 2}}
    assert read_diagnostics(json.dumps([known, known, {"code": "y"}, 7])) == [Diagnostic("x", "m", 1, 2)]
