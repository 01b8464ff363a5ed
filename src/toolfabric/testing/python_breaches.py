"""The conformance suite's breaches of limits and attempts to escape, in Python.

A breach must end in its typed fault. An escape may end in any way, but nothing of the host may come out
of it, and it must not outlive its run; a program that got out says so by returning ``"ESCAPED"``.
"""

from __future__ import annotations

from typing import Final

from toolfabric.protocols import FaultKind, Limits
from toolfabric.testing.kernel_suite import Case
from toolfabric.values import Outcome

__all__ = ["PYTHON_BREACHES", "PYTHON_ESCAPES"]

_QUICK: Final = Limits(timeout_ms=300)
_SMALL: Final = Limits(timeout_ms=10_000, memory_bytes=16 * 1024 * 1024)
_NARROW: Final = Limits(
    timeout_ms=10_000, output_chars=1_000, calls=20, calls_in_flight=4, value_bytes=10_000
)


def _time(name: str, code: str) -> Case:
    return Case(
        name=name, kind="limit", code=code, outcome=Outcome.TIMED_OUT, fault=FaultKind.TIME, limits=_QUICK
    )


def _breach(name: str, code: str, fault: FaultKind, limits: Limits) -> Case:
    return Case(name=name, kind="limit", code=code, outcome=Outcome.FAILED, fault=fault, limits=limits)


PYTHON_BREACHES: Final[tuple[Case, ...]] = (
    _time("endless loop", "while True:\n    pass"),
    _time(
        "endless loop that catches all",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    ),
    _time("endless loop in a function", "def f():\n    while True:\n        pass\nf()"),
    _time("endless loop of small work", "n = 0\nwhile True:\n    n = (n * 7 + 1) % 1000003"),
    _time("endless comprehension", "return [x for x in range(10**12) if False]"),
    _time("endless sum", "return sum(range(10**12))"),
    _time("a call that hangs", "await pi.hang()"),
    _time("many calls that hang", "import asyncio\nawait asyncio.gather(*[pi.hang() for _ in range(50)])"),
    _time(
        "a hang that is caught",
        "while True:\n    try:\n        await pi.hang()\n    except BaseException:\n        pass",
    ),
    _time("a long sleep", "import asyncio\nawait asyncio.sleep(3600)"),
    _time("many naps", "import asyncio\nwhile True:\n    await asyncio.sleep(0.01)"),
    _time("calls for ever", "while True:\n    await pi.echo(value=1)"),
    _time("exponential match", 'import re\nwhile True:\n    re.match(r"(a+)+$", "a" * 24 + "b")'),
    _time("huge power", "n = 3\nwhile True:\n    n = n * n % (10**400)"),
    _time(
        "sorting for ever", "x = list(range(1000))\nwhile True:\n    x.sort(key=lambda v: -v)\n    x.sort()"
    ),
    _breach("huge string", 'x = "a" * (1 << 30)', FaultKind.MEMORY, _SMALL),
    _breach("huge list", "x = [0] * (1 << 28)", FaultKind.MEMORY, _SMALL),
    _breach("growing string", 'x = "ab"\nwhile True:\n    x += x', FaultKind.MEMORY, _SMALL),
    _breach("growing list", "x = []\nwhile True:\n    x.append(list(range(100)))", FaultKind.MEMORY, _SMALL),
    _breach(
        "growing dict",
        "x = {}\nn = 0\nwhile True:\n    n += 1\n    x[n] = str(n) * 10",
        FaultKind.MEMORY,
        _SMALL,
    ),
    _breach("huge integer", "x = 1 << (1 << 30)", FaultKind.MEMORY, _SMALL),
    _breach(
        "growing and caught",
        'x = "ab"\nwhile True:\n    try:\n        x += x\n    except BaseException:\n        pass',
        FaultKind.MEMORY,
        _SMALL,
    ),
    _breach(
        "endless recursion",
        "def f(n):\n    return f(n + 1)\nreturn f(0)",
        FaultKind.RECURSION,
        Limits(timeout_ms=10_000),
    ),
    _breach(
        "mutual recursion",
        "def f():\n    return g()\ndef g():\n    return f()\nreturn f()",
        FaultKind.RECURSION,
        Limits(timeout_ms=10_000),
    ),
    _breach(
        "a low recursion limit",
        "def f(n):\n    return 0 if n == 0 else f(n - 1)\nreturn f(200)",
        FaultKind.RECURSION,
        Limits(timeout_ms=10_000, recursion=100),
    ),
    _breach("too much printed", 'print("x" * 2000)', FaultKind.OUTPUT, _NARROW),
    _breach("too much printed bit by bit", 'while True:\n    print("x")', FaultKind.OUTPUT, _NARROW),
    _breach(
        "too much printed and caught",
        'try:\n    print("x" * 2000)\nexcept BaseException:\n    pass\nreturn 1',
        FaultKind.OUTPUT,
        _NARROW,
    ),
    _breach("too many calls", "for n in range(100):\n    await pi.echo(value=n)", FaultKind.CALLS, _NARROW),
    _breach(
        "too many calls and caught",
        "while True:\n    try:\n        await pi.echo(value=1)\n    except BaseException:\n        pass",
        FaultKind.CALLS,
        _NARROW,
    ),
    _breach("a value that is too large", 'return "x" * 20000', FaultKind.VALUE, _NARROW),
    _breach("arguments that are too large", 'await pi.echo(value="x" * 20000)', FaultKind.VALUE, _NARROW),
    _breach(
        "a value that is too deep",
        "x = []\nfor _ in range(2000):\n    x = [x]\nreturn x",
        FaultKind.VALUE,
        Limits(timeout_ms=10_000),
    ),
    Case(
        name="calls in flight wait",
        kind="limit",
        code="import asyncio\nr = await asyncio.gather(*[pi.echo(value=n) for n in range(15)])\nreturn sum(r)",
        value=105,
        limits=_NARROW,
    ),
)
"""Every breach of a limit; the last shows a limit that makes calls wait instead of ending the program."""

