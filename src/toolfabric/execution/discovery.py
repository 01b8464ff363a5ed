"""``tools.*``: how a program finds out what it can call.

Every question becomes a ``fabric.discovery.*`` operation; ``tools.call`` does not, since it is the
call that it makes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from toolfabric.errors import ResolveError, ValidateError
from toolfabric.registry.bindings import Action
from toolfabric.registry.registry import Registry
from toolfabric.values import Json, JsonObject

__all__ = ["DISCOVERY", "action_view", "answer_discovery"]

_SEARCH_LIMIT = 20


def answer_discovery(registry: Registry, name: str, args: JsonObject) -> Json:
    """Answer one ``tools.<name>`` question from the registry as it stands.

    Raises:
        CallError: The question does not exist, its arguments do not fit, or no action has that name.
    """
    question = DISCOVERY.get(name)
    if question is None:
        raise ResolveError(f"tools.{name} does not exist; there are: {', '.join([*DISCOVERY, 'call'])}")
    return question(registry, args)


def action_view(action: Action) -> JsonObject:
    """All that a reader may know of one action, as JSON."""
    spec = action.spec
    view: JsonObject = {
        "ref": action.ref,
        "description": spec.description,
        "risk": [str(risk) for risk in spec.risks],
        "inputSchema": spec.input_schema,
    }
    if spec.output_schema is not None:
        view["outputSchema"] = spec.output_schema
    if spec.namespace is not None:
        view["namespace"] = spec.namespace
    if spec.effect is not None:
        view["effect"] = spec.effect
    return view


def _brief(action: Action) -> JsonObject:
    return {
        "ref": action.ref,
        "description": action.spec.description,
        "risk": [str(risk) for risk in action.spec.risks],
    }


def _providers(registry: Registry, _args: JsonObject) -> Json:
    return [
        {"name": binding.name, "description": binding.description, "actions": len(binding.actions)}
        for binding in registry.providers()
    ]


def _search(registry: Registry, args: JsonObject) -> Json:
    query = _text(args, "query", "search")
    limit = args.get("limit", _SEARCH_LIMIT)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 1_000:  # noqa: PLR2004 -- the bound is told in the message
        raise ValidateError("tools.search: limit must be an integer from 1 to 1000")
    return [_brief(action) for action in registry.search(query, limit)]


def _describe(registry: Registry, args: JsonObject) -> Json:
    return action_view(registry.describe(_text(args, "name", "describe")))


def _list(registry: Registry, args: JsonObject) -> Json:
    provider = args.get("provider")
    if provider is not None and not isinstance(provider, str):
        raise ValidateError("tools.list: provider must be a string, the name of one provider")
    known = {binding.name for binding in registry.providers()}
    if provider is not None and provider not in known:
        raise ResolveError(f"tools.list: no provider has that name; there are: {', '.join(sorted(known))}")
    return [
        _brief(action) for action in registry.actions() if provider is None or action.binding.name == provider
    ]


def _catalog(registry: Registry, _args: JsonObject) -> Json:
    catalog: dict[str, Json] = {binding.name: [] for binding in registry.providers()}
    for action in registry.actions():
        cast("list[Json]", catalog[action.binding.name]).append(action.spec.name)
    return catalog


def _text(args: JsonObject, key: str, question: str) -> str:
    value = args.get(key)
    if not isinstance(value, str):
        raise ValidateError(f"tools.{question}: {key} must be a string")
    return value


DISCOVERY: Final[dict[str, Callable[[Registry, JsonObject], Json]]] = {
    "providers": _providers,
    "search": _search,
    "describe": _describe,
    "list": _list,
    "catalog": _catalog,
}
