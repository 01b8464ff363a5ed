"""Spelling forms of names, and the numbers that a text spells exactly.

Both are conventions of the host (seed: Static normal-form plans), never guesses about meaning. Knows
nothing of schemas or plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from toolfabric._base.canonical import canonical_bytes

__all__ = ["SAFE_INTEGER", "is_text", "number_spelled", "spelling_form", "unique_forms"]

SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer up to which a double holds every integer; larger ones stay doubles."""

_FORMABLE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9 _-]*")
_SEPARATORS: Final = str.maketrans("", "", " _-")
# No double is spelled longer than this by ECMAScript; the bound keeps a hostile text from being parsed.
_LONGEST_NUMBER: Final = 32
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][1-9][0-9]*)?")


def spelling_form(text: str) -> str | None:
    """The form that spellings of one name share: lower case, without space, ``_`` and ``-``.

    Only ASCII names have one (design: Normal forms); others give ``None``.
    """
    if _FORMABLE.fullmatch(text) is None:
        return None
    return text.translate(_SEPARATORS).lower()


def is_text(text: str) -> bool:
    """Whether a text says something and can be written down: not blank, no lone surrogate."""
    return bool(text.strip()) and not any("\ud800" <= letter <= "\udfff" for letter in text)


def unique_forms(names: Iterable[str]) -> dict[str, str]:
    """Map each form to the one name that has it.

    A form that two names share, or one name listed twice, belongs to neither.
    """
    owners: dict[str, str] = {}
    shared: set[str] = set()
    for name in names:
        form = spelling_form(name)
        if form is None:
            continue
        if form in owners:
            shared.add(form)
        owners[form] = name
    return {form: name for form, name in owners.items() if form not in shared}


def number_spelled(text: str) -> int | float | None:
    """The finite number whose ECMAScript ``String(number)`` is exactly this text.

    ``"2"`` and ``"0.5"`` spell one; ``"02"``, ``"2.0"``, ``"1e3"``, ``"-0"`` and
    ``"9007199254740993"`` do not. An integral number within 2**53 - 1 comes as an ``int``.
    """
    if len(text) > _LONGEST_NUMBER or _DECIMAL.fullmatch(text) is None:
        return None
    number = float(text)
    try:
        # RFC 8785 writes a double as ECMAScript does.
        spelled = canonical_bytes(number)
    except ValueError:
        return None  # an infinity
    if spelled != text.encode():
        return None
    if number.is_integer() and abs(number) <= SAFE_INTEGER:
        return int(number)
    return number
