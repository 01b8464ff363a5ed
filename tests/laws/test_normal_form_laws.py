"""The four preservation laws, over generated schemas, over real ones, and over calls that models made.

A validator of its own judges (``jsonschema_rs`` itself), and a second, naive reading of the design says
what should come out.
"""

# Schemas and arguments are any JSON here, and are taken apart as such.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfabric.entropy import (
    CompiledSurface,
    NormalFormPlan,
    apply_normal_form_plan,
    canonical_digest,
    compile_entropy_surface,
    derive_normal_form_plan,
    proves_normal_form_plan,
    run_entropy_trial,
)
from toolfabric.entropy.form_checks import forgeries
from toolfabric.entropy.records import RuleRef

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
REF = "law.action"
SEEDS = st.integers(0, 2**64)
"""Schemas are drawn from a seed of their own: drawing every choice singly is ten times slower."""

# --- made-up schemas and arguments ----------------------------------------------------------------

NAMES = [
    "a",
    "A",
    "a_b",
    "aB",
    "A-B",
    "file_path",
    "limit",
    "größe",
    "_",
    " x",
    "1st",
    "$id",
    "c d",
    "default",
]
TEXTS = [
    "",
    "a",
    "A B",
    "a_b",
    "on",
    "ON",
    "read-only",
    "2",
    "-1",
    "0.5",
    "02",
    "1e3",
    "null",
    "true",
    "é",
    "x" * 40,
]
NUMBERS = [0, 1, -1, 2, 7, 0.5, -0.25, 1.0, 100, 1e21, 2**53 - 1, 2**53, 2**60, 1e-7]
INNER: list[Callable[[Random], Any]] = [
    lambda _rng: {"type": "string"},
    lambda _rng: {"type": "integer"},
    lambda _rng: {"type": "number"},
    lambda _rng: {"type": "boolean"},
    lambda _rng: {},
    lambda rng: rng.choice([True, False]),
    lambda rng: {"type": "integer", "minimum": rng.randrange(-2, 3), "maximum": rng.randrange(3, 200)},
    lambda rng: {"type": "number", "multipleOf": rng.choice([1, 0.5, 2])},
    lambda rng: {"type": ["string", rng.choice(["null", "integer"])]},
    lambda rng: {"type": "string", "enum": rng.sample(TEXTS, rng.randrange(1, 5))},
    lambda rng: {"type": "string", "enum": ["Fast", "fast", "slow", "very slow"][rng.randrange(3) :]},
    lambda rng: {"enum": rng.sample([1, "1", None, "on", True], 3)},
    lambda rng: {"type": "integer", "enum": rng.sample([1, 2, 7, 100], 2)},
    lambda rng: {"type": "string", "maxLength": rng.randrange(4), "pattern": "^[a-z0-9]*$"},
    lambda rng: {"$ref": "#/$defs/" + rng.choice(["nullable", "plain", "count"])},
    lambda _rng: {"$ref": "#"},
    lambda rng: {"anyOf": [{"type": "integer"}, rng.choice([{"type": "null"}, {"type": "boolean"}])]},
    lambda _rng: {"type": "array", "items": {"type": "integer"}},
    lambda rng: {
        "type": "object",
        "additionalProperties": rng.choice([True, False]),
        "properties": {"limit": {"type": "integer"}},
    },
    lambda rng: {"const": rng.choice(["on", 2, None])},
    lambda _rng: {"not": {"type": "string"}},
]
DEFS = {
    "nullable": {"type": ["string", "null"]},
    "plain": {"type": "string"},
    "count": {"type": "integer", "minimum": 0},
}
WHOLE: list[Callable[[Random, list[str]], dict[str, Any]]] = [
    lambda _rng, _keys: {},
    lambda rng, keys: {"required": rng.sample(keys, rng.randrange(len(keys) + 1))},
    lambda rng, _keys: {"minProperties": rng.randrange(3)},
    lambda rng, _keys: {"maxProperties": rng.randrange(1, 4)},
    lambda rng, keys: {"dependentRequired": {rng.choice(keys): [rng.choice(keys)]}} if keys else {},
    lambda rng, keys: {"dependentSchemas": {rng.choice(keys): {"minProperties": 2}}} if keys else {},
    lambda _rng, _keys: {"propertyNames": {"maxLength": 5}},
    lambda rng, _keys: {"$id": rng.choice(["law.json", "https://law.example/law.json", "urn:law:a"])},
]


