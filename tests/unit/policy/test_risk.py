"""What configuration says of risks."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from toolfabric.policy.risk import Permission, RiskPolicy
from toolfabric.values import Risk


def test_reading_is_allowed_and_everything_else_asks_by_default() -> None:
    policy = RiskPolicy()
    assert {risk: policy.of(risk) for risk in Risk} == {
        Risk.READ: Permission.ALLOW,
        Risk.WRITE: Permission.ASK,
        Risk.EXECUTE: Permission.ASK,
        Risk.NETWORK: Permission.ASK,
        Risk.AGENT: Permission.ASK,
    }


@pytest.mark.parametrize(("one", "other"), list(product(Permission, Permission)))
def test_of_two_risks_the_stricter_decides(one: Permission, other: Permission) -> None:
    strictness = [Permission.ALLOW, Permission.ASK, Permission.DENY]
    policy = RiskPolicy(write=one, execute=other)
    assert policy.decide((Risk.WRITE, Risk.EXECUTE)) is max(one, other, key=strictness.index)


def test_an_action_without_risks_is_denied() -> None:
    assert RiskPolicy().decide(()) is Permission.DENY


def test_an_unknown_word_is_refused() -> None:
    word: Any = "maybe"
    with pytest.raises(ValueError, match="maybe"):
        RiskPolicy(read=word)


def test_those_with_one_permission_are_told() -> None:
    policy = RiskPolicy(write=Permission.DENY)
    assert policy.with_permission((Risk.READ, Risk.WRITE), Permission.DENY) == (Risk.WRITE,)
