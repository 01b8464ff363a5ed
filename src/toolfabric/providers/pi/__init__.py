"""The host's core tools over one workspace: ``read grep find ls edit write bash``."""

from __future__ import annotations

from toolfabric.providers.pi.provider import PiProvider
from toolfabric.providers.pi.workspace import PiLimits

__all__ = ["PiLimits", "PiProvider"]
