"""The declared schema, unchanged, and messages that name places but no values."""

from __future__ import annotations

import pytest

from toolfabric.errors import ValidateError
from toolfabric.values import Json

from .conftest import Bench

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"pth": "a"}, 'at $.pth: not a declared key (did you mean "path"?)'),
        ({"count": 1}, "at $.path: required, and not there"),
        ({"path": "a", "count": "MARKER"}, "at $.count: expected integer, got string"),
        ({"path": "a", "count": 1.5}, "at $.count: expected integer, got number"),
        ({"path": "a", "count": True}, "at $.count: expected integer, got boolean"),
        ({"path": None}, "at $.path: expected string, got null"),
    ],
)
async def test_a_message_names_path_expectation_and_nearest_key(
    bench: Bench, args: Json, message: str
) -> None:
    with pytest.raises(ValidateError) as caught:
        await bench.call("tool.run", args)
    assert message in str(caught.value)
    assert "MARKER" not in str(caught.value)


async def test_a_whole_float_is_an_integer(bench: Bench) -> None:
    assert await bench.call("tool.run", {"path": "a", "count": 2.0}) == {"ok": True}


async def test_several_violations_are_told_and_more_are_counted(bench: Bench) -> None:
    with pytest.raises(ValidateError, match=r"; and more$"):
        await bench.call("tool.run", {"path": "a", **{f"k{number}": 1 for number in range(20)}})
