"""Compiled JSON Schema: the one place that knows the validator library.

Nothing is ever fetched. ``format`` is not asserted. ``1.0`` is an integer, ``true`` is no number.
A schema that could stop the host is refused when it is compiled, and a value that could is not accepted.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import jsonschema_rs

from toolfabric._base.expansion import expansion, has_references, visits
from toolfabric._base.json_form import MAX_DEPTH, NotJsonError, deeper_than, json_path, json_size, json_type
from toolfabric._base.text import one_line
from toolfabric._base.violations import Violation, explain, too_large
from toolfabric.values import Json, JsonObject

__all__ = [
    "MAX_EXPANSION",
    "MAX_SCHEMA_BYTES",
    "MAX_SCHEMA_DEPTH",
    "Validator",
    "Violation",
    "compile_schema",
]

MAX_SCHEMA_BYTES: Final = 1 << 20
MAX_SCHEMA_DEPTH: Final = 120
"""Containers in one another. The library itself stops at 255 levels, which a wrapper must not reach."""
MAX_EXPANSION: Final = 1_000_000
"""Schemas along one path through a value: at ten to forty nanoseconds each, the host waits 40 ms."""

_MAX_FOLLOWED_DEPTH: Final = MAX_DEPTH
"""A schema that refers to itself is followed as deep as the value goes: 20,000 levels end the process."""
_MAX_EXPLAINED: Final = 10_000
"""Listing errors costs some microseconds for each application of a schema."""


class Validator:
    """Says whether a value fits one schema, and where it does not. Safe to share between threads."""

    __slots__ = ("_follows", "_schema", "_validator")

    def __init__(self, schema: JsonObject, validator: jsonschema_rs.Validator) -> None:
        self._schema = schema
        self._validator = validator
        self._follows = has_references(schema)

    def accepts(self, value: Json) -> bool:
        """Whether the value fits. What cannot be looked at, or is nested beyond reason, does not."""
        if self._follows and deeper_than(value, _MAX_FOLLOWED_DEPTH):
            return False
        try:
            return self._validator.is_valid(value)
        except ValueError:
            return False

    def violations(self, value: Json, limit: int = 8) -> tuple[Violation, ...]:
        """At most ``limit`` places where the value does not fit; none if it does."""
        if self.accepts(value):
            return ()
        try:
            json_size(value)
        except NotJsonError as error:
            return (Violation(path=error.path, keyword="", expected="plain JSON", found=error.problem),)
        if visits(self._schema, value, at_most=_MAX_EXPLAINED) > _MAX_EXPLAINED:
            return (too_large(value),)
        found = explain(self._schema, value, self._validator.iter_errors(value))
        return tuple(islice(found, limit))


def compile_schema(schema: JsonObject) -> Validator:
    """Compile one schema; its draft is what ``$schema`` names, else 2020-12.

    Raises:
        ValueError: It is not valid JSON Schema, refers to something outside itself, or is too large,
            too deep or too entangled to be applied safely. The message says which and where.
    """
    _check_size(schema)
    try:
        validator = jsonschema_rs.validator_for(schema, offline=True)
    except jsonschema_rs.ValidationError as error:
        where = json_path(tuple(error.instance_path))
        reason = f"not valid JSON Schema: at {where}: {one_line(error.message)}"
        if error.kind.name == "$ref":
            reason = (
                f"a reference leads outside the schema, and nothing is fetched: {one_line(error.message)}"
            )
        raise ValueError(reason) from error
    except ValueError as error:
        raise ValueError(f"not valid JSON Schema: {one_line(str(error))}") from error
    return Validator(schema, validator)


def _check_size(schema: JsonObject) -> None:
    if type(schema) is not dict:
        raise ValueError(f"a schema is an object, not {json_type(schema)}")
    try:
        size = json_size(schema, max_depth=MAX_SCHEMA_DEPTH)
    except NotJsonError as error:
        raise ValueError(f"not a JSON value: {error}") from error
    if size > MAX_SCHEMA_BYTES:
        raise ValueError(f"the schema has {size} bytes; at most {MAX_SCHEMA_BYTES} are taken")
    try:
        expanded = expansion(schema, at_most=MAX_EXPANSION)
    except RecursionError as error:
        raise ValueError("references lead from one to the next too many times") from error
    if expanded > MAX_EXPANSION:
        raise ValueError(
            f"it would apply more than {MAX_EXPANSION} schemas to one value, references followed"
        )
