"""The Python kernel as its host sees it."""

# ruff: noqa: E501 -- a table of programs, one a line

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from toolfabric.errors import (
    ApproveError,
    GuardError,
    InvokeError,
    KernelError,
    PrepareError,
    ResolveError,
    ValidateError,
)
from toolfabric.kernels.python_host import MAX_PROGRAM_CHARS, PythonKernel
from toolfabric.protocols import FaultKind, KernelOutcome, Limits, Program
from toolfabric.testing.kernel_suite import ACTIONS, RecordingBridge
from toolfabric.values import Json, Outcome

pytestmark = pytest.mark.anyio
LIMITS = Limits(timeout_ms=20_000)


@pytest.fixture
async def kernel() -> AsyncIterator[PythonKernel]:
    made = PythonKernel(max_workers=4)
    yield made
    await made.close()


async def run(kernel: PythonKernel, code: str, bridge: RecordingBridge | None = None) -> KernelOutcome:
    return await kernel.run(Program(code=code, actions=ACTIONS), bridge or RecordingBridge(), LIMITS)


class Telling(RecordingBridge):
    """Says when the program is in the middle of its work, and lets ``pi.hang`` end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    def log(self, text: str) -> None:
        super().log(text)
        self.begun.set()

    async def _answer(self, ref: str, args: Json) -> Json:
        if ref != "pi.hang":
            return await super()._answer(ref, args)
        self.begun.set()
        await self.go_on.wait()
        return None


class Deaf(Telling):
    """Its hanging call ignores cancellation until it may go on."""

    async def _answer(self, ref: str, args: Json) -> Json:
        self.begun.set()
        while not self.go_on.is_set():
            with suppress(asyncio.CancelledError):
                await self.go_on.wait()
        return None


BUSY = {
    "waiting": "await pi.hang()",
    "computing": "print('x')\nwhile True:\n    pass",
    "sleeping": "import asyncio\nprint('x')\nawait asyncio.sleep(3600)",
}


@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY)
async def test_cancelling_ends_the_run_and_leaves_nothing_behind(code: str) -> None:
    # With one worker, the next run shows that this one was ended; its own time would never end it.
    kernel = PythonKernel(max_workers=1)
    bridge, program = Telling(), Program(code=code, actions=ACTIONS)
    endless = Limits(timeout_ms=3_600_000)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(kernel.run(program, bridge, endless))
        await bridge.begun.wait()
        task.cancel()
    assert task.cancelled()
    assert bridge.running == 0
    assert (await run(kernel, "return 2")).value == 2
    await kernel.close()


async def test_a_call_that_ignores_its_cancellation_is_left_behind(kernel: PythonKernel) -> None:
    bridge = Deaf()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(kernel, "await pi.hang()", bridge))
        await bridge.begun.wait()
        task.cancel()
    assert task.cancelled()
    assert bridge.running == 1
    bridge.go_on.set()
    assert (await run(kernel, "return 2", Telling())).value == 2
    assert bridge.running == 0


@pytest.mark.parametrize("busy", ["waiting", "computing"])
async def test_a_killed_worker_is_a_failure_and_the_next_run_works(busy: str) -> None:
    others, kernel, bridge = workers(), PythonKernel(max_workers=1), Telling()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(kernel, BUSY[busy], bridge))
        await bridge.begun.wait()
        for pid in workers() - others:
            os.kill(pid, signal.SIGKILL)
        bridge.go_on.set()
    ended = task.result()
    assert (ended.outcome, [one.kind for one in ended.faults]) == (Outcome.FAILED, [FaultKind.SANDBOX])
    assert (await run(kernel, "return 2")).value == 2
    await kernel.close()


def workers() -> set[int]:
    """The processes that this one has started, from whichever of its threads."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for one in lists for pid in one.read_text(encoding="ascii").split()}


async def test_a_call_that_nobody_awaits_does_not_outlive_the_run(kernel: PythonKernel) -> None:
    bridge = Telling()
    await kernel.run(Program(code="pi.hang()\nreturn 1", actions=ACTIONS), bridge, Limits(timeout_ms=1_000))
    assert [ref for ref, _args in bridge.calls] == ["pi.hang"]
    assert bridge.running == 0


async def test_the_time_limit_covers_all_that_comes_before_the_program_as_well(kernel: PythonKernel) -> None:
    program = Program(code="return 1", actions=ACTIONS)
    ended = await kernel.run(program, RecordingBridge(), Limits(timeout_ms=1))
    assert (ended.outcome, ended.value) == (Outcome.TIMED_OUT, None)
    assert (await run(kernel, "return 2")).value == 2


