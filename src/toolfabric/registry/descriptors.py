"""Check what a provider says of its actions, before any of it can be called.

A descriptor is taken whole or refused with the provider, the action and the reason. What is kept is a
copy, so that the provider cannot change afterwards what was checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, cast

from toolfabric._base.canonical import form_digest
from toolfabric._base.json_form import copy_json, json_type
from toolfabric._base.suggest import nearest
from toolfabric._base.text import one_line
from toolfabric._base.validation import Validator, compile_schema
from toolfabric.errors import MountError
from toolfabric.protocols import Provider
from toolfabric.registry.bindings import Action, Binding
from toolfabric.registry.refs import action_name_problem, provider_name_problem
from toolfabric.values import ActionSpec, JsonObject, Origin, Risk

__all__ = ["bind", "check_provider", "read_spec"]

_MAX_ACTIONS: Final = 10_000
_MAX_TEXT: Final = 65_536
_FIELDS: Final = {
    "name": "name",
    "description": "description",
    "input_schema": "input_schema",
    "inputSchema": "input_schema",
    "output_schema": "output_schema",
    "outputSchema": "output_schema",
    "risk": "risk",
    "namespace": "namespace",
    "effect": "effect",
}
_REQUIRED: Final = ("name", "description", "input_schema", "risk")


def check_provider(provider: Provider) -> None:
    """Check what a provider says of itself.

    Raises:
        MountError: It has not the members of a provider, or its name or description cannot be taken.
    """
    kind = one_line(type(provider).__name__, limit=60)
    try:
        complete = isinstance(provider, Provider)  # pyright: ignore[reportUnnecessaryIsInstance] -- a plug-in gave it
        name, description = cast("object", provider.name), cast("object", provider.description)
    except Exception as error:
        raise MountError(
            f"{kind} is not a provider: reading its name raised {type(error).__name__}"
        ) from error
    if not complete:
        raise MountError(f"{kind} is not a provider: it lacks one of the members that providers have")
    if not isinstance(name, str) or not isinstance(description, str):
        raise MountError(f"{kind}: a provider's name and description are strings")
    problem = provider_name_problem(name)
    if problem is not None:
        raise MountError(f"provider {one_line(name)!r}: {problem}")


def bind(provider: Provider, listed: object, *, origin: Origin, generation: int) -> Binding:
    """Make the binding of all listed actions, or none.

    Raises:
        MountError: One of them was refused.
    """
    name = provider.name
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        raise MountError(f"provider {name!r}: list() gave {json_type(listed)}, not a sequence of actions")
    given = cast("Sequence[object]", listed)
    if len(given) > _MAX_ACTIONS:
        raise MountError(f"provider {name!r}: {len(given)} actions; at most {_MAX_ACTIONS} are taken")
    actions: dict[str, Action] = {}
    binding = Binding(
        name=name,
        description=provider.description,
        provider=provider,
        origin=origin,
        generation=generation,
        actions=MappingProxyType(actions),
    )
    for index, one in enumerate(given):
        action = _action(binding, one, index)
        if action.spec.name in actions:
            raise MountError(f"provider {name!r}: action {action.spec.name!r}: the name is listed twice")
        actions[action.spec.name] = action
    return binding


def read_spec(given: object) -> ActionSpec:
    """Read a descriptor in either form: an ``ActionSpec``, or a mapping with its fields.

    In a mapping, schemas may be spelled ``inputSchema`` and ``outputSchema``.

    Raises:
        ValueError: A field is missing, unknown or of the wrong type.
    """
    if isinstance(given, ActionSpec):
        return _typed(given)
    if not isinstance(given, Mapping):
        raise ValueError(f"a descriptor is an ActionSpec or a mapping, not {json_type(given)}")  # noqa: TRY004 -- one kind of refusal
    fields: dict[str, Any] = {}
    for key, value in cast("Mapping[object, object]", given).items():
        field = _FIELDS.get(key) if isinstance(key, str) else None
        if field is None or field in fields:
            raise ValueError(_bad_field(str(key), twice=field is not None))
        fields[field] = value
    missing = [field for field in _REQUIRED if field not in fields]
    if missing:
        raise ValueError(f"the field {missing[0]!r} is missing")
    fields["risk"] = _risk(fields["risk"])
    return _typed(ActionSpec(**fields))


def _action(binding: Binding, given: object, index: int) -> Action:
    label = f"number {index + 1}"
    try:
        spec = read_spec(given)
        label = repr(one_line(spec.name))
        problem = action_name_problem(binding.name, spec.name)
        if problem is not None:
            raise ValueError(problem)  # noqa: TRY301 -- all refusals get their place at one spot
        validator = _input_validator(spec.input_schema)
        if spec.output_schema is not None:
            _compile("output", spec.output_schema)
    except ValueError as error:
        raise MountError(f"provider {binding.name!r}: action {label}: {error}") from error
    ref = f"{binding.name}.{spec.name}"
    return Action(ref=ref, spec=spec, binding=binding, validator=validator, digest=_digest(ref, spec))


def _input_validator(schema: JsonObject) -> Validator:
    declared = schema.get("type", "object")
    if declared != "object" and not (isinstance(declared, list) and "object" in declared):
        raise ValueError(
            f"input schema: arguments are objects, but it declares the type {one_line(json.dumps(declared))}"
        )
    return _compile("input", schema)


def _compile(which: str, schema: JsonObject) -> Validator:
    try:
        return compile_schema(schema)
    except ValueError as error:
        raise ValueError(f"{which} schema: {error}") from error


def _typed(spec: ActionSpec) -> ActionSpec:
    """Check the types of all fields, and take copies of what could be changed from outside."""
    texts = {
        "name": spec.name,
        "description": spec.description,
        "namespace": spec.namespace,
        "effect": spec.effect,
    }
    for field, text in texts.items():
        optional = field in ("namespace", "effect") and text is None
        if not optional and not isinstance(text, str):
            raise ValueError(f"{field} is a string, not {json_type(text)}")
        if text is not None and len(text) > _MAX_TEXT:
            raise ValueError(f"{field} has {len(text)} characters; at most {_MAX_TEXT} are taken")
    for field, schema in {"input schema": spec.input_schema, "output schema": spec.output_schema}.items():
        if type(schema) is not dict and not (schema is None and field == "output schema"):
            raise ValueError(f"the {field} is an object, not {json_type(schema)}")
    return replace(
        spec,
        risk=spec.risks,
        input_schema=_copy(spec.input_schema),
        output_schema=None if spec.output_schema is None else _copy(spec.output_schema),
    )


def _copy(schema: JsonObject) -> JsonObject:
    try:
        return cast("JsonObject", copy_json(schema))
    except RecursionError as error:
        raise ValueError("a schema is nested too deeply") from error


def _risk(given: object) -> tuple[Risk, ...]:
    risks = (given,) if isinstance(given, str) else given
    if not isinstance(risks, Iterable):
        raise ValueError(f"risk is one of {', '.join(Risk)}, or several of them, not {json_type(given)}")  # noqa: TRY004 -- one kind of refusal
    return tuple(_one_risk(risk) for risk in cast("Iterable[object]", risks))


def _one_risk(given: object) -> Risk:
    try:
        return Risk(cast("str", given))
    except ValueError:
        raise ValueError(
            f"unknown risk {one_line(str(given), limit=60)!r}; use one of {', '.join(Risk)}"
        ) from None


def _bad_field(key: str, *, twice: bool) -> str:
    if twice:
        return f"the field {key!r} is there in two spellings"
    near = nearest(key, _FIELDS)
    hint = (
        f"; did you mean {near!r}?" if near else f"; there are {', '.join(dict.fromkeys(_FIELDS.values()))}"
    )
    return f"unknown field {one_line(key, limit=60)!r}{hint}"


def _digest(ref: str, spec: ActionSpec) -> str:
    """The digest of everything in a descriptor."""
    descriptor: JsonObject = {
        "ref": ref,
        "description": spec.description,
        "inputSchema": spec.input_schema,
        "outputSchema": spec.output_schema,
        "risk": [str(risk) for risk in spec.risks],
        "namespace": spec.namespace,
        "effect": spec.effect,
    }
    return form_digest(descriptor)
