"""The guarded reader: whether a foreign value is an execution trace V1, and nothing else.

Whoever counts evidence asks here first, so the rules are those of the design (Evidence: the guard):
listed keys only; ``null`` is never "absent", save for ``result``; the sequence rises strictly, gaps
allowed; all four counts are there; witnesses are well-formed; at most 15 containers inside each other
and 524,288 bytes when serialized again. Who wrote the value is not judged.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, cast

import msgspec

from toolfabric._base.text import one_line
from toolfabric.errors import RecordError
from toolfabric.trace.bounds import ENVELOPE_BYTES, excess
from toolfabric.trace.records import KIND, VERSION, Trace

__all__ = ["MAX_LEVELS", "parse_trace", "read_trace"]

MAX_LEVELS: Final = 15
_ECHOES: Final = "Invalid enum value"
"""The one message of the decoder that repeats the value it refuses."""


def parse_trace(value: object) -> Trace | None:
    """Read a foreign value as a trace, or return ``None``; it never raises."""
    try:
        return read_trace(value)
    except RecordError:
        return None


def read_trace(value: object) -> Trace:
    """Read a foreign value as a trace.

    The value is only looked at; containers of ``args`` and ``result`` are shared with the record.

    Raises:
        RecordError: It is none. The message says where and why; it repeats keys (escaped), never values.
    """
    _require_kind(value)
    reason = excess(value, levels=MAX_LEVELS, size=ENVELOPE_BYTES)
    if reason is not None:
        raise RecordError(f"not an execution trace: {reason}")
    try:
        trace = msgspec.convert(value, Trace, strict=True)
    except msgspec.ValidationError as error:
        raise RecordError(f"not an execution trace: {_without_value(str(error))}") from None
    except UnicodeEncodeError:  # what the decoder says of a lone surrogate where it expects a known word
        raise RecordError("not an execution trace: a name in it is not Unicode") from None
    for before, after in pairwise(trace.operations):
        if after.sequence <= before.sequence:
            where = f"sequence {after.sequence} follows {before.sequence}"
            raise RecordError(f"not an execution trace: the sequence does not rise: {where}")
    return trace


def _require_kind(value: object) -> None:
    """Refuse at once what is not meant as a trace, so that other details cost nothing."""
    if type(value) is not dict:
        raise RecordError("not an execution trace: it is not an object")
    found = cast("dict[object, object]", value)
    if any(type(key) is not str for key in found):
        raise RecordError("not an execution trace: it has a key that is not a string")
    kind, version = found.get("kind"), found.get("version")
    if type(kind) is not str or kind != KIND:
        raise RecordError(f"not an execution trace: its kind is not {KIND}")
    if type(version) is not int or version != VERSION:
        raise RecordError(f"not an execution trace: its version is not {VERSION}")


def _without_value(message: str) -> str:
    if message.startswith(_ECHOES):
        message = f"not one of the known values{message[message.rfind(' - at ') :]}"
    return one_line(message)
