"""What an execution and one host call cost in a warm host, next to awaiting a coroutine in process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
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
                found = await interleaved_async(_Jobs(fabric, pool).table(), rounds=ROUNDS)
    each = {name: seconds / CALLS for name, seconds in found.items()}
    start = found["empty program"]
    bare = each["bare sandbox"]
    return [
        Row(
            what="empty program, warm",
            seconds=start,
            baseline="the same, bare sandbox",
            baseline_seconds=found["bare empty"],
        ),
        Row(
            what="host call, one after another",
            seconds=each["loop"],
            baseline="await in process",
            baseline_seconds=each["await"],
        ),
        Row(
            what="host call, one after another",
            seconds=each["loop"],
            baseline="bare sandbox call",
            baseline_seconds=bare,
        ),
        Row(
            what="host call, all at once",
            seconds=each["together"],
            baseline="bare sandbox call",
            baseline_seconds=bare,
        ),
        Row(
            what="an operator's call, record sealed",
            seconds=each["pipeline"],
            baseline="jsonschema-rs validation",
            baseline_seconds=each["validate"],
        ),
    ]


class _Jobs:
    """Each method is one job of a round; those that make calls make ``CALLS`` of them."""

    def __init__(self, fabric: Fabric, pool: pydantic_monty.AsyncMonty) -> None:
        self._fabric = fabric
        self._pool = pool
        self._validator = jsonschema_rs.validator_for(SCHEMA)

    async def program(self, code: str) -> None:
        """Run one program through all of Fabric."""
        result = await self._fabric.execute(code)
        if not result.success:
            raise RuntimeError(result.error)

    async def bare(self, code: str) -> None:
        """Run one program in the sandbox alone."""
        async with self._pool.checkout(limits={"max_suspensions": 1_000_000}) as session:
            await session.feed_run(code, external_lookup={"same": _same})

    async def awaited(self) -> None:
        """Await a coroutine in process."""
        for n in range(CALLS):
            await _same(n)

    async def validated(self) -> None:
        """Validate the same arguments and nothing else."""
        for n in range(CALLS):
            self._validator.is_valid({"n": n})

    async def piped(self) -> None:
        """Make the calls from the host: the pipeline and the record without a sandbox."""
        for n in range(CALLS):
            await self._fabric.call("echo.same", {"n": n})

    def table(self) -> dict[str, Callable[[], Awaitable[object]]]:
        """The jobs by name."""
        return {
            "empty program": partial(self.program, "return 1"),
            "bare empty": partial(self.bare, "1"),
            "loop": partial(self.program, LOOP),
            "together": partial(self.program, TOGETHER),
            "bare sandbox": partial(self.bare, BARE),
            "await": self.awaited,
            "pipeline": self.piped,
            "validate": self.validated,
        }


async def _same(n: int) -> int:
    return n
