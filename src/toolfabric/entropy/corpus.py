"""Take traces, surfaces and rows from a caller: as records, or as plain dictionaries of their JSON form.

A corpus in memory is read for the fields that are needed; fields beyond them are not looked at (an
operation of a whole execution trace has more). What is needed must have its declared type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec

from toolfabric._base.camel import Record
from toolfabric._base.canonical import canonical_digest, sorted_code_units
from toolfabric.entropy.records import Surface, Trace
from toolfabric.errors import RecordError
from toolfabric.values import Json, Outcome

__all__ = [
    "AnyTrace",
    "OperationView",
    "Schemas",
    "TraceView",
    "read_rows",
    "read_schemas",
    "read_trace",
    "surface_digest",
]

_R = TypeVar("_R", bound=Record)
_T = TypeVar("_T")

AnyTrace: TypeAlias = Trace | Mapping[str, Any]
Schemas: TypeAlias = Mapping[str, Json]
"""Declared input schemas by ref, in code-unit order of the refs."""


class OperationView(msgspec.Struct, rename="camel"):
    """What is read of an operation."""

    ref: str
    args: dict[str, Any]
    outcome: Outcome
    failure_stage: str | None = None


class TraceView(msgspec.Struct, rename="camel"):
    """What is read of a trace."""

    operations: list[OperationView]
    task_key: str | None = None
    model: str | None = None


class _ActionView(msgspec.Struct, rename="camel"):
    ref: str
    input_schema: Any


class _SurfaceView(msgspec.Struct, rename="camel"):
    version: int
    actions: list[_ActionView]


def read_trace(trace: AnyTrace) -> Trace | TraceView:
    """A record as it is, a dictionary by its fields.

    Raises:
        RecordError: A field that is needed is missing or of another type.
    """
    return trace if isinstance(trace, Trace) else _convert(trace, TraceView, "trace")


def read_schemas(surface: Surface | Mapping[str, Any] | None) -> Schemas:
    """The schemas of a surface by ref; of a ref declared twice, the last one counts.

    Raises:
        RecordError: It is not a surface of version 1.
    """
    if surface is None:
        return {}
    view = surface if isinstance(surface, Surface) else _convert(surface, _SurfaceView, "surface")
    if view.version != 1:
        raise RecordError(f"not a valid surface: version {view.version} is not known, only 1 is")
    found = {action.ref: action.input_schema for action in view.actions}
    return {ref: found[ref] for ref in sorted_code_units(found)}


def read_rows(rows: Iterable[_R | Mapping[str, Any]], kind: type[_R]) -> Iterator[_R]:
    """Records as they are, dictionaries by the fields of the record.

    Raises:
        RecordError: A row has not the form of the record.
    """
    for row in rows:
        yield row if isinstance(row, kind) else kind.from_json(_known(row, kind))


def surface_digest(schemas: Schemas) -> str:
    """The digest of a surface.

    A schema without a canonical form, which can prove nothing, counts as ``null`` there.

    Raises:
        ValueError: A ref has no canonical form.
    """
    try:
        return canonical_digest(_form(schemas))
    except ValueError:
        return canonical_digest(_form({ref: _canonical(schema) for ref, schema in schemas.items()}))


def _form(schemas: Schemas) -> Json:
    return {
        "version": 1,
        "actions": [{"ref": ref, "inputSchema": schema} for ref, schema in schemas.items()],
    }


def _canonical(schema: Json) -> Json:
    try:
        canonical_digest(schema)
    except ValueError:
        return None
    return schema


def _known(row: Record | Mapping[str, Any], kind: type[Record]) -> object:
    if not isinstance(row, Mapping):
        return row
    return {name: row[name] for name in kind.__struct_encode_fields__ if name in row}


def _convert(value: object, kind: type[_T], name: str) -> _T:
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise RecordError(f"not a valid {name}: {error}") from None
    except UnicodeEncodeError:
        raise RecordError(f"not a valid {name}: a name in it is no Unicode") from None
