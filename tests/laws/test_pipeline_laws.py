"""Whatever is called, and whatever provider answers: one typed end, and the trace is told nothing.

There is no effect before the last step, and no value and no exception's prose in the trace.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric._base.clock import SystemClock
from toolfabric._base.validation import compile_schema
from toolfabric.errors import CallError, InvokeError
from toolfabric.pipeline.records import Services
from toolfabric.pipeline.run import Pipeline
from toolfabric.policy.risk import Permission, RiskPolicy
from toolfabric.protocols import Approval, ApprovalRequest, CallContext, Decision, Verdict
from toolfabric.registry.aliases import AliasTable
from toolfabric.registry.registry import Registry
from toolfabric.trace.audit import AuditLog
from toolfabric.trace.reader import read_trace
from toolfabric.trace.recorder import TraceRecorder
from toolfabric.values import ActionSpec, Json, JsonObject, Origin, Outcome

MARKER = "zqMARKERqz"
SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path"],
    "properties": {
        "path": {"type": "string"},
        "count": {"type": "integer", "minimum": 0},
        "mode": {"enum": ["a", "b"]},
        "more": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"kind": {"const": "x"}}}]},
    },
}

words = st.sampled_from([MARKER, f"{MARKER}\x1b[2J", "", "a", "\ud800"])
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
arguments = st.one_of(
    values,
    st.dictionaries(
        st.sampled_from(["path", "count", "mode", "more", "file", "Path", MARKER]), values, max_size=5
    ),
    st.fixed_dictionaries({"path": words}, optional={"count": st.integers(-1, 3), "mode": words}),
)
refs = st.sampled_from(
    ["tool.run", "tool.change", "tool.rum", "exec", "tool.exec", "", f"x.{MARKER}", MARKER, "\ud800"]
)
deeds = st.sampled_from(["good", "raise", "odd", "quit"])


@dataclass(frozen=True)
class Row:
    kind: str
    ref: str
    from_: str
    to: str


ALIASES = AliasTable(
    [Row("keyAlias", "tool.run", "file", "path"), Row("actionAlias", "tool.run", "exec", "run")]
)


def do(deed: str, good: Any) -> Any:
    """Act as a provider, a guard or a person might."""
    match deed:
        case "raise":
            raise ValueError(f"{MARKER} in an exception")
        case "quit":
            raise SystemExit(MARKER)
        case "odd":
            return {MARKER, 1}
        case _:
            return good


@dataclass
class Tool:
    """A provider whose every hook does what is drawn."""

    prepare: str
    preview_: str
    invoke_: str
    name: str = "tool"
    description: str = "For laws."

    def __post_init__(self) -> None:
        self.ran: list[JsonObject] = []

    def list(self) -> Sequence[ActionSpec]:
        return [
            ActionSpec(name="run", description="Runs.", input_schema=SCHEMA, risk="read"),
            ActionSpec(name="change", description="Changes.", input_schema=SCHEMA, risk=["write", "network"]),
        ]

    def describe(self, name: str) -> None:
        return None

    async def prepare_arguments(self, name: str, args: JsonObject) -> Any:
        return do(self.prepare, args)

    async def preview(self, name: str, args: JsonObject) -> Any:
        return do(self.preview_, MARKER)

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Any:
        self.ran.append(args)
        return do(self.invoke_, {"answer": MARKER})


@dataclass
class Person:
    deed: str
    granted: bool

    async def ask(self, request: ApprovalRequest) -> Any:
        return do(self.deed, Approval(granted=self.granted, digest=request.digest, reason=MARKER))


@dataclass
class Gate:
    verdict: Verdict | None

    def decide(self, ref: str, origin: Origin) -> Decision:
        if self.verdict is None:
            raise ValueError(MARKER)
        return Decision(verdict=self.verdict, reason=MARKER)


tools = st.builds(Tool, deeds, deeds, deeds)
people = st.builds(Person, deeds, st.booleans())
gates = st.builds(
    Gate, st.sampled_from([Verdict.ALLOW, Verdict.ALLOW, Verdict.WOULD_BLOCK, Verdict.BLOCK, None])
)
policies = st.builds(RiskPolicy, read=st.sampled_from(Permission), write=st.sampled_from(Permission))


@given(refs, arguments, tools, people, gates, policies)
def test_every_call_ends_in_one_typed_way_and_tells_the_trace_nothing(
    ref: str, args: Json, tool: Tool, person: Person, gate: Gate, policy: RiskPolicy
) -> None:
    async def main() -> tuple[Json, CallError | None]:
        registry = Registry(clock=SystemClock())
        await registry.mount(tool)
        services = Services(
            registry=registry,
            clock=SystemClock(),
            guards=(gate,),
            approver=person,
            policy=policy,
            repairs=ALIASES,
        )
        context = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"))
        try:
            value = await Pipeline(services).call(
                ref, args, context=context, recorder=recorder, audits=audits
            )
        except CallError as error:
            return None, error
        finally:
            await registry.close()
        return value, None

    recorder, audits = TraceRecorder(), AuditLog()
    value, error = asyncio.run(main())
    trace = recorder.seal(Outcome.SUCCEEDED)
    (operation,) = trace.operations
    form = operation.to_json()

    if error is None:
        assert (form["outcome"], value) == ("succeeded", {"answer": MARKER})
        assert gate.verdict in (Verdict.ALLOW, Verdict.WOULD_BLOCK)
    else:
        assert (form["outcome"], form["failureStage"]) == (str(error.outcome), str(error.stage))
        assert str(error).replace("\n", "").replace("\t", "").isprintable()
    assert len(tool.ran) == int(error is None or isinstance(error, InvokeError))
    assert all(compile_schema(SCHEMA).accepts(ran) for ran in tool.ran)
    assert MARKER not in json.dumps(trace.to_json()).replace(f'"ref": "x.{MARKER}"', "").replace(
        f'"ref": "{MARKER}"', ""
    )
    assert read_trace(trace.to_json()) == trace


leaves: st.SearchStrategy[JsonObject] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 1},
        {"enum": [MARKER[:2], 3, None]},
        {"const": {"a": 1}},
        {"pattern": "^a+$"},
        {"type": ["array", "null"]},
        {"$ref": "#"},
        {"not": {}},
        {"type": "nonsense"},
    ]
)
names = st.sampled_from(["path", "count", "kind", "\x1b"])


def closed(properties: JsonObject, required: set[str], *, extra: bool) -> JsonObject:
    """An object schema as servers write them."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*sorted(required)],
        "additionalProperties": extra,
    }


