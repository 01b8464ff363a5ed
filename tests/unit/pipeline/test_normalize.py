"""Proven normal forms at the boundary: after preparation, before validation, with a witness."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolfabric.entropy import derive_normal_form_plan
from toolfabric.entropy.records import NormalFormPlan
from toolfabric.errors import ValidateError
from toolfabric.pipeline.normalize import normalize
from toolfabric.pipeline.records import Flight, Services
from toolfabric.pipeline.validate import validate
from toolfabric.protocols import CallContext
from toolfabric.values import Json, JsonObject

from .conftest import SCHEMA, Bench

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def planned(bench: Bench) -> None:
    plan = derive_normal_form_plan("tool.run", SCHEMA)
    assert plan is not None
    bench.settings["plans"] = {"tool.run": plan}


async def test_a_proven_form_is_applied_and_leaves_a_witness_on_its_operation(bench: Bench) -> None:
    await bench.call("tool.run", {"PATH": "a", "count": "2"})
    assert bench.tool.calls == [{"path": "a", "count": 2}]
    (operation,) = bench.operations()
    witness = operation.to_json()["normalization"]
    assert isinstance(witness, dict)
    assert witness["rules"] == [
        {"kind": "numeric-string", "key": "count"},
        {"kind": "key-form", "key": "path"},
    ]


async def test_it_comes_after_the_providers_own_preparation(bench: Bench) -> None:
    bench.tool.preparing = lambda args: {**args, "count": "3"}
    await bench.call("tool.run", {"path": "a"})
    assert bench.tool.calls == [{"path": "a", "count": 3}]


@pytest.mark.parametrize(
    "args", [{"path": "a", "count": "02"}, {"PATH": "a", "Path": "b"}, {"path": "a", "x": 1}]
)
async def test_what_is_not_proven_reaches_validation_as_it_was(bench: Bench, args: JsonObject) -> None:
    with pytest.raises(ValidateError):
        await bench.call("tool.run", args)
    assert "normalization" not in bench.operations()[-1].to_json()


async def test_a_call_that_fails_later_keeps_its_witness(bench: Bench) -> None:
    def fail(*_args: object) -> object:
        raise RuntimeError

    bench.tool.answer = fail
    with pytest.raises(Exception, match=r"tool\.run"):
        await bench.call("tool.run", {"PATH": "a"})
    assert "normalization" in bench.operations()[-1].to_json()


class Counting:
    """A validator that counts how often it is asked."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.asked = 0

    def accepts(self, value: Json) -> bool:
        self.asked += 1
        return self.inner.accepts(value)


async def test_a_canonical_call_costs_one_validation_and_stays_the_same_object(bench: Bench) -> None:
    action = bench.registry.resolve("tool.run")
    counting: Any = Counting(action.validator)
    services = Services(registry=bench.registry, clock=bench.clock, **bench.settings)
    args: JsonObject = {"path": "a", "count": 1}
    context = CallContext(invocation_id="i", call_id="fabric_1", cwd=Path("/"))
    flight = Flight(ref="tool.run", args=args, context=context, action=replace(action, validator=counting))
    for plans in (services.plans, dict[str, NormalFormPlan]()):
        counting.asked = 0
        normal = normalize(flight, replace(services, plans=plans))
        assert (normal.accepted is args) is bool(plans)
        after = validate(normal, services)
        assert after.args is args
        assert after.normalization is None
        assert counting.asked == 1
