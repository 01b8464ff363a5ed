"""Ways for a command to end that are nobody's error."""

from __future__ import annotations

__all__ = ["Terminated"]


class Terminated(Exception):  # noqa: N818 -- not an error of anybody's
    """The process was asked to end; what ran was cancelled and recorded."""