async def test_memory_is_bounded_and_the_next_run_works(kernel: PythonKernel) -> None:
    program = Program(code="x = []\nwhile True:\n    x.append('y' * 1000000)")
    limits = Limits(timeout_ms=20_000, memory_bytes=32 * 1024 * 1024)
    ended = await kernel.run(program, RecordingBridge(), limits)
    assert (ended.outcome, ended.faults[0].kind) == (Outcome.FAILED, FaultKind.MEMORY)
    assert (await run(kernel, "return 2")).value == 2


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("'é𝄞é𝄞'; y = zzz", 1, 13),
        ("s = 'é𝄞'\ndef half(n):\n    return n / 0\nhalf(s and 1)", 3, None),
        ("async def f(n):\n    return 1 / n\nawait workflow.parallel([f(1), f(0)])", 2, None),
        ("async def f(n):\n    return 1 / n\nawait workflow.pipeline([1, 0], f)", 2, None),
    ],
    ids=["wide characters", "a function", "parallel", "pipeline"],
)
async def test_an_error_is_told_in_the_programs_own_lines(
    kernel: PythonKernel, code: str, line: int, column: int | None
) -> None:
    fault = (await run(kernel, code)).faults[0]
    assert fault.line == line
    assert column in {None, fault.column}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ResolveError("told"), "LookupError"),
        (GuardError("told"), "PermissionError"),
        (ApproveError("told"), "PermissionError"),
        (PrepareError("told"), "ValueError"),
        (ValidateError("told"), "ValueError"),
        (InvokeError("told"), "RuntimeError"),
    ],
)
async def test_a_program_catches_the_hosts_errors_by_builtin_types(
    kernel: PythonKernel, error: Exception, kind: str
) -> None:
    class Failing(RecordingBridge):
        async def _answer(self, ref: str, args: Json) -> Json:
            raise error

    code = f"try:\n    await pi.echo(value=1)\nexcept {kind} as e:\n    return str(e)"
    assert (await run(kernel, code, Failing())).value == "told"


