"""The one composition root."""

from __future__ import annotations

__all__ = ["ExecutionResult", "Fabric"]


class ExecutionResult: ...


class Fabric: ...
