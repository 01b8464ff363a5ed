"""Permissions of several risks."""

from __future__ import annotations

import itertools

import pytest

from toolfabric.policy.risk import Permission, RiskPolicy
from toolfabric.values import Risk


def test_reading_is_allowed_and_the_rest_asks_by_default() -> None:
    policy = RiskPolicy()
    assert [policy.of(risk) for risk in Risk] == ["allow", "ask", "ask", "ask", "ask"]


def test_deny_beats_ask_and_ask_beats_allow() -> None:
    order = [Permission.ALLOW, Permission.ASK, Permission.DENY]
    for read, write, network in itertools.product(order, repeat=3):
        policy = RiskPolicy(read=read, write=write, network=network)
        decided = policy.decide([Risk.READ, Risk.WRITE, Risk.NETWORK])
        assert decided is max((read, write, network), key=order.index)


def test_no_risk_at_all_is_denied() -> None:
    assert RiskPolicy().decide([]) is Permission.DENY


def test_plain_words_are_taken_and_others_refused() -> None:
    assert RiskPolicy(write="deny").write is Permission.DENY  # pyright: ignore[reportArgumentType] -- plain words
    with pytest.raises(ValueError, match="maybe"):
        RiskPolicy(write="maybe")  # pyright: ignore[reportArgumentType] -- it must fail


def test_the_risks_with_one_permission_are_told_in_the_order_given() -> None:
    policy = RiskPolicy(execute=Permission.DENY, write=Permission.DENY)
    risks = [Risk.EXECUTE, Risk.READ, Risk.WRITE]
    assert policy.with_permission(risks, Permission.DENY) == (Risk.EXECUTE, Risk.WRITE)
