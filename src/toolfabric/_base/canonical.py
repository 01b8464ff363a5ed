"""RFC 8785 bytes and SHA-256 over them: the project's one digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import rfc8785

from toolfabric.values import Json, JsonObject

__all__ = ["canonical_bytes", "canonical_digest", "code_units", "form_digest", "sorted_code_units"]


def canonical_bytes(value: Json) -> bytes:
    """The RFC 8785 form of a JSON value.

    Raises:
        ValueError: The value has no canonical form: a lone surrogate, an integer beyond 2**53 - 1,
            NaN or an infinity, or something that is not JSON.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeEncodeError) as error:
        msg = f"the value has no canonical JSON form: {type(error).__name__}"
        raise ValueError(msg) from error


def canonical_digest(value: Json) -> str:
    """SHA-256, in hexadecimal, of the canonical form.

    Raises:
        ValueError: As ``canonical_bytes``.
    """
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def form_digest(form: JsonObject) -> str:
    """The digest of an object that need not have a canonical form, such as one with 64-bit numbers.

    Without one, its sorted JSON text stands for it; an object and a text never have the same digest.
    """
    try:
        return canonical_digest(form)
    except ValueError:
        return canonical_digest(json.dumps(form, sort_keys=True))


def code_units(text: str) -> bytes:
    """A sort key that gives UTF-16 code-unit order, the only string order used in records."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_code_units(texts: Iterable[str]) -> list[str]:
    """Sort strings as RFC 8785 sorts keys."""
    return sorted(texts, key=code_units)
