"""The provider's own reshaping: on a copy, bounded, final."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.errors import PrepareError, ValidateError
from toolfabric.values import Json, JsonObject

from .conftest import Bench

pytestmark = pytest.mark.anyio


async def test_prepared_arguments_are_what_is_validated_and_run(bench: Bench) -> None:
    bench.tool.preparing = lambda args: {"path": args["file"]}
    await bench.call("tool.run", {"file": "a"})
    assert bench.tool.calls == [{"path": "a"}]


async def test_the_callers_arguments_are_never_changed(bench: Bench) -> None:
    def destroy(args: JsonObject) -> JsonObject:
        nested = args["nested"]
        assert isinstance(nested, list)
        nested.clear()
        args.clear()
        return {"path": "a"}

    bench.tool.preparing = destroy
    given: JsonObject = {"nested": [1]}
    await bench.call("tool.run", given)
    assert given == {"nested": [1]}


async def test_its_error_is_final_even_where_the_schema_would_accept(bench: Bench) -> None:
    def refuse(_args: JsonObject) -> JsonObject:
        raise ValueError("cannot\x1b[31m read this")

    bench.tool.preparing = refuse
    with pytest.raises(PrepareError) as caught:
        await bench.call("tool.run", {"path": "a"})
    assert "read this" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert bench.tool.calls == []


@pytest.mark.parametrize("prepared", [None, [], "text", {1: 2}, {"path": {1, 2}}, {"path": float("nan")}])
async def test_what_is_no_arguments_is_refused(bench: Bench, prepared: Any) -> None:
    bench.tool.preparing = lambda _args: prepared
    with pytest.raises(PrepareError, match=r"^tool\.run: "):
        await bench.call("tool.run", {"path": "a"})


async def test_preparation_does_not_bypass_validation(bench: Bench) -> None:
    bench.tool.preparing = lambda _args: {"path": 3}
    with pytest.raises(ValidateError, match=r"\$\.path: expected .*string"):
        await bench.call("tool.run", {"path": "a"})


async def test_a_preparation_that_hangs_is_ended(bench: Bench) -> None:
    import asyncio

    async def hang(_args: JsonObject) -> Json:
        await asyncio.Event().wait()
        return None

    bench.tool.preparing = hang
    bench.settings["prepare_seconds"] = 0.01
    with pytest.raises(PrepareError, match="did not end in time"):
        await bench.call("tool.run", {"path": "a"})
