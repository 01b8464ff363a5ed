"""A least-squares line through scores."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.entropy import trend


@pytest.mark.requirement("ENT-029", "ENT-030")
@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ([], {"count": 0, "slopePerStep": 0.0}),
        ([0.25], {"count": 1, "first": 0.25, "last": 0.25, "slopePerStep": 0.0}),
        ([0, 1], {"count": 2, "first": 0.0, "last": 1.0, "slopePerStep": 1.0}),
        ([0.5, 0.4, 0.3, 0.2], {"count": 4, "first": 0.5, "last": 0.2, "slopePerStep": -0.1}),
        ([0.1, 0.3, 0.2], {"count": 3, "first": 0.1, "last": 0.2, "slopePerStep": 0.05}),
        ([0.0, 0.0, 0.000001], {"count": 3, "first": 0.0, "last": 0.000001, "slopePerStep": 0.000001}),
        ([0.000001, 0.0, 0.0], {"count": 3, "first": 0.000001, "last": 0.0, "slopePerStep": 0.0}),
    ],
)
def test_a_trend_has_ends_and_a_slope(scores: list[float], shown: dict[str, Any]) -> None:
    assert trend(scores).to_json() == shown


def test_a_flat_series_has_a_slope_without_a_sign() -> None:
    assert str(trend([0.3] * 5).slope_per_step) == "0.0"
    assert str(trend([0.000001, 0.000001, 0.0, 0.000001, 0.000001]).slope_per_step) == "0.0"


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "x", None])
def test_what_is_no_finite_number_is_refused(score: Any) -> None:
    with pytest.raises(ValueError, match="finite"):
        trend([0.1, score])
