"""What configuration says of each risk, and what that means for a call that has several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum

from toolfabric.values import Risk

__all__ = ["Permission", "RiskPolicy"]


class Permission(StrEnum):
    """What is done when a call carries a risk."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPolicy:
    """A permission for each risk; reading is allowed by default, everything else asks."""

    read: Permission = Permission.ALLOW
    write: Permission = Permission.ASK
    execute: Permission = Permission.ASK
    network: Permission = Permission.ASK
    agent: Permission = Permission.ASK

    def __post_init__(self) -> None:
        """Take the plain words as well.

        Raises:
            ValueError: A word is not one of the three.
        """
        for field in fields(self):
            object.__setattr__(self, field.name, Permission(getattr(self, field.name)))

    def of(self, risk: Risk) -> Permission:
        """The permission of one risk."""
        permission: Permission = getattr(self, risk.value)
        return permission

    def decide(self, risks: Iterable[Risk]) -> Permission:
        """One answer for a call with all these risks: deny beats ask, ask beats allow.

        A call without any risk is denied, since nothing was declared that could be allowed.
        """
        found = {self.of(risk) for risk in risks}
        if Permission.DENY in found or not found:
            return Permission.DENY
        return Permission.ASK if Permission.ASK in found else Permission.ALLOW

    def with_permission(self, risks: Iterable[Risk], permission: Permission) -> tuple[Risk, ...]:
        """Those of the risks that have exactly this permission."""
        return tuple(risk for risk in risks if self.of(risk) is permission)