def make_schema(rng: Random) -> dict[str, Any]:
    keys = rng.sample(NAMES, rng.randrange(6))
    properties = {key: rng.choice(INNER)(rng) for key in keys}
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "$defs": DEFS,
    }
    for _ in range(rng.randrange(3)):
        schema.update(rng.choice(WHOLE)(rng, keys))
    if rng.randrange(12) == 0:
        schema.update(
            rng.choice([{"additionalProperties": True}, {"allOf": [{}]}, {"not": {}}, {"type": ["object"]}])
        )
    return schema


def _spelled(rng: Random, text: str) -> str:
    """Another spelling of a name, or the same, or a damaged one."""
    match rng.randrange(7):
        case 0:
            return text.upper()
        case 1:
            return text.replace("_", "-").replace(" ", "_")
        case 2:
            return re.sub(r"[_ -]+(.)", lambda found: found[1].upper(), text)
        case 3:
            return re.sub(r"(?<=[a-z])([A-Z])", lambda found: "_" + found[1].lower(), text)
        case 4:
            return text + rng.choice(["", "s", " ", "_"])
        case _:
            return text


def _resolved(inner: Any, schema: dict[str, Any]) -> Any:
    target = inner.get("$ref") if isinstance(inner, dict) else None
    if not isinstance(target, str) or not target.startswith("#/"):
        return inner
    found: Any = schema
    for step in target[2:].split("/"):
        found = found.get(step, {}) if isinstance(found, dict) else {}
    return found


def _integer(rng: Random, inner: Any, _schema: Any, _depth: int) -> Any:
    return max(int(inner.get("minimum", rng.choice([0, 1, 2, 7, 20]))), rng.choice([0, 1, 5]))


def _array(rng: Random, inner: Any, schema: Any, depth: int) -> Any:
    return [_fitting(rng, inner.get("items"), schema, depth + 1) for _ in range(rng.randrange(1, 3))]


def _object(rng: Random, inner: Any, schema: Any, depth: int) -> Any:
    properties = inner.get("properties")
    named: dict[str, Any] = properties if isinstance(properties, dict) else {}
    return {key: _fitting(rng, one, schema, depth + 1) for key, one in list(named.items())[:6]}


MAKERS: dict[str, Callable[[Random, Any, Any, int], Any]] = {
    "string": lambda rng, _inner, _schema, _depth: rng.choice(TEXTS),
    "number": lambda rng, _inner, _schema, _depth: rng.choice([0.5, 1, 2.0, 10]),
    "boolean": lambda rng, _inner, _schema, _depth: rng.choice([True, False]),
    "null": lambda _rng, _inner, _schema, _depth: None,
    "integer": _integer,
    "array": _array,
    "object": _object,
}


def _fitting(rng: Random, inner: Any, schema: Any, depth: int = 0) -> Any:
    """A value that may well fit a property."""
    inner = _resolved(inner, schema)
    if not isinstance(inner, dict) or depth > 3:
        return rng.choice([None, 1, "a", True])
    choices = next((inner[word] for word in ("enum", "anyOf", "oneOf", "allOf") if inner.get(word)), None)
    if "const" in inner or isinstance(inner.get("enum"), list):
        return inner["const"] if "const" in inner else rng.choice(inner["enum"] or [None])
    if isinstance(choices, list):
        return _fitting(rng, rng.choice(choices), schema, depth + 1)
    kind = inner.get("type")
    maker = MAKERS.get(str(rng.choice(kind) if isinstance(kind, list) and kind else kind))
    return rng.choice([None, 1, "a", {}, []]) if maker is None else maker(rng, inner, schema, depth)