def around(inner: JsonObject, key: str, other: JsonObject) -> JsonObject:
    """A schema with others inside."""
    match key:
        case "items":
            return {"items": inner, "uniqueItems": True}
        case "propertyNames":
            return {"propertyNames": inner, "unevaluatedProperties": False}
        case _:
            return {key: [inner, other]}


def grown(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    """One level more of schema."""
    keys = st.sampled_from(["items", "propertyNames", "anyOf", "oneOf", "allOf"])
    objects = st.builds(
        closed, st.dictionaries(names, inner, max_size=3), st.sets(names, max_size=2), extra=st.booleans()
    )
    return objects | st.builds(around, inner, keys, inner)


@given(st.recursive(leaves, grown, max_leaves=8), values)
def test_a_value_is_accepted_or_its_violations_are_told_without_quoting_it(
    schema: JsonObject, value: Json
) -> None:
    if "nonsense" in str(schema):
        with pytest.raises(ValueError, match="not valid JSON Schema") as caught:
            compile_schema(schema)
        assert str(caught.value).isprintable()
        return
    validator = compile_schema(schema)
    found = validator.violations(value)
    assert (found == ()) is validator.accepts(value)
    for violation in found:
        sentence = str(violation)
        assert sentence.isprintable()
        assert len(sentence) < 2_000
        quoted_keys = sentence.split(": ", 1)[1].partition("(")[0]
        assert MARKER not in quoted_keys