RIGHT: list[tuple[str, Json]] = [
    ('r = await pi.echo(value={"items": [{"n": 1}, {"n": 2}]})\nreturn sum(i["n"] for i in r["items"])', 3),
    ('r = await pi.echo(value={"a": {"b": {"c": 5}}})\nreturn r["a"]["b"]["c"] + 1', 6),
    ("r = await pi.echo(value=[3, 1, 2])\nr.sort()\nreturn r[-1]", 3),
    (
        'results = []\nfor p in ["a", "b"]:\n    r = await pi.read(path=p)\n    results.append(r["given"]["path"])\nreturn results',
        ["a", "b"],
    ),
    (
        'import asyncio\nrs = await asyncio.gather(*[pi.read(path=p) for p in ["a", "b"]])\nreturn [r["given"]["path"] for r in rs]',
        ["a", "b"],
    ),
    (
        'import asyncio\na, b = await asyncio.gather(pi.echo(value=1), pi.echo(value="x"))\nreturn {"a": a + 1, "b": b.upper()}',
        {"a": 2, "b": "X"},
    ),
    (
        'import json\nr = await pi.echo(value=json.dumps({"k": [1, 2]}))\nd = json.loads(r)\nreturn len(d["k"])',
        2,
    ),
    (
        'import json\nd = json.loads("[1, 2]")\nfor x in d:\n    if isinstance(x, dict):\n        return x["k"]\nreturn d',
        [1, 2],
    ),
    ('import re\ntext = "def a(): pass\\ndef b(): pass"\nreturn re.findall(r"def (\\w+)", text)', ["a", "b"]),
    (
        'import re\nhits = {}\nfor m in re.finditer(r"(\\w)=(\\d)", "a=1 b=2"):\n    hits[m.group(1)] = int(m.group(2))\nreturn hits',
        {"a": 1, "b": 2},
    ),
    ('import re\nreturn re.sub(r"\\s+", " ", "a   b\\n c").split(" ")', ["a", "b", "c"]),
    (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\np = P(1)\nreturn p.x + p.y",
        3,
    ),
    (
        'from dataclasses import dataclass, field\n@dataclass\nclass Bag:\n    items: list = field(default_factory=list)\nb = Bag()\nb.items.append("x")\nreturn b.items',
        ["x"],
    ),
    (
        "class Counter:\n    def __init__(self):\n        self.n = 0\n    def add(self, k=1):\n        self.n += k\n        return self\nreturn Counter().add().add(2).n",
        3,
    ),
    (
        "class Node:\n    def __init__(self, v, nxt=None):\n        self.v = v\n        self.nxt = nxt\nn = Node(1, Node(2))\nout = []\nwhile n:\n    out.append(n.v)\n    n = n.nxt\nreturn out",
        [1, 2],
    ),
    ("def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\nreturn fact(5)", 120),
    (
        'def group(rows, key):\n    out = {}\n    for row in rows:\n        out.setdefault(row[key], []).append(row)\n    return out\nreturn group([{"t": "a"}, {"t": "b"}, {"t": "a"}], "t")',
        {"a": [{"t": "a"}, {"t": "a"}], "b": [{"t": "b"}]},
    ),
    (
        'async def fetch(p, retries=2):\n    last = None\n    for _ in range(retries):\n        try:\n            return await pi.fail(path=p)\n        except RuntimeError as e:\n            last = str(e)\n    return {"error": last}\nr = await fetch("x")\nreturn "error" in r',
        True,
    ),
    (
        'try:\n    await pi.refuse(x=1)\n    out = "ran"\nexcept (ValueError, RuntimeError) as error:\n    out = type(error).__name__\nreturn out',
        "ValueError",
    ),
    ('try:\n    x = {"a": 1}["b"]\nexcept KeyError:\n    x = None\nreturn x', None),
    (
        'try:\n    n = int("x")\nexcept ValueError:\n    n = -1\nfinally:\n    done = True\nreturn [n, done]',
        [-1, True],
    ),
    ('data = {"a": None}\nvalue = data.get("a") or "default"\nreturn value.upper()', "DEFAULT"),
    (
        'best = None\nfor row in [{"n": 2}, {"n": 5}]:\n    if best is None or row["n"] > best["n"]:\n        best = row\nreturn best["n"] if best else 0',
        5,
    ),
    (
        "best = None\nfor n in [1, 7, 3]:\n    if best is None or n > best:\n        best = n\nreturn best + 1",
        8,
    ),
    (
        'found = None\nfor line in ["a", "b: 2"]:\n    if ":" in line:\n        found = line\n        break\nreturn found.split(":")[1].strip()',
        "2",
    ),
    (
        'state = {"n": 0, "log": []}\nstate["n"] += 1\nstate["log"].append("x")\nreturn state',
        {"n": 1, "log": ["x"]},
    ),
    (
        'config = {"name": "a", "tags": ["x"], "opts": {"deep": True}}\nconfig["opts"]["depth"] = 3\nconfig["tags"] += ["y"]\nreturn config',
        {"name": "a", "tags": ["x", "y"], "opts": {"deep": True, "depth": 3}},
    ),
    (
        'out = []\nout.append(1)\nout.append("two")\nout.append({"three": 3})\nreturn out',
        [1, "two", {"three": 3}],
    ),
    (
        'summary = {}\nsummary["count"] = 2\nsummary["names"] = ["a"]\nsummary["nested"] = {"k": None}\nreturn summary',
        {"count": 2, "names": ["a"], "nested": {"k": None}},
    ),
    (
        'words = "b a b".split()\ncounts = {}\nfor w in words:\n    counts[w] = counts.get(w, 0) + 1\nreturn sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))',
        [["b", 2], ["a", 1]],
    ),
    ('rows = [("a", 1), ("b", 2)]\nreturn {name: n for name, n in rows if n > 1}', {"b": 2}),
    ('return ["%s-%d" % (a, b) for a, b in zip(["x", "y"], [1, 2])]', ["x-1", "y-2"]),
    (
        'lines = payloads["k"].split("\\n")\nreturn [f"{i + 1}: {line}" for i, line in enumerate(lines)]',
        ["1: v"],
    ),
    ("x = 1\nx = str(x)\nx = [x, x]\nreturn len(x)", 2),
    (
        "value = await pi.echo(value=3)\nif isinstance(value, str):\n    value = len(value)\nreturn value * 2",
        6,
    ),
    (
        "def total(*numbers, scale=1, **rest):\n    return sum(numbers) * scale + len(rest)\nreturn total(1, 2, scale=3, a=1)",
        10,
    ),
    ('args = {"path": "p", "limit": 3}\nr = await pi.read(**args)\nreturn r["given"]["limit"]', 3),
    (
        'args = {"path": "p"}\nargs["limit"] = 2\nr = await pi.read(args)\nreturn r["given"]',
        {"path": "p", "limit": 2},
    ),
    ("n = 0\ndef bump():\n    global n\n    n += 1\nbump()\nbump()\nreturn n", 2),
    (
        "def make():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n        return n\n    return inc\ni = make()\ni()\nreturn i()",
        2,
    ),
    (
        'cache = None\ndef load():\n    global cache\n    if cache is None:\n        cache = {"a": 1}\n    return cache["a"]\nreturn load() + load()',
        2,
    ),
    ("import math\nreturn [math.floor(2.7), round(math.pi, 2), math.sqrt(9)]", [2, 3.14, 3.0]),
    (
        'from typing import Any\ndef f(x: dict[str, Any]) -> list[str]:\n    return sorted(x)\nreturn f({"b": 1, "a": []})',
        ["a", "b"],
    ),
    (
        'from typing import Optional\ndef f(x: Optional[str] = None) -> str:\n    return x or "none"\nreturn [f(), f("a")]',
        ["none", "a"],
    ),
    ("def f(x: int = None) -> int:\n    return 0 if x is None else x\nreturn f() + f(2)", 2),
    (
        "matrix = [[0] * 2 for _ in range(2)]\nmatrix[0][1] = 5\nmatrix[1][0] = 0.5\nreturn matrix",
        [[0, 5], [0.5, 0]],
    ),
    ('a, *rest = [1, 2, 3]\nreturn {"a": a, "rest": rest}', {"a": 1, "rest": [2, 3]}),
    (
        "queue = [1]\nseen = set()\nwhile queue:\n    n = queue.pop(0)\n    if n in seen or n > 8:\n        continue\n    seen.add(n)\n    queue.extend([n * 2, n + 3])\nreturn sorted(seen)",
        [1, 2, 4, 5, 7, 8],
    ),
    ('items = await tools.search(query="read")\nreturn items["given"]["query"]', "read"),
    ('r = await tools.call(ref="pi.echo", args={"value": [1]})\nreturn r[0]', 1),
    (
        "async def one(n):\n    return await pi.echo(value=n * 2)\nreturn await workflow.parallel([one(n) for n in [1, 2]])",
        [2, 4],
    ),
    (
        'r = await workflow.parallel([lambda: pi.echo(value=1), lambda: pi.fail()], settle=True)\nreturn [x["ok"] for x in r]',
        [True, False],
    ),
    (
        'async def read(p):\n    return await pi.echo(value=p)\nasync def shout(t):\n    return t.upper()\nreturn await workflow.pipeline(["a", "b"], read, shout)',
        ["A", "B"],
    ),
    (
        'issues = await mcp.github.search_issues(q="x")\nfor issue in issues.get("items", []):\n    print(issue["title"])\nreturn issues["given"]["q"]',
        "x",
    ),
    ('s = "a,b;c"\nfor sep in ",;":\n    s = s.replace(sep, " ")\nreturn s.split()', ["a", "b", "c"]),
    ('x = await pi.echo(value=None)\nreturn "empty" if x is None else x["k"]', "empty"),
    ("ok = all(isinstance(v, int) for v in [1, 2]) and any([0, 1])\nreturn ok", True),
    ('assert 1 + 1 == 2, "math"\nreturn "ok"', "ok"),
    (
        'def check(x):\n    if x < 0:\n        raise ValueError(f"bad {x}")\n    return x\ntry:\n    check(-1)\nexcept ValueError as e:\n    return {"error": str(e)}',
        {"error": "bad -1"},
    ),
    ('from collections import Counter\nreturn Counter("aab").most_common(1)', [["a", 2]]),
    (
        'match {"kind": "a", "n": 1}:\n    case {"kind": "a", "n": n}:\n        return n\n    case _:\n        return None',
        1,
    ),
    ('if (n := len("abc")) > 2:\n    return n', 3),
    (
        'x = [1, 2, 3, 4]\nreturn {"half": x[: len(x) // 2], "rev": x[::-1], "last": x[-1]}',
        {"half": [1, 2], "rev": [4, 3, 2, 1], "last": 4},
    ),
    ('rows = [{"n": 1}]\nfor r in rows:\n    r["label"] = "x"\nreturn rows', [{"n": 1, "label": "x"}]),
    ('rows = [{"n": 1}]\nfor r in rows:\n    r["tags"] = ["x"]\nreturn rows', [{"n": 1, "tags": ["x"]}]),
    ('d = {"a": [1]}\nd["a"].append("x")\nreturn d', {"a": [1, "x"]}),
    ('d = {"a": {"n": 1}}\nd["a"].update({"m": "x"})\nreturn d', {"a": {"n": 1, "m": "x"}}),
    ('d = {"a": [1]}\nd["b"] = {"c": 1}\nd["b"]["e"] = "x"\nreturn d["b"]', {"c": 1, "e": "x"}),
]


