"""What ``fabric_exec`` accepts, and what it forgives (design 10, ``fabric_exec``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, cast

from toolfabric._base.validation import Validator, compile_schema
from toolfabric.errors import ValidateError
from toolfabric.execution.records import ExecArguments, ResultFormat
from toolfabric.values import Json, JsonObject

__all__ = ["FABRIC_EXEC_SCHEMA", "parse_arguments"]

FABRIC_EXEC_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["code"],
    "properties": {
        "code": {"type": "string", "description": "The program. Its return value is the answer."},
        "payloads": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": 'Texts that the program reads as payloads["key"].',
        },
        "resultFormat": {"type": "string", "enum": [str(one) for one in ResultFormat]},
        "display": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
            "description": "What to call this program when a person watches it run.",
        },
    },
}

_OPTIONAL = ("payloads", "resultFormat", "display")


def parse_arguments(value: Json) -> ExecArguments:
    """Read the arguments of one ``fabric_exec`` call.

    A bare string is ``code``; a list of strings is joined with newlines, as the whole or as
    ``code``; optional fields that are null are left out.

    Raises:
        ValidateError: Anything else that the schema does not accept; nothing has run.
    """
    given = _forgive(value)
    violations = _validator().violations(given)
    if violations:
        raise ValidateError("fabric_exec: " + "; ".join(str(one) for one in violations))
    arguments = cast("JsonObject", given)
    display = cast("Mapping[str, Json]", arguments.get("display", {}))
    chosen = arguments.get("resultFormat")
    return ExecArguments(
        code=cast("str", arguments["code"]),
        given=arguments,
        payloads=cast("Mapping[str, str]", arguments.get("payloads", {})),
        result_format=None if chosen is None else ResultFormat(cast("str", chosen)),
        name=cast("str | None", display.get("name")),
        description=cast("str | None", display.get("description")),
    )


@cache
def _validator() -> Validator:
    return compile_schema(FABRIC_EXEC_SCHEMA)


def _forgive(value: Json) -> Json:
    code = _joined(value)
    if isinstance(code, str):
        return {"code": code}
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if item is not None or key not in _OPTIONAL}
    if "code" in kept:
        kept["code"] = _joined(kept["code"])
    return kept


def _joined(value: Json) -> Json:
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "\n".join(cast("list[str]", value))
    return value