def _as_text(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, float) or math.isfinite(value) else "NaN"


def make_args(rng: Random, schema: Any) -> dict[str, Any]:
    """Arguments near to what the schema wants: right, otherwise spelled, or wrong."""
    properties = schema.get("properties")
    declared: dict[str, Any] = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    sloppy = rng.choice([0, 0, 1, 3])
    args: dict[str, Any] = {}
    for key, inner in declared.items():
        if key not in needed and rng.random() < 0.5:
            continue
        value = _fitting(rng, inner, schema)
        twist = rng.randrange(10) if sloppy else 99
        if twist < sloppy * 2:
            value = rng.choice(
                [None, _as_text(value), _spelled(rng, value) if isinstance(value, str) else value]
            )
        elif twist == 9:
            value = rng.choice([*NUMBERS, *TEXTS])
        args[_spelled(rng, key) if rng.randrange(9) < sloppy else key] = value
    if sloppy and rng.randrange(8) == 0:
        args[_spelled(rng, rng.choice([*declared, "extra"]))] = rng.choice([1, "a", None])
    return args


# --- a second reading of the design, as plain as it can be -----------------------------------------


def _form(text: str) -> str | None:
    return re.sub(r"[ _-]", "", text).lower() if re.fullmatch(r"[a-zA-Z][a-zA-Z0-9 _-]*", text) else None


def _unique(names: list[str]) -> dict[str, str]:
    forms = Counter(_form(name) for name in names)
    return {form: name for name in names if (form := _form(name)) is not None and forms[form] == 1}


def _number_text(number: float) -> str:
    """ECMAScript's String(number), digit by digit as its specification says."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    digits, exponent = f"{abs(number):.17e}".split("e")
    for precision in range(17):
        short = f"{abs(number):.{precision}e}"
        if float(short) == abs(number):
            digits, exponent = short.split("e")
            break
    digits = digits.replace(".", "").rstrip("0") or "0"
    k, n = len(digits), int(exponent) + 1
    if k <= n <= 21:
        return sign + digits + "0" * (n - k)
    if 0 < n <= 21:
        return sign + digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return sign + "0." + "0" * -n + digits
    tail = ("+" if n > 0 else "-") + str(abs(n - 1))
    return sign + digits[0] + ("." + digits[1:] if k > 1 else "") + "e" + tail


def _number(text: str) -> float | None:
    try:
        number = float(text) if re.fullmatch(r"[0-9eE+.-]+", text) else math.nan
    except ValueError:
        return None
    if not math.isfinite(number) or _number_text(number) != text:
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _judge(schema: Any) -> Callable[[str, Any], bool]:
    """Whether a property takes a value, read off the places of the whole schema's errors."""
    validator = jsonschema_rs.validator_for(schema, offline=True)

    def takes(key: str, value: Any) -> bool:
        return not any(
            list(error.instance_path)[:1] == [key] for error in validator.iter_errors({key: value})
        )

    return takes


def _in_language(schema: Any) -> bool:
    properties = schema.get("properties")
    forbidden = ("patternProperties", "oneOf", "anyOf", "allOf", "$ref", "if", "not")
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        return False
    if not isinstance(properties, dict) or len(properties) > 128 or any(word in schema for word in forbidden):
        return False
    if any(len(key) > 128 or key in {"__proto__", "prototype", "constructor"} for key in properties):
        return False
    try:
        canonical_digest(schema)
        jsonschema_rs.validator_for(schema, offline=True)
    except ValueError:
        return False
    return True


def _has_unique_member(inner: Any) -> bool:
    members = inner.get("enum")
    texts = isinstance(members, list) and all(isinstance(member, str) for member in members)
    return inner.get("type") == "string" and texts and bool(_unique(members))


