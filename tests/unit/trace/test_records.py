"""Every record has one exact JSON form, and decoding what was encoded is the identity."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.errors import RecordError
from toolfabric.trace.records import Operation, RuleRef, Trace, Witness
from toolfabric.values import Outcome, Stage

DIGEST = "0123456789abcdef" * 4
WITNESS = Witness(
    version=1,
    base_schema_digest=DIGEST,
    before_shape=DIGEST,
    after_shape=DIGEST,
    rules=(RuleRef(kind="key-form", key="path"),),
)


def test_an_operation_has_the_designs_form_and_comes_back_equal() -> None:
    operation = Operation(
        type="call",
        sequence=3,
        ref="pi.read",
        provider="pi",
        action="read",
        args={"path": "a"},
        outcome=Outcome.FAILED,
        failure_stage=Stage.VALIDATE,
        error="The arguments do not fit the declared schema.",
        normalization=WITNESS,
    )
    assert operation.to_json() == {
        "type": "call",
        "sequence": 3,
        "ref": "pi.read",
        "provider": "pi",
        "action": "read",
        "args": {"path": "a"},
        "outcome": "failed",
        "failureStage": "validate",
        "error": "The arguments do not fit the declared schema.",
        "normalization": {
            "version": 1,
            "baseSchemaDigest": DIGEST,
            "beforeShape": DIGEST,
            "afterShape": DIGEST,
            "rules": [{"kind": "key-form", "key": "path"}],
        },
    }
    assert Operation.from_json(operation.to_json()) == operation


def test_what_is_absent_is_left_out_and_a_result_of_null_is_not() -> None:
    bare = Operation(type="call", sequence=1, ref="x", args={}, outcome=Outcome.SUCCEEDED)
    assert bare.to_json() == {"type": "call", "sequence": 1, "ref": "x", "args": {}, "outcome": "succeeded"}
    null = Operation(type="call", sequence=1, ref="x", args={}, outcome=Outcome.SUCCEEDED, result=None)
    assert null.to_json()["result"] is None
    assert Operation.from_json(null.to_json()) == null


@pytest.mark.parametrize("digest", ["", DIGEST[1:], DIGEST.upper(), DIGEST + "\n", "g" * 64])
def test_a_digest_is_64_lower_case_hexadecimal_digits(digest: str) -> None:
    form = {**WITNESS.to_json(), "beforeShape": digest}
    with pytest.raises(RecordError, match="beforeShape"):
        Witness.from_json(form)


@pytest.mark.parametrize(
    "change",
    [
        {"rules": []},
        {"rules": [{"kind": "guess", "key": "a"}]},
        {"version": 2},
        {"version": True},
        {"more": 1},
    ],
)
def test_a_witness_that_is_not_well_formed_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        Witness.from_json({**WITNESS.to_json(), **change})


def test_nothing_of_an_envelope_has_a_default_but_its_error() -> None:
    counts = {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0}
    form: dict[str, Any] = {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": [],
        "operations": [],
        "counts": counts,
    }
    assert Trace.from_json(form).to_json() == form
    for key in form:
        with pytest.raises(RecordError, match=key):
            Trace.from_json({name: value for name, value in form.items() if name != key})
    for key in counts:
        fewer = {name: value for name, value in counts.items() if name != key}
        with pytest.raises(RecordError, match=key):
            Trace.from_json({**form, "counts": fewer})
