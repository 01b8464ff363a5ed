"""The one rounding of the metric: whole millionths, half up.

Every reported derived number is ``floor(x * 10**6 + 1/2) / 10**6`` (design: Metric v3). Inside, numbers
are kept as integers of millionths, so that sums, means and shares are exact and no order of adding
matters.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

__all__ = ["MILLION", "millionths", "millionths_of_ratio", "reported"]

MILLION: Final = 1_000_000


def millionths(value: float | Fraction) -> int:
    """Round a finite number to millionths."""
    return math.floor(Fraction(value) * MILLION + Fraction(1, 2))


def millionths_of_ratio(numerator: int, denominator: int) -> int:
    """Round an exact quotient to millionths; nothing divided by nothing is zero."""
    if denominator == 0:
        return 0
    return (2 * numerator * MILLION + denominator) // (2 * denominator)


def reported(count: int) -> float:
    """The number that so many millionths are; never ``-0``."""
    return count / MILLION
