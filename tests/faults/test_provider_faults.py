"""Providers that misbehave, in a host of their own: it survives, and every call has its record."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

PRELUDE = """
import asyncio, sys, threading, time
from pathlib import Path
from toolfabric._base.clock import SystemClock
from toolfabric.errors import CallError
from toolfabric.pipeline.records import Services
from toolfabric.pipeline.run import Pipeline
from toolfabric.protocols import CallContext
from toolfabric.registry.registry import Registry
from toolfabric.trace.audit import AuditLog
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import ActionSpec, Outcome

class Base:
    name, description = "bad", "Misbehaves."
    def list(self):
        return [ActionSpec(name="run", description="Runs.", input_schema={"type": "object"}, risk="read")]
    def describe(self, name):
        return None
    def invoke(self, name, args, context):
        return "fine"

async def host(provider, calls, deadline=None):
    clock = SystemClock()
    registry = Registry(clock=clock)
    await registry.mount(provider)
    pipeline = Pipeline(Services(registry=registry, clock=clock))
    recorder = TraceRecorder()
    async def call(args):
        until = None if deadline is None else clock.monotonic() + deadline
        context = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"), deadline=until)
        try:
            return ["ok", await pipeline.call(
                "bad.run", args, context=context, recorder=recorder, audits=AuditLog()
            )]
        except CallError as error:
            return [type(error).__name__, str(error)[:200]]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call(args)) for args in calls]
    operations = recorder.seal(Outcome.SUCCEEDED).operations
    print([task.result() for task in tasks], [str(one.outcome) for one in operations])
"""


def run(program: str, seconds: float = 40) -> str:
    """Run a host to its own end and give what it printed; anything on standard error fails."""
    source = PRELUDE + dedent(program)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("kind", ["async def", "def"])
@pytest.mark.parametrize(
    "error", ["KeyboardInterrupt()", "SystemExit(3)", "MemoryError()", "GeneratorExit()"]
)
def test_what_would_end_an_interpreter_ends_one_call(kind: str, error: str) -> None:
    told = run(f"""
        class Bad(Base):
            {kind} invoke(self, name, args, context):
                if args:
                    raise {error}
                return "fine"
        asyncio.run(host(Bad(), [{{"a": 1}}, {{}}]))
    """)
    assert told.startswith("[['InvokeError', 'bad.run: ")
    assert told.endswith("['ok', 'fine']] ['failed', 'succeeded']\n")


def test_a_provider_that_never_returns_from_a_thread_keeps_nothing_alive() -> None:
    told = run("""
        class Bad(Base):
            def invoke(self, name, args, context):
                threading.Event().wait()
        asyncio.run(host(Bad(), [{}, {}], deadline=0.05))
    """)
    assert told.count("the execution's time was over before it ended") == 2
    assert told.endswith("['timed_out', 'timed_out']\n")


def test_a_provider_that_ignores_cancellation_is_left_behind() -> None:
    told = run("""
        class Bad(Base):
            async def invoke(self, name, args, context):
                end = time.monotonic() + 4
                while time.monotonic() < end:
                    try:
                        await asyncio.sleep(end - time.monotonic())
                    except asyncio.CancelledError:
                        pass
        asyncio.run(host(Bad(), [{}], deadline=0.05))
    """)
    assert told.endswith("['timed_out']\n")


def test_a_thousand_calls_of_a_plain_function_each_get_their_own_answer() -> None:
    told = run("""
        class Bad(Base):
            def invoke(self, name, args, context):
                return args["n"]
        asyncio.run(host(Bad(), [{"n": n} for n in range(1_000)]))
    """)
    assert told.startswith(str([["ok", n] for n in range(1_000)]))


def test_a_huge_result_is_cut_and_a_huge_number_of_values_refused() -> None:
    told = run("""
        class Bad(Base):
            def invoke(self, name, args, context):
                if args:
                    value = []
                    for _ in range(64):
                        value = [value, value]
                    return value
                return "x" * (256 * 1024 * 1024)
        async def main():
            provider = Bad()
            await host(provider, [{"a": 1}])
            clock = SystemClock(); registry = Registry(clock=clock); await registry.mount(provider)
            context = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"))
            services = Services(registry=registry, clock=clock)
            value = await Pipeline(services).call(
                "bad.run", None, context=context, recorder=TraceRecorder(), audits=AuditLog()
            )
            print(len(value) <= services.max_result_bytes, "characters left out" in value)
        asyncio.run(main())
    """)
    assert "it ran, but its result is not JSON" in told
    assert told.endswith("True True\n")