def naive_rules(schema: Any) -> list[tuple[str, str]]:
    if not _in_language(schema):
        return []
    takes = _judge(schema)
    properties = schema["properties"]
    rules: list[tuple[str, str]] = []
    for key in sorted(properties, key=lambda one: one.encode("utf-16-be")):
        inner = properties[key]
        if not isinstance(inner, dict):
            continue
        if key in _unique(list(properties)).values():
            rules.append(("key-form", key))
        if key not in schema.get("required", []) and not takes(key, None):
            rules.append(("optional-null", key))
        if inner.get("type") == "number" or inner.get("type") == "integer":
            rules.append(("numeric-string", key))
        if _has_unique_member(inner):
            rules.append(("enum-form", key))
    return rules[:128]


def _naive_keys(
    schema: dict[str, Any], rules: list[tuple[str, str]], args: dict[str, Any]
) -> dict[str, Any] | None:
    targets = {_form(key): key for kind, key in rules if kind == "key-form"}
    made: dict[str, Any] = {}
    for key, value in args.items():
        target = key if key in schema["properties"] else targets.get(_form(key) or "?", key)
        if target in made or (target != key and target in args):
            return None
        made[target] = value
    return made


def _naive_value(schema: dict[str, Any], kind: str, key: str, value: Any) -> list[Any]:
    """The value in form, in a list; an empty list leaves it out; the value itself is no change."""
    if kind == "optional-null":
        return [] if value is None else [value]
    if kind == "numeric-string" and isinstance(value, str):
        number = _number(value)
        return [value if number is None or not _judge(schema)(key, number) else number]
    if kind == "enum-form" and isinstance(value, str):
        return [_unique(schema["properties"][key]["enum"]).get(_form(value) or "?", value)]
    return [value]