@pytest.mark.parametrize(("code", "value"), RIGHT)
async def test_what_a_model_writes_is_not_blocked_and_gives_its_value(
    kernel: PythonKernel, code: str, value: Json
) -> None:
    program = Program(code=code, actions=ACTIONS, payloads={"k": "v"})
    ended = await kernel.run(program, RecordingBridge(), LIMITS)
    assert (ended.outcome, ended.faults, ended.value) == (Outcome.SUCCEEDED, (), value)


@pytest.mark.parametrize(
    "code",
    ['s = "abc"\ns[0] = "x"', "t = (1, 2)\nt[0] = 3", 'items = [1]\nitems["a"] = 2', "n = 3\nn[0] = 1"],
)
async def test_storing_where_nothing_can_be_stored_is_blocked(kernel: PythonKernel, code: str) -> None:
    ended = await run(kernel, code)
    assert [(one.kind, one.line) for one in ended.faults] == [(FaultKind.TYPES, 2)]


async def test_ten_thousand_calls_at_once_stay_within_what_may_be_in_flight(kernel: PythonKernel) -> None:
    bridge = RecordingBridge()
    code = (
        "import asyncio\nr = await asyncio.gather(*[pi.echo(value=n) for n in range(10000)])\nreturn sum(r)"
    )
    assert (await run(kernel, code, bridge)).value == sum(range(10_000))
    assert bridge.most <= LIMITS.calls_in_flight


