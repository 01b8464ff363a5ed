"""Which values arguments were given, and how often: advice for authors, authority for nothing.

Only calls that succeeded are looked at, and never Fabric's own. Equal numbers are one value however they
are spelled; ``1``, ``true`` and ``"1"`` are three.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from toolfabric._base.canonical import canonical_bytes, code_units
from toolfabric.entropy.forms import SAFE_INTEGER
from toolfabric.entropy.records import ValueObservation
from toolfabric.values import Outcome

__all__ = [
    "FABRIC_PREFIX",
    "Observations",
    "Spelled",
    "is_observed",
    "observed_values",
    "spell",
    "text_order",
]

FABRIC_PREFIX: Final = "fabric."
_WIDEST_DECIMAL: Final = 1_024

Scalar: TypeAlias = bool | int | float | str
Spelled: TypeAlias = tuple[str, str]
"""A value's type (``boolean``, ``number``, ``string``) and its text."""


def is_observed(ref: str, outcome: str) -> bool:
    """Whether a call counts for the review: it succeeded and is none of Fabric's own."""
    return outcome == Outcome.SUCCEEDED and not ref.startswith(FABRIC_PREFIX)


def observed_values(args: object) -> Iterable[tuple[str, Scalar]]:
    """The top-level arguments whose value is a string, a number or a boolean."""
    if isinstance(args, Mapping):
        for key, value in args.items():  # pyright: ignore[reportUnknownVariableType] -- any arguments
            if isinstance(key, str) and isinstance(value, bool | int | float | str):
                yield key, value


def spell(value: Scalar) -> Spelled:
    """Type and text of a value; a number's text is ECMAScript's where it has one."""
    match value:
        case bool():
            return "boolean", "true" if value else "false"
        case str():
            return "string", value
        case _:
            return "number", _number(value)


def text_order(spelled: Spelled) -> bytes:
    """The order of values: by ``type:text``."""
    return code_units(":".join(spelled))


class Observations:
    """Adds up observations of equal values."""

    def __init__(self) -> None:
        self.counts: defaultdict[tuple[str, str], Counter[Spelled]] = defaultdict(Counter)
        """How often each value was seen, by ref and key."""
        self._values: dict[Spelled, Scalar] = {}

    def add(self, ref: str, key: str, value: Scalar, count: int = 1) -> None:
        """Count a value that argument ``key`` of ``ref`` had."""
        spelled = spell(value)
        self._values.setdefault(spelled, _plain(value))
        self.counts[ref, key][spelled] += count

    def add_call(self, ref: str, args: object) -> None:
        """Count every value of one call."""
        for key, value in observed_values(args):
            self.add(ref, key, value)

    def value(self, spelled: Spelled) -> Scalar:
        """The value that is spelled so."""
        return self._values[spelled]

    def rows(self) -> tuple[ValueObservation, ...]:
        """Every value with its count, by ref, key, type and text."""
        return tuple(
            ValueObservation(
                ref=ref, key=key, value=self._values[spelled], count=self.counts[ref, key][spelled]
            )
            for ref, key in sorted(self.counts, key=lambda at: (code_units(at[0]), code_units(at[1])))
            for spelled in sorted(self.counts[ref, key], key=text_order)
        )


def _plain(value: Scalar) -> Scalar:
    """One spelling for equal numbers: an integral double within the safe range is an integer."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= SAFE_INTEGER:
        return int(value)
    return value


def _number(value: float) -> str:
    try:
        return canonical_bytes(value).decode()
    except ValueError:
        pass  # an integer beyond 2**53, or no JSON at all
    if isinstance(value, int) and value.bit_length() > _WIDEST_DECIMAL:
        return hex(value)
    return str(value)
