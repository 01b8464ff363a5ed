"""Proofs are kept per schema object, within bounds, and never outlive a change."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

from toolfabric.entropy import proof
from toolfabric.entropy.apply import apply_normal_form_plan
from toolfabric.entropy.derive import derive_normal_form_plan
from toolfabric.entropy.proof import forget, kept, prove
from toolfabric.values import JsonObject


def schema(**properties: Any) -> JsonObject:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties or {"x": {"type": "integer"}},
    }


def test_a_schema_object_is_proved_once() -> None:
    one = schema()
    assert prove(one) is prove(one)


def test_an_equal_schema_in_another_object_has_a_proof_of_its_own() -> None:
    one, other = schema(), schema()
    assert prove(one) is not prove(other)
    assert prove(one).digest == prove(other).digest


def test_a_schema_changed_in_place_is_proved_anew() -> None:
    one: Any = schema()
    before = prove(one)
    one["properties"]["x"]["type"] = "string"
    after = prove(one)
    assert after is not before
    assert after.digest != before.digest
    assert [rule.kind for rule in after.rules] == ["key-form", "optional-null"]


def test_a_change_that_python_takes_for_equal_is_noticed() -> None:
    one: Any = schema(x={"type": "integer", "enum": [1]})
    assert prove(one).accepts({"x": 1})
    one["properties"]["x"]["enum"] = [True]
    assert not prove(one).accepts({"x": 1})


def test_a_plan_of_the_schema_as_it_was_does_nothing_after_a_change() -> None:
    one: Any = schema()
    plan = derive_normal_form_plan("a.b", one)
    assert apply_normal_form_plan("a.b", one, {"x": "2"}, plan).args == {"x": 2}
    one["properties"]["y"] = {"type": "string"}
    args: Any = {"x": "2"}
    assert apply_normal_form_plan("a.b", one, args, plan).args is args


def test_a_plan_of_the_schema_as_it_is_works_although_the_earlier_one_took_the_arguments() -> None:
    one: Any = schema(x={"type": ["integer", "string"]})
    assert apply_normal_form_plan("a.b", one, {"x": "2"}, derive_normal_form_plan("a.b", one)).witness is None
    one["properties"]["x"]["type"] = "integer"
    plan = derive_normal_form_plan("a.b", schema(x={"type": "integer"}))
    assert apply_normal_form_plan("a.b", one, {"x": "2"}, plan).args == {"x": 2}


def test_what_is_forgotten_is_let_go() -> None:
    class Kept(dict[str, Any]):
        pass

    one = Kept(schema())
    gone = weakref.ref(one)
    prove(one)
    assert id(one) in kept
    forget(one)
    assert id(one) not in kept
    del one
    gc.collect()
    assert gone() is None


def test_another_object_never_takes_over_the_proof_of_a_dead_one() -> None:
    for at in range(5_000):
        made = schema(**{f"k{at}": {"type": "integer"}})
        assert prove(made).declared == {f"k{at}"}


def test_the_number_of_proofs_is_bounded() -> None:
    made = [schema(**{f"k{at}": {"type": "integer"}}) for at in range(proof._MOST_PROOFS + 50)]
    for one in made:
        prove(one)
    assert len(kept) <= proof._MOST_PROOFS
    assert id(made[-1]) in kept


def test_the_bytes_of_kept_schemas_are_bounded() -> None:
    for at in range(90):
        prove(schema(**{f"k{at}": {"type": "string", "description": "d" * 900_000}}))
    held = sum(one.seen.size for one in kept.values() if one.seen)
    assert held <= proof._MOST_BYTES


def test_a_schema_that_cannot_be_written_down_is_proved_each_time() -> None:
    odd: Any = schema(x={"type": "string", "title": "\ud800"})
    assert prove(odd).digest is None
    odd["properties"]["x"]["title"] = "a"
    assert prove(odd).digest is not None


def test_threads_may_prove_at_the_same_time() -> None:
    failures: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for at in range(start, start + 700):
                made = schema(**{f"k{at}": {"type": "integer"}})
                assert prove(made).declared == {f"k{at}"}
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(at * 10_000,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(kept) <= proof._MOST_PROOFS
