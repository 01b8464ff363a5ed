"""Errors of a program are told in its own lines, whatever ran around it."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.protocols import FaultKind

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("code", "line", "column", "said"),
    [
        ("x = 1\n\nraise ValueError('because')", 3, 7, "ValueError: because"),
        ("def f():\n    return [][1]\n\nf()", 2, 12, "IndexError"),
        ('"é𝄞"; raise KeyError("k")', 1, 13, "KeyError"),
        ("await workflow.parallel([lambda: int('x')])", 1, 34, "ValueError"),
        ("def bad(n):\n    raise RuntimeError(str(n))\nreturn list(map(bad, [7]))", 2, 11, "RuntimeError: 7"),
        ("x = 1\nexec('\\n\\nraise ValueError(1 and \"in\")')", 2, 1, "ValueError: in"),
        ("import asyncio\nasync def f():\n    await pi.fail()\nawait asyncio.gather(f())", 3, 5, "pi.fail"),
        (
            "async def f():\n    return await pi.refuse()\nawait workflow.pipeline([1], lambda n: f())",
            2,
            12,
            "$.x",
        ),
    ],
    ids=["module", "function", "unicode", "in parallel", "in map", "in exec", "gathered", "in a pipeline"],
)
async def test_an_uncaught_error_is_told_where_it_arose(
    run: Any, code: str, line: int, column: int, said: str
) -> None:
    (fault,) = (await run(code)).faults
    assert (fault.kind, fault.line, fault.column) == (FaultKind.RAISED, line, column)
    assert said in fault.message


@pytest.mark.parametrize(
    ("code", "line"),
    [("x = 1\ny = = 2", 2), ("def f(:\n    pass", 1), ("x = 1\n" * 3 + "@", 4)],
)
async def test_a_program_that_is_no_python_is_told_with_its_line(run: Any, code: str, line: int) -> None:
    ended = await run(code)
    assert (ended.faults[0].kind, ended.faults[0].line) == (FaultKind.SYNTAX, line)


async def test_a_construct_in_a_text_too_long_to_look_ahead_is_told_by_the_parser(run: Any) -> None:
    (fault,) = (await run("x = {}\ndel x\n" + "# filler\n" * 25_000)).faults
    assert (fault.kind, fault.line) == (FaultKind.SYNTAX, 2)
    assert "pop" in (fault.hint or "")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("import asyncio\nawait asyncio.gather(pi.echo(value=1), return_exceptions=True)", "settle=True"),
        ("return sorted([1, 2], key=lambda n: str(pi.echo(value=n)))", "key="),
        ("raise ValueError({'a': 1}['a'])", "one string"),
        ("return next(x for x in [1])", "iter("),
        ("class C:\n    def __len__(self):\n        return 1\nreturn len(C())", "__len__"),
    ],
)
async def test_where_the_subset_is_the_reason_the_way_out_is_said(run: Any, code: str, advice: str) -> None:
    (fault,) = (await run(code)).faults
    assert advice in (fault.hint or "")


async def test_recursion_and_memory_have_kinds_of_their_own(run: Any) -> None:
    (deep,) = (await run("def f(n):\n    return f(n + 1)\nreturn f(0)")).faults
    (large,) = (await run("x = 1\nx = 'a' * (1 << 30)")).faults
    assert [(one.kind, one.line) for one in (deep, large)] == [
        (FaultKind.RECURSION, 2),
        (FaultKind.MEMORY, 2),
    ]
