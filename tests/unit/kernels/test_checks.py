"""Type checks block wrong programs and let right ones run."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from toolfabric.kernels.python_host import PythonKernel
from toolfabric.protocols import FaultKind, Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge
from toolfabric.values import Outcome

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
    'def pick(d, k, default=None):\n    return d[k] if k in d else default\nreturn pick(await pi.echo(value={"a": 1}), "a")',
    "items = []\nfor x in await pi.echo(value=[1, 2]):\n    if x > 1:\n        items.append(x * 2)\nreturn items",
    'import json\nd = json.loads(\'{"a": [1]}\')\nreturn d["a"][0] + 1',
    'import re\nm = re.search(r"(\\d+)", "a12")\nreturn int(m.group(1)) if m else None',
    'total = 0\nfor k, v in {"a": 1, "b": 2}.items():\n    total += v\nreturn total',
    "x = None\nfor n in [1, 2]:\n    x = n if x is None else x + n\nreturn x",
    'async def get(p):\n    r = await pi.read(path=p)\n    return r["given"]["path"]\nimport asyncio\nreturn await asyncio.gather(get("a"), get("b"))',
    'rows = [{"n": 3, "s": "c"}, {"n": 1, "s": "a"}]\nrows.sort(key=lambda r: r["n"])\nreturn [r["s"] for r in rows]',
    "try:\n    await pi.fail()\n    x = 1\nexcept Exception as e:\n    x = str(e)\nreturn x",
    'text = payloads.get("k", "none")\nreturn text.splitlines()',
    'from collections import defaultdict\nd = defaultdict(list)\nd["a"].append(1)\nreturn dict(d)',
    'm = max([1, 5, 3], key=lambda v: -v)\nreturn f"{m:>3}"',
    'if True:\n    y = 1\nelse:\n    y = "s"\nreturn y',
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