def naive_apply(schema: dict[str, Any], args: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments in form, or ``None`` where nothing may be done."""
    rules = naive_rules(schema)
    if not rules or jsonschema_rs.is_valid(schema, args):
        return None
    takes = _judge(schema)
    made = _naive_keys(schema, rules, args)
    if made is None:
        return None
    for kind, key in rules:
        if key in made and not takes(key, made[key]):
            for kept in _naive_value(schema, kind, key, made.pop(key)):
                made[key] = kept
    return made if jsonschema_rs.is_valid(schema, made) else None


def derived_rules(plan: NormalFormPlan | None) -> list[tuple[str, str]]:
    return [(rule.kind, rule.key) for rule in plan.rules] if plan else []


# --- the laws --------------------------------------------------------------------------------------


def keep_the_laws(schema: Any, plan: NormalFormPlan | None, valid: Callable[[Any], bool], args: Any) -> str:
    """Check every law on one call; says which way it went."""
    before = copy.deepcopy(args)
    result = apply_normal_form_plan(REF, schema, args, plan)
    assert json.dumps(args) == json.dumps(before), "the arguments that came in were changed"
    if result.witness is None:
        assert result.args is args, "identity: unchanged arguments are the same object"
        return "accepted" if valid(args) else "rejected"
    assert plan is not None
    assert not valid(args), "identity: accepted arguments were changed"
    assert valid(result.args), "validated output: the output is rejected"
    assert set(result.witness.rules) <= set(plan.rules)
    again = apply_normal_form_plan(REF, schema, result.args, plan)
    assert again.args is result.args, "idempotence: changed twice"
    assert again.witness is None
    return "normalized"


def as_the_naive_reading(schema: Any, plan: NormalFormPlan | None, args: Any) -> None:
    expected = naive_apply(schema, args)
    result = apply_normal_form_plan(REF, schema, args, plan)
    wanted = args if expected is None else expected
    assert json.dumps(result.args, sort_keys=True) == json.dumps(wanted, sort_keys=True)
    assert (result.witness is None) == (expected is None)


def generated(rng: Random, calls: int) -> Counter[str]:
    """One made-up schema with some calls, against the laws and against the naive reading."""
    schema = make_schema(rng)
    digest = canonical_digest(schema)
    plan = derive_normal_form_plan(REF, schema)
    assert derived_rules(plan) == naive_rules(schema)
    ways: Counter[str] = Counter()
    valid = jsonschema_rs.validator_for(schema, offline=True).is_valid
    for _ in range(calls):
        args = make_args(rng, schema)
        ways[keep_the_laws(schema, plan, valid, args)] += 1
        as_the_naive_reading(schema, plan, args)
    assert canonical_digest(schema) == digest
    return ways


@pytest.mark.requirement("ENT-005", "ENT-066", "ENT-072", "ENT-073", "ENT-076", "ENT-077")
@given(SEEDS)
def test_the_laws_hold_over_generated_schemas(seed: int) -> None:
    generated(Random(seed), calls=4)  # noqa: S311 - test material


def test_generated_calls_go_every_way() -> None:
    ways: Counter[str] = Counter()
    for seed in range(300):
        ways += generated(Random(seed), calls=6)  # noqa: S311 - test material
    assert min(ways["accepted"], ways["normalized"], ways["rejected"]) > 50


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("ENT-072", "ENT-076", "ENT-077")
@settings(max_examples=5_000)
@given(SEEDS)
def test_the_laws_hold_over_generated_schemas_at_length(seed: int) -> None:
    generated(Random(seed), calls=12)  # noqa: S311 - test material


@pytest.mark.requirement("ENT-074", "ENT-075", "ENT-104")
@given(SEEDS)
def test_a_plan_that_differs_in_any_way_does_nothing(seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - test material
    schema = make_schema(rng)
    plan = derive_normal_form_plan(REF, schema)
    if plan is None:
        return
    other = make_schema(rng)
    pool = [*plan.rules, RuleRef(kind="key-form", key="zz"), RuleRef(kind="enum-form", key="a")]
    rules = [rng.choice(pool) for _ in range(rng.randrange(1, len(plan.rules) + 2))]
    forged: Any = {**plan.to_json(), "rules": [rule.to_json() for rule in rules]}
    for candidate, target in ((forged, schema), (plan.to_json(), other)):
        genuine = derive_normal_form_plan(REF, target)
        if genuine is not None and candidate == genuine.to_json():
            continue
        assert not proves_normal_form_plan(candidate, target)
        for _ in range(3):
            args = make_args(rng, target)
            assert apply_normal_form_plan(REF, target, args, candidate).args is args


# --- real schemas ----------------------------------------------------------------------------------


def surfaces() -> list[tuple[str, Any]]:
    folder = DATA / "surfaces"
    if not folder.is_dir():
        pytest.skip("the real surfaces are not beside this checkout")
    found = [
        (path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.json"))
    ]
    return [(name, value) for name, value in found if "actions" in value]


def schemas() -> Iterator[tuple[str, Any]]:
    for name, surface in surfaces():
        for action in surface["actions"]:
            yield f"{name} {action['ref']}", action["inputSchema"]


def over_real_schemas(*, step: int, calls: int) -> Counter[str]:
    ways: Counter[str] = Counter()
    for number, (name, schema) in enumerate(schemas()):
        if number % step:
            continue
        plan = derive_normal_form_plan(REF, schema)
        assert derived_rules(plan) == naive_rules(schema), name
        valid = jsonschema_rs.validator_for(schema, offline=True).is_valid
        rng = Random(name)  # noqa: S311 - test material
        ways["plans"] += plan is not None
        for call in range(calls):
            args = make_args(rng, schema)
            ways[keep_the_laws(schema, plan, valid, args)] += 1
            if call < 3:
                as_the_naive_reading(schema, plan, args)
    return ways


@pytest.mark.requirement("ENT-002", "ENT-072", "ENT-073", "ENT-076", "ENT-077")
def test_the_laws_hold_over_real_schemas() -> None:
    ways = over_real_schemas(step=9, calls=6)
    assert min(ways["plans"], ways["accepted"], ways["normalized"], ways["rejected"]) > 100


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("ENT-002", "ENT-072", "ENT-073", "ENT-076", "ENT-077")
def test_the_laws_hold_over_every_real_schema() -> None:
    ways = over_real_schemas(step=1, calls=30)
    assert ways["accepted"] + ways["normalized"] + ways["rejected"] > 100_000
    assert ways["normalized"] > 5_000


@pytest.mark.requirement("ENT-001", "ENT-002", "ENT-094")
def test_compiling_a_real_surface_loses_no_action_and_no_member() -> None:
    for name, surface in surfaces()[::7]:
        before = json.dumps(surface)
        outcome = compile_entropy_surface([], surface)
        assert json.dumps(surface) == before, name
        if outcome.artifact:
            assert (outcome.artifact.actions, outcome.artifact.quarantined) == ((), ()), name
            assert {plan.ref for plan in outcome.artifact.plans} <= {
                one["ref"] for one in surface["actions"]
            }, name


@pytest.mark.requirement("ENT-074", "ENT-075", "ENT-102")
def test_forgeries_of_real_plans_are_not_proved() -> None:
    for name, schema in list(schemas())[::60]:
        plan = derive_normal_form_plan(REF, schema)
        if plan is None:
            continue
        proved = [
            kind
            for kind, forged in forgeries(plan.to_json())
            if forged["ref"] == REF and proves_normal_form_plan(forged, schema)
        ]
        assert proved == [], name


# --- calls that models made ------------------------------------------------------------------------


def recorded_calls(name: str) -> Iterator[dict[str, Any]]:
    for ending in (".jsonl", ".gold.jsonl"):
        path = DATA / "calls" / f"{name}{ending}"
        if path.exists():
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    call = json.loads(line)
                    if "args" in call and "ref" in call:
                        yield call


def over_recorded_calls(*, step: int) -> Counter[str]:
    """Replay recorded calls through the trial, and each one through the laws."""
    total: Counter[str] = Counter()
    for name, surface in surfaces():
        calls = list(recorded_calls(name))[::step]
        if not calls:
            continue
        declared = {action["ref"]: action["inputSchema"] for action in surface["actions"]}
        artifact = compile_entropy_surface([], surface).artifact or None
        audits = [{"ref": call["ref"], "args": call["args"]} for call in calls]
        report = run_entropy_trial([], surface, artifact=artifact, audit_calls=audits)
        assert report.verdict != "costly", name
        totals = report.totals
        assert totals.both_accept + totals.both_reject + totals.normalization_win == totals.operations
        assert totals.canonical_identity_checks == totals.both_accept
        counts: Any = report.totals.to_json()
        for key in ("operations", "bothAccept", "bothReject", "normalizationWin"):
            total[key] += counts[key]
        plans = {plan.ref: plan for plan in artifact.plans} if isinstance(artifact, CompiledSurface) else {}
        for call in calls:
            schema = declared.get(call["ref"])
            if isinstance(schema, dict):
                valid = jsonschema_rs.validator_for(schema, offline=True).is_valid
                plan = plans.get(call["ref"])
                held = None if plan is None else derive_normal_form_plan(REF, schema)
                keep_the_laws(schema, held, valid, call["args"])
                if call["by"] == "gold":
                    assert call.get("ok") is not True or valid(call["args"])
    return total


@pytest.mark.requirement("ENT-126", "ENT-132", "ENT-133", "ENT-134")
def test_the_laws_hold_over_calls_that_models_made() -> None:
    total = over_recorded_calls(step=10)
    assert total["bothAccept"] > 1_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_laws_hold_over_every_call_that_models_made() -> None:
    total = over_recorded_calls(step=1)
    assert total["operations"] > 20_000
    assert total["normalizationWin"] > 0
