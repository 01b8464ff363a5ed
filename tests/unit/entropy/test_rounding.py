"""Whole millionths, half up, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.entropy.rounding import millionths, millionths_of_ratio, reported


@pytest.mark.requirement("ENT-017")
@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (1, 3, 0.333333),
        (2, 3, 0.666667),
        (1, 7, 0.142857),
        (1, 2_000_000, 0.000001),
        (1, 2_000_001, 0.0),
        (0, 5, 0.0),
    ],
)
def test_a_share_has_six_decimals(part: int, whole: int, shown: float) -> None:
    assert reported(millionths_of_ratio(part, whole)) == shown


def test_nothing_divided_by_nothing_is_zero() -> None:
    assert millionths_of_ratio(0, 0) == 0


@pytest.mark.parametrize(
    ("value", "count"), [(-0.0000005, 0), (-0.0000006, -1), (0.0000005, 1), (-1.5, -1_500_000)]
)
def test_a_half_goes_up_below_zero_too(value: float, count: int) -> None:
    assert millionths(Fraction(repr(value))) == count


def test_zero_has_no_sign() -> None:
    assert str(reported(millionths(-0.0))) == "0.0"
    assert str(reported(millionths(-1e-12))) == "0.0"


@given(st.integers(0, 10**12), st.integers(1, 10**12))
def test_a_ratio_is_rounded_as_the_formula_says(part: int, whole: int) -> None:
    assert millionths_of_ratio(part, whole) == millionths(Fraction(part, whole))
