"""Every exception that Fabric raises on purpose, under one drawn tree.

::

    FabricError                  anything Fabric says on purpose
    ├── ConfigError              a configuration value or file is wrong
    ├── MountError               a provider or a descriptor was refused when mounted
    ├── StorageError             bytes could not be kept or read back
    ├── RecordError              a foreign record does not have its declared form
    ├── PathError                a path leads outside, or to what must not be used
    ├── StateError               the state head cannot be used as it stands
    ├── CallError                one call was refused or failed; has a stage
    │   ├── ResolveError         no such action
    │   ├── GuardError           a policy, a deadline or a budget said no
    │   ├── PrepareError         the provider could not read the arguments
    │   ├── ValidateError        the arguments do not fit the declared schema
    │   ├── ApproveError         nobody allowed the call
    │   └── InvokeError          the provider ran and failed
    └── KernelError              the sandbox itself could not be used

A message says what was wrong, where, and what to do about it. Messages are for the caller and may
name argument *keys*; durable records never keep them (see ``trace.recorder``).
"""

from __future__ import annotations

from typing import ClassVar

from toolfabric.values import Outcome, Stage

__all__ = [
    "ApproveError",
    "CallError",
    "ConfigError",
    "FabricError",
    "GuardError",
    "InvokeError",
    "KernelError",
    "MountError",
    "PathError",
    "PrepareError",
    "RecordError",
    "ResolveError",
    "StateError",
    "StorageError",
    "ValidateError",
]


class FabricError(Exception):
    """Anything Fabric raises on purpose. It is never a bug in Fabric: those stay what they are."""


class ConfigError(FabricError):
    """A configuration value or file is wrong. The message names the file and the path in it."""


class MountError(FabricError):
    """A provider or one of its descriptors was refused when mounted; nothing of it was kept."""


class StorageError(FabricError):
    """Bytes could not be kept or read back. What was acknowledged before is still there."""


class RecordError(FabricError):
    """A foreign record does not have its declared form. It says nothing about who wrote it."""


class PathError(FabricError):
    """A path leads outside its folder, or to something that must not be used so.

    It is not about a file that is missing or may not be read: that stays an ``OSError``.
    """


class StateError(FabricError):
    """The state head, or what it rests on, cannot be used as it stands; the message says what to do.

    It is not a lost race: that is an answer.
    """


class CallError(FabricError):
    """One call was refused or failed. Its class fixes the stage; there is no other place for it.

    Every stage before ``invoke`` means that the call had no effect. ``outcome`` tells apart a call that
    failed, one whose time ran out and one that was cancelled.
    """

    stage: ClassVar[Stage]

    def __init__(self, message: str = "", *, outcome: Outcome = Outcome.FAILED) -> None:
        super().__init__(message)
        self.outcome = outcome


class ResolveError(CallError):
    """No provider or action has that name."""

    stage = Stage.RESOLVE


class GuardError(CallError):
    """A policy, a deadline or a budget said no. It is not about the arguments."""

    stage = Stage.GUARD


class PrepareError(CallError):
    """The provider's own ``prepare_arguments`` refused. It is final and never bypassed."""

    stage = Stage.PREPARE


class ValidateError(CallError):
    """The arguments do not fit the declared schema."""

    stage = Stage.VALIDATE


class ApproveError(CallError):
    """Nobody allowed the call. It says nothing about whether it would have worked."""

    stage = Stage.APPROVE


class InvokeError(CallError):
    """The provider ran and failed: the only stage at which an effect may have happened."""

    stage = Stage.INVOKE


class KernelError(FabricError):
    """The sandbox itself could not be used: not installed, died, or answered nonsense.

    It is not an error of the program; that is a ``ProgramFault`` in the outcome.
    """
