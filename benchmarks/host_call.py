"""What an execution and one host call cost in a warm host, next to awaiting a coroutine in process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import jsonschema_rs
import pydantic_monty
from measure import Row, interleaved_async

from toolfabric import ActionSpec, Fabric
from toolfabric.protocols import CallContext
from toolfabric.runtime import Options
from toolfabric.values import Json, JsonObject, Origin

CALLS = 2_000
ROUNDS = 7
SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["n"],
    "properties": {"n": {"type": "integer"}},
}


class Echo:
    """The cheapest provider there can be."""

    name = "echo"
    description = "Gives back a number."
    _spec = ActionSpec(name="same", description="The number itself.", input_schema=SCHEMA, risk="read")

    def list(self) -> Sequence[ActionSpec]:
        """Its one action."""
        return [self._spec]

    def describe(self, name: str) -> ActionSpec | None:
        """Its one action."""
        return self._spec if name == "same" else None

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Answer at once."""
        del name, context
        return args["n"]


LOOP = f"for n in range({CALLS}):\n    await echo.same(n=n)\nreturn None"
TOGETHER = f"import asyncio\nawait asyncio.gather(*[echo.same(n=n) for n in range({CALLS})])\nreturn None"
BARE = f"for n in range({CALLS}):\n    await same(n)\n"


def run() -> list[Row]:
    """Measure one warm host."""
    return asyncio.run(_run())


async def _run() -> list[Row]:
    with tempfile.TemporaryDirectory() as made:
        options = Options(record=False, plugins=False)
        async with Fabric.open(Path(made), {"executor": {"timeoutMs": 600_000}}, options=options) as fabric:
            await fabric.mount(Echo(), origin=Origin.HOST)
            async with pydantic_monty.AsyncMonty() as pool:
                found = await interleaved_async(_jobs(fabric, pool), rounds=ROUNDS)
    each = {name: seconds / CALLS for name, seconds in found.items()}
    start = found["empty program"]
    bare = each["bare sandbox"]
    return [
        Row(what="empty program, warm", seconds=start, baseline="the same, bare sandbox", baseline_seconds=found["bare empty"]),
        Row(what="host call, one after another", seconds=each["loop"], baseline="await in process", baseline_seconds=each["await"]),
        Row(what="host call, one after another", seconds=each["loop"], baseline="bare sandbox call", baseline_seconds=bare),
        Row(what="host call, all at once", seconds=each["together"], baseline="bare sandbox call", baseline_seconds=bare),
        Row(what="pipeline alone, canonical call", seconds=each["pipeline"], baseline="jsonschema-rs validation", baseline_seconds=each["validate"]),
    ]


def _jobs(fabric: Fabric, pool: pydantic_monty.AsyncMonty):  # noqa: ANN202 -- a table of closures
    validator = jsonschema_rs.validator_for(SCHEMA)

    async def same(n: int) -> int:
        return n

    async def program(code: str) -> None:
        result = await fabric.execute(code)
        assert result.success, result.error  # noqa: S101 -- a benchmark of failures measures nothing

    async def awaited() -> None:
        for n in range(CALLS):
            await same(n)

    async def bare(code: str) -> None:
        async with pool.checkout(limits={"max_suspensions": 1_000_000}) as session:
            await session.feed_run(code, external_lookup={"same": same})

    async def validated() -> None:
        for n in range(CALLS):
            validator.is_valid({"n": n})

    async def piped() -> None:
        for n in range(CALLS):
            await fabric.call("echo.same", {"n": n})

    return {
        "empty program": lambda: program("return 1"),
        "bare empty": lambda: bare("1"),
        "loop": lambda: program(LOOP),
        "together": lambda: program(TOGETHER),
        "bare sandbox": lambda: bare(BARE),
        "await": awaited,
        "pipeline": piped,
        "validate": validated,
    }
