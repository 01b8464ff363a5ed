"""The boundary's function: the same object, or a proven copy with its witness."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from toolfabric.entropy import (
    Witness,
    apply_normal_form_plan,
    canonical_digest,
    derive_normal_form_plan,
    shape_signature,
)
from toolfabric.entropy.form_checks import forgeries
from toolfabric.entropy.probes import AMBIGUOUS, CANONICAL, REF, SCHEMA, SPELLED
from toolfabric.entropy.records import NormalFormPlan, NormalFormResult
from toolfabric.values import Json, JsonObject


def closed(properties: Any, **more: Any) -> JsonObject:
    return {"type": "object", "additionalProperties": False, "properties": properties, **more}


def plan_of(schema: JsonObject, ref: str = "a.b") -> NormalFormPlan:
    plan = derive_normal_form_plan(ref, schema)
    assert plan is not None
    return plan


def normalized(schema: JsonObject, args: Json) -> Json:
    """What comes out; the arguments themselves where nothing was done."""
    result = apply_normal_form_plan("a.b", schema, args, plan_of(schema))
    assert (result.args is args) == (result.witness is None)
    return result.args


@pytest.mark.requirement("ENT-072", "ENT-073")
@pytest.mark.parametrize("args", CANONICAL)
def test_canonical_arguments_come_back_as_the_same_object(args: JsonObject) -> None:
    before = str(args)
    result = apply_normal_form_plan(REF, SCHEMA, args, plan_of(SCHEMA, REF))
    assert result.args is args
    assert result.witness is None
    assert str(args) == before


@pytest.mark.requirement(
    "ENT-055", "ENT-056", "ENT-057", "ENT-058", "ENT-059", "ENT-066", "ENT-076", "ENT-077"
)
@pytest.mark.parametrize(("given", "wanted"), SPELLED)
def test_another_spelling_is_brought_into_form_once(given: JsonObject, wanted: JsonObject) -> None:
    before = str(given)
    plan = plan_of(SCHEMA, REF)
    result = apply_normal_form_plan(REF, SCHEMA, given, plan)
    assert result.args == wanted
    assert result.witness is not None
    assert str(given) == before
    again = apply_normal_form_plan(REF, SCHEMA, result.args, plan)
    assert again.args is result.args
    assert again.witness is None


@pytest.mark.requirement("ENT-005", "ENT-062", "ENT-063", "ENT-064", "ENT-065")
@pytest.mark.parametrize("args", AMBIGUOUS)
def test_what_would_need_a_guess_passes_through_unchanged(args: JsonObject) -> None:
    result = apply_normal_form_plan(REF, SCHEMA, args, plan_of(SCHEMA, REF))
    assert result.args is args
    assert result.witness is None


@pytest.mark.requirement("ENT-078")
def test_the_witness_holds_digests_and_rules_and_no_value() -> None:
    args: JsonObject = {"Query": "a secret", "maxResults": "7", "score": None}
    result = apply_normal_form_plan(REF, SCHEMA, args, plan_of(SCHEMA, REF))
    assert result.witness is not None
    assert result.witness.to_json() == {
        "version": 1,
        "baseSchemaDigest": canonical_digest(SCHEMA),
        "beforeShape": canonical_digest(shape_signature(args)),
        "afterShape": canonical_digest("(max_results:num,query:str)"),
        "rules": [
            {"kind": "key-form", "key": "max_results"},
            {"kind": "numeric-string", "key": "max_results"},
            {"kind": "key-form", "key": "query"},
            {"kind": "optional-null", "key": "score"},
        ],
    }
    assert Witness.from_json(result.witness.to_json()) == result.witness


@pytest.mark.requirement("ENT-078")
def test_a_witness_is_bounded_however_large_the_arguments_are() -> None:
    schema = closed({f"property_{at:03}": {"type": "object"} for at in range(60)})
    args: Any = {f"Property-{at:03}": {str(key): {"x" * 100: 1} for key in range(1_000)} for at in range(60)}
    result = apply_normal_form_plan("a.b", schema, args, plan_of(schema))
    assert result.witness is not None
    assert len(str(result.witness.to_json())) < 10_000


@pytest.mark.requirement("ENT-063")
def test_a_conflict_refuses_the_whole_candidate_and_not_only_the_key() -> None:
    schema = closed({"max_size": {"type": "integer"}, "limit": {"type": "integer"}})
    assert normalized(schema, {"limit": "2"}) == {"limit": 2}
    taken: JsonObject = {"limit": "2", "max_size": 1, "maxSize": 1}
    assert normalized(schema, taken) is taken
    twice: JsonObject = {"limit": "2", "maxSize": 1, "MAX SIZE": 1}
    assert normalized(schema, twice) is twice


@pytest.mark.requirement("ENT-065", "ENT-066")
def test_a_half_repair_is_none() -> None:
    schema = closed({"limit": {"type": "integer"}, "path": {"type": "string"}}, required=["path"])
    half: JsonObject = {"limit": "2"}
    assert normalized(schema, half) is half
    other: JsonObject = {"limit": "2", "path": "x", "size": 1}
    assert normalized(schema, other) is other
    assert normalized(schema, {"limit": "2", "Path": "x"}) == {"limit": 2, "path": "x"}


def test_a_renamed_key_keeps_its_place_and_its_value_goes_through_the_other_rules() -> None:
    schema = closed({"a": {"type": "string"}, "max_size": {"type": "integer"}, "z": {"type": "string"}})
    result = normalized(schema, {"z": "1", "MaxSize": "3", "a": "2"})
    assert isinstance(result, dict)
    assert list(result.items()) == [("z", "1"), ("max_size", 3), ("a", "2")]


def test_values_inside_a_copy_are_the_very_values_that_came_in() -> None:
    schema = closed({"limit": {"type": "integer"}, "items": {"type": "array"}})
    items: list[Json] = [{"deep": [1, 2]}]
    result = normalized(schema, {"limit": "2", "items": items})
    assert isinstance(result, dict)
    assert result["items"] is items


@pytest.mark.requirement("ENT-058", "ENT-059")
def test_null_is_kept_where_a_reference_makes_it_valid() -> None:
    schema = closed(
        {"a": {"$ref": "#/$defs/n"}, "b": {"type": "string"}, "c": {"type": "integer"}},
        **{"$defs": {"n": {"type": ["string", "null"]}}},
    )
    assert normalized(schema, {"a": None, "b": None, "c": "1"}) == {"a": None, "c": 1}


def test_a_value_that_its_own_property_takes_is_left_alone_though_the_whole_is_rejected() -> None:
    schema = closed(
        {"text": {"type": "string"}, "any": {"type": ["string", "integer"]}, "limit": {"type": "integer"}}
    )
    assert normalized(schema, {"text": "2", "any": "2", "limit": "2"}) == {
        "text": "2",
        "any": "2",
        "limit": 2,
    }


@pytest.mark.requirement("ENT-057", "ENT-062")
@pytest.mark.parametrize(
    ("inner", "text", "number"),
    [
        ({"type": "integer"}, "2", 2),
        ({"type": "integer"}, "0.5", None),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "integer", "maximum": 9}, "10", None),
        ({"type": "integer", "multipleOf": 2}, "3", None),
        ({"type": "number"}, "1e+21", 1e21),
        ({"type": "number"}, "Infinity", None),
        ({"type": "integer"}, "9007199254740993", None),
        ({"type": "integer"}, "9007199254740991", 9007199254740991),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
        ({"type": "integer", "enum": [1, 2]}, "3", None),
    ],
)
def test_a_number_is_read_from_text_only_where_the_property_takes_it(
    inner: Any, text: str, number: float | None
) -> None:
    schema = closed({"x": inner})
    args: JsonObject = {"x": text}
    if number is None:
        assert normalized(schema, args) is args
    else:
        assert normalized(schema, args) == {"x": number}


@pytest.mark.requirement("ENT-073")
def test_booleans_are_no_numbers_and_an_integral_float_is_an_integer() -> None:
    schema = closed({"x": {"type": "integer"}})
    truth: JsonObject = {"x": True}
    assert normalized(schema, truth) is truth
    whole: JsonObject = {"x": 1.0}
    assert normalized(schema, whole) is whole


@pytest.mark.requirement("ENT-056")
def test_a_member_is_never_invented() -> None:
    schema = closed({"x": {"type": "string", "enum": ["read-only", "ReadWrite"]}})
    for text in ("READ_ONLY", "readonly", "Read Only"):
        assert normalized(schema, {"x": text}) == {"x": "read-only"}
    for text in ("read", "readonlyy", "", "read.only", "write"):
        args: JsonObject = {"x": text}
        assert normalized(schema, args) is args


def test_rules_past_the_bound_are_not_applied() -> None:
    schema = closed({f"p_{at:03}": {"type": "integer"} for at in range(60)})
    assert normalized(schema, {"P-041": "1"}) == {"p_041": 1}
    for late in ("P-045", "P-059"):
        args: JsonObject = {late: "1"}
        assert normalized(schema, args) is args
    beside: JsonObject = {"P-059": 1, "p_001": "1"}
    assert normalized(schema, beside) is beside
    # The 128 rules end with the second of p_042's three.
    cut: JsonObject = {"p_042": "1"}
    assert normalized(schema, cut) is cut
    assert normalized(schema, {"p_042": None}) == {}


def test_a_property_without_rules_is_no_target() -> None:
    schema = closed({"flag": True, "limit": {"type": "integer"}})
    assert normalized(schema, {"flag": 1, "limit": "2"}) == {"flag": 1, "limit": 2}
    args: JsonObject = {"Flag": 1, "limit": "2"}
    assert normalized(schema, args) is args


@pytest.mark.requirement("ENT-074", "ENT-104")
def test_a_plan_of_another_ref_or_of_an_earlier_schema_does_nothing() -> None:
    schema = closed({"limit": {"type": "integer"}})
    args: Any = {"limit": "2"}
    assert apply_normal_form_plan("a.c", schema, args, plan_of(schema)).args is args
    drifted = closed({"limit": {"type": "integer"}, "size": {"type": "integer"}})
    assert apply_normal_form_plan("a.b", drifted, args, plan_of(schema)).args is args
    assert apply_normal_form_plan("a.b", schema, args, None).args is args


@pytest.mark.requirement("ENT-074", "ENT-075", "ENT-102")
def test_forged_plans_do_nothing() -> None:
    for name, forged in forgeries(plan_of(SCHEMA, REF).to_json()):
        for given, _wanted in SPELLED:
            assert apply_normal_form_plan(REF, SCHEMA, given, forged).args is given, name


def test_a_plan_given_as_a_dictionary_works_like_the_record() -> None:
    schema = closed({"limit": {"type": "integer"}})
    assert apply_normal_form_plan("a.b", schema, {"limit": "2"}, plan_of(schema).to_json()).args == {
        "limit": 2
    }


@pytest.mark.parametrize(
    "args",
    [
        None,
        5,
        "text",
        [],
        [1],
        True,
        {1: 2},
        {None: 1},
        {"limit": (1,)},
        {"limit": {1, 2}},
        {"limit": b"2"},
        {"limit": object()},
    ],
)
def test_arguments_that_are_no_json_object_pass_through(args: Any) -> None:
    schema = closed({"limit": {"type": "integer"}})
    assert normalized(schema, args) is args


def test_strange_numbers_and_texts_pass_through() -> None:
    schema = closed({"limit": {"type": "integer"}, "score": {"type": "number"}, "more": {"type": "object"}})
    strange: list[JsonObject] = [
        {"score": float("nan")},
        {"score": float("inf")},
        {"limit": "\ud800"},
        {"Limit\ud800": 1},
        {"limit": "2", "more": {"\ud800": 1}},
        {"limit": "9" * 100_000},
        {"L" * 100_000: 1},
    ]
    for args in strange:
        assert normalized(schema, args) is args
    assert normalized(schema, {"limit": 2**80}) == {"limit": 2**80}


def test_deep_arguments_are_judged_by_the_schema_and_crash_nothing() -> None:
    deep: Json = {}
    for _ in range(5_000):
        deep = {"x": deep}
    schema = closed({"limit": {"type": "integer"}, "more": {"type": "object"}})
    result = apply_normal_form_plan("a.b", schema, {"limit": "2", "more": deep}, plan_of(schema))
    assert result.args["more"] is deep
    followed = closed(
        {"limit": {"type": "integer"}, "more": {"$ref": "#/$defs/n"}},
        **{"$defs": {"n": {"additionalProperties": {"$ref": "#/$defs/n"}}}},
    )
    args: Any = {"limit": "2", "more": deep}
    assert apply_normal_form_plan("a.b", followed, args, plan_of(followed)).args is args


@pytest.mark.parametrize("schema", [None, True, [], "x", 5, {}, {"type": "nonsense"}])
def test_a_schema_that_proves_nothing_leaves_arguments_alone(schema: Any) -> None:
    args: Any = {"limit": "2"}
    plan = plan_of(closed({"limit": {"type": "integer"}}))
    assert apply_normal_form_plan("a.b", schema, args, plan).args is args


@pytest.mark.requirement("ENT-079")
def test_a_witness_says_nothing_of_success() -> None:
    assert set(Witness.__struct_fields__) == {
        "version",
        "base_schema_digest",
        "before_shape",
        "after_shape",
        "rules",
    }
    assert set(NormalFormResult.__struct_fields__) == {"args", "witness"}


def test_a_result_has_a_json_form() -> None:
    schema = closed({"limit": {"type": "integer"}})
    result = apply_normal_form_plan("a.b", schema, {"limit": "2"}, plan_of(schema))
    assert result["args"] == {"limit": 2}
    assert NormalFormResult.from_json(result.to_json()) == result
    assert apply_normal_form_plan("a.b", schema, {}, None).to_json() == {"args": {}}


def test_the_hot_path_loads_nothing_of_the_offline_half() -> None:
    code = (
        "import sys, toolfabric.entropy.apply\n"
        "print(sorted(name for name in sys.modules if name.startswith('toolfabric.entropy.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    online = ["apply", "derive", "forms", "judge", "proof", "records", "rounding", "signature"]
    assert done.stdout.strip() == str([f"toolfabric.entropy.{name}" for name in online])
