"""The real clock and the real source of identifiers."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from uuid import UUID

__all__ = ["SystemClock", "SystemIds"]


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on the clock that asyncio's event loop uses."""
        return time.monotonic()


class SystemIds:
    """Random identifiers from the operating system."""

    def session(self) -> str:
        """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then 74 random bits."""
        milliseconds = time.time_ns() // 1_000_000
        bits = (milliseconds & (2**48 - 1)) << 80 | secrets.randbits(80)
        bits = bits & ~(0xF << 76) | 0x7 << 76
        bits = bits & ~(0x3 << 62) | 0x2 << 62
        return str(UUID(int=bits))

    def entry(self) -> str:
        """Eight lower-case hexadecimal digits, the form of Pi's record ids."""
        return secrets.token_hex(4)