async def test_runs_are_concurrent_and_apart(kernel: PythonKernel) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(kernel, f"x = {n}\nreturn await pi.echo(value=x)")) for n in range(12)]
    assert [task.result().value for task in tasks] == list(range(12))


async def test_a_thousand_gathered_calls_are_made_in_program_order(kernel: PythonKernel) -> None:
    bridge = RecordingBridge()
    code = "import asyncio\nr = await asyncio.gather(*[pi.echo(value=n) for n in range(1000)])\nreturn len(r)"
    assert (await run(kernel, code, bridge)).value == 1_000
    assert [args for _ref, args in bridge.calls] == [{"value": n} for n in range(1_000)]


async def test_closing_twice_is_safe_and_a_closed_kernel_says_so() -> None:
    kernel = PythonKernel()
    await run(kernel, "return 1")
    await kernel.close()
    await kernel.close()
    with pytest.raises(KernelError, match="closed"):
        await run(kernel, "return 1")


@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY)
async def test_closing_ends_a_program_that_runs(code: str) -> None:
    kernel, bridge = PythonKernel(max_workers=1), Telling()
    others = workers()

    async def told() -> str:
        with pytest.raises(KernelError) as caught:
            await run(kernel, code, bridge)
        return str(caught.value)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(told())
        await bridge.begun.wait()
        await kernel.close()
    assert "closed while" in task.result()
    assert bridge.running == 0
    assert workers() <= others


async def test_a_host_that_cannot_keep_what_was_printed_is_told_so(kernel: PythonKernel) -> None:
    class Full(RecordingBridge):
        def log(self, text: str) -> None:
            raise OSError("no space for SECRET")

    with pytest.raises(KernelError, match="could not keep") as caught:
        await run(kernel, "print('SECRET')\nreturn 1", Full())
    assert isinstance(caught.value.__cause__, OSError)
    assert "SECRET" not in str(caught.value)
    assert (await run(kernel, "return 2")).value == 2


async def test_a_program_that_is_too_long_is_refused(kernel: PythonKernel) -> None:
    ended = await run(kernel, "#" * (MAX_PROGRAM_CHARS + 1))
    assert (ended.outcome, ended.faults[0].kind) == (Outcome.FAILED, FaultKind.SYNTAX)


def test_one_kernel_works_in_one_loop_after_another() -> None:
    kernel = PythonKernel()
    assert [asyncio.run(run(kernel, f"return {n}")).value for n in range(3)] == [0, 1, 2]
    asyncio.run(kernel.close())


def test_a_kernel_for_each_loop_leaves_no_process_behind() -> None:
    async def once(number: int) -> Json:
        kernel = PythonKernel(max_workers=2)
        try:
            return (await run(kernel, f"return {number}")).value
        finally:
            await kernel.close()

    others = workers()
    assert [asyncio.run(once(number)) for number in range(4)] == [0, 1, 2, 3]
    assert workers() == others
