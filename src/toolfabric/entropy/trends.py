"""The trend of a series of scores: what was observed over a window, not a promise of going down.

The module's name leaves that of its function free in the package.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from toolfabric.entropy.reports import Trend
from toolfabric.entropy.rounding import millionths, reported

__all__ = ["trend"]


def trend(scores: Iterable[float]) -> Trend:
    """Lay a least-squares line through scores, oldest to newest.

    The slope is per step; of fewer than two scores it is 0.

    Raises:
        ValueError: A score is not a finite number.
    """
    # A score is the decimal number that is written, not the double nearest to it.
    series = [_exact(score) for score in scores]
    if not series:
        return Trend(count=0, slope_per_step=0.0)
    return Trend(
        count=len(series),
        first=reported(millionths(series[0])),
        last=reported(millionths(series[-1])),
        slope_per_step=reported(millionths(_slope(series))),
    )


def _exact(score: float) -> Fraction:
    try:
        return Fraction(repr(score))
    except ValueError:
        raise ValueError("a score is not a finite number") from None


def _slope(series: list[Fraction]) -> Fraction:
    count = len(series)
    spread = Fraction(count * (count * count - 1), 12)
    if not spread:
        return Fraction(0)
    middle = Fraction(count - 1, 2)
    return sum(((step - middle) * score for step, score in enumerate(series)), Fraction(0)) / spread