_ESCAPES: Final[tuple[tuple[str, str], ...]] = (
    ("open a file", 'return open("@CANARY_FILE@").read()'),
    ("open by path", 'from pathlib import Path\nreturn Path("@CANARY_FILE@").read_text()'),
    ("list a folder", 'from pathlib import Path\nreturn [str(p) for p in Path("/").iterdir()] and "ESCAPED"'),
    ("write a file", 'open("/tmp/fabric-escape", "w").write("x")\nreturn "ESCAPED"'),
    ("environment", 'import os\nreturn os.environ["@CANARY_VARIABLE@"]'),
    ("getenv", 'import os\nreturn os.getenv("@CANARY_VARIABLE@")'),
    ("all of the environment", "import os\nreturn str(dict(os.environ))"),
    ("system", 'import os\nos.system("echo $@CANARY_VARIABLE@")\nreturn "ESCAPED"'),
    ("subprocess", 'import subprocess\nreturn subprocess.check_output(["id"]).decode() and "ESCAPED"'),
    ("popen", 'import os\nreturn os.popen("id").read() and "ESCAPED"'),
    ("socket", 'import socket\nsocket.socket()\nreturn "ESCAPED"'),
    ("urllib", 'import urllib.request\nreturn "ESCAPED"'),
    ("ctypes", 'import ctypes\nreturn "ESCAPED"'),
    ("importlib", 'import importlib\nreturn importlib.import_module("os") and "ESCAPED"'),
    ("dunder import", 'return __import__("os").environ["@CANARY_VARIABLE@"]'),
    ("builtins", 'return __builtins__["__import__"]("subprocess") and "ESCAPED"'),
    ("import builtins", 'import builtins\nreturn builtins.open("@CANARY_FILE@").read()'),
    ("class walk", 'return [c for c in ().__class__.__bases__[0].__subclasses__()] and "ESCAPED"'),
    ("mro walk", 'return "".__class__.__mro__[1].__subclasses__() and "ESCAPED"'),
    ("type walk", 'return type(()).__bases__[0].__subclasses__() and "ESCAPED"'),
    ("function globals", 'def f():\n    pass\nreturn f.__globals__ and "ESCAPED"'),
    ("function code", 'def f():\n    pass\nreturn f.__code__ and "ESCAPED"'),
    ("action globals", 'return pi.read.__globals__ and "ESCAPED"'),
    ("action class", 'return str(pi.read.__class__.__init__.__globals__) and "ESCAPED"'),
    ("action dict", 'return str(pi.__dict__) and "ESCAPED"'),
    ("action self", 'return pi.read.__self__ and "ESCAPED"'),
    ("getattr with a dunder", 'return getattr(pi, "__class__").__mro__ and "ESCAPED"'),
    ("getattr built from parts", 'return getattr(pi, "__cl" + "ass__").__subclasses__() and "ESCAPED"'),
    ("format attribute", 'return "{0.__class__.__mro__}".format(pi) and "ok"'),
    ("format walks to globals", 'return "{0.__init__.__globals__}".format(pi)'),
    (
        "frame of an error",
        'try:\n    1 / 0\nexcept Exception as error:\n    return error.__traceback__.tb_frame.f_globals and "ESCAPED"',
    ),
    (
        "context of an error",
        'try:\n    await pi.fail()\nexcept Exception as error:\n    return str(error.__traceback__.tb_frame) and "ESCAPED"',
    ),
    ("eval", 'return eval("__import__(\'os\').environ")["@CANARY_VARIABLE@"]'),
    ("exec", "exec(\"import os\\nx = os.environ['@CANARY_VARIABLE@']\")\nreturn x"),
    ("compile", 'return eval(compile("open(\'@CANARY_FILE@\').read()", "x", "eval"))'),
    ("sys modules", 'import sys\nreturn sys.modules["os"].environ["@CANARY_VARIABLE@"]'),
    ("sys frame", 'import sys\nreturn sys._getframe().f_globals and "ESCAPED"'),
    ("sys exit", "import sys\nsys.exit(3)"),
    ("system exit", "raise SystemExit"),
    ("keyboard interrupt", "raise KeyboardInterrupt"),
    ("base exception", 'raise BaseException("x")'),
    ("generator exit", "raise GeneratorExit"),
    ("gc", 'import gc\nreturn gc.get_objects() and "ESCAPED"'),
    ("inspect", 'import inspect\nreturn inspect.stack() and "ESCAPED"'),
    ("threading", 'import threading\nthreading.Thread(target=print).start()\nreturn "ESCAPED"'),
    ("multiprocessing", 'import multiprocessing\nreturn "ESCAPED"'),
    ("pickle", 'import pickle\nreturn pickle.loads(b"cos\\nsystem\\n(S\'id\'\\ntR.") or "ESCAPED"'),
    ("signal", 'import signal\nsignal.alarm(1)\nreturn "ESCAPED"'),
    ("os kill", 'import os\nos.kill(os.getppid(), 9)\nreturn "ESCAPED"'),
    ("os fork", 'import os\nos.fork()\nreturn "ESCAPED"'),
    ("working folder", "import os\nreturn os.listdir(os.getcwd()) and 'ESCAPED'"),
    ("tempfile", 'import tempfile\nreturn tempfile.mkdtemp() and "ESCAPED"'),
    ("input", "return input()"),
    ("host workflow by name", 'return await fabric_host_workflow.phase("x") and "ok"'),
    ("forged discovery record", 'return await tools.call("fabric.discovery.search", {"query": "x"})'),
    ("forged namespace", 'return await fabric.discovery.search(query="x")'),
    ("forged dunder action", "return await pi.__call__()"),
    ("forged underscore action", "return await pi._private()"),
    ("call a namespace", 'return await pi(path="x")'),
    ("computed call of an unknown ref", 'return await tools.call("os.system", {"command": "id"})'),
    ("computed call without a ref", "return await tools.call({})"),
    ("computed call of nonsense", "return await tools.call(7, 8)"),
    ("mixed arguments", 'return await pi.read({"path": "x"}, limit=1)'),
    ("arguments that are an action", "return await pi.echo(value=pi.read)"),
    ("arguments that are a function", "return await pi.echo(value=lambda: 1)"),
    (
        "set an attribute of a namespace",
        'pi.read = lambda path: "only its own copy"\nreturn pi.read(path="x")',
    ),
    ("set an attribute of tools", 'tools.call = lambda *a: "only its own copy"\nreturn tools.call("x")'),
    ("replace workflow", 'workflow = None\nreturn "ok"'),
    ("change payloads", 'payloads["k"] = "changed"\nreturn payloads["k"] == "changed" and "ok"'),
    ("leave calls behind", 'for _ in range(50):\n    pi.hang()\nreturn "ok"'),
    ("return a pending call", "return [pi.hang()]"),
    ("raise while calls hang", 'for _ in range(10):\n    pi.hang()\nraise ValueError("x")'),
    (
        "a class that lies about itself",
        'class C:\n    def __repr__(self):\n        return "<function x>"\nreturn await workflow.parallel([C()])',
    ),
    ("action made by its class", 'return await type(pi)().read(path="x")'),
    ("action of the class", 'return type(pi).read and "ESCAPED"'),
    ("attribute with a dot", 'return await getattr(pi, "read.__globals__")()'),
    ("attribute with a null", 'return await getattr(pi, "read\\x00")()'),
    ("action's own attributes", 'f = pi.read\nf.ref = "os.system"\nreturn await f(command="id")'),
    ("helper's globals", 'return workflow.parallel.__globals__ and "ESCAPED"'),
    ("helper replaced", 'workflow.parallel = lambda *a: "its own"\nreturn workflow.parallel([1])'),
    ("announce with a wrong shape", 'return await workflow.phase({"name": {"a": [1]}, "b": 2})'),
    ("locals", 'return str(locals()["pi"].__class__.__mro__) and "ESCAPED"'),
    ("clock", 'import datetime\nreturn str(datetime.datetime.now()) and "ESCAPED"'),
    ("monotonic clock", 'import time\nreturn time.monotonic() and "ESCAPED"'),
    ("system randomness", 'import os\nreturn os.urandom(8).hex() and "ESCAPED"'),
    ("a name with a null", 'return await tools.call("pi.read\\x00", {})'),
    ("escape codes in print", 'print("\\x1b]0;owned\\x07")\nreturn "ok"'),
)


def _hidden(code: str) -> str:
    """The same attempt in a text that no look ahead and no type check reads before it runs."""
    body = "".join(f"    {line}\n" for line in code.splitlines())
    return f"exec({'async def attempt():' + chr(10) + body!r})\nreturn await attempt()"


def _escape(name: str, code: str) -> Case:
    return Case(name=name, kind="escape", code=code, limits=Limits(timeout_ms=1_000), payloads=(("k", "v"),))


PYTHON_ESCAPES: Final[tuple[Case, ...]] = (
    *(_escape(name, code) for name, code in _ESCAPES),
    *(_escape(f"{name}, hidden", _hidden(code)) for name, code in _ESCAPES),
)
"""Every attempt to escape, as it is and once more where only the sandbox itself can stop it."""
