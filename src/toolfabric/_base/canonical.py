"""RFC 8785 bytes and SHA-256 over them: the project's one digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import rfc8785

from toolfabric.values import Json

__all__ = ["canonical_bytes", "canonical_digest", "code_units", "sorted_code_units"]


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


def code_units(text: str) -> bytes:
    """A sort key that gives UTF-16 code-unit order, the only string order used in records."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_code_units(texts: Iterable[str]) -> list[str]:
    """Sort strings as RFC 8785 sorts keys."""
    return sorted(texts, key=code_units)
