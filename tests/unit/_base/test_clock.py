"""The real clock and the real identifiers."""

from __future__ import annotations

import re
from datetime import UTC
from uuid import UUID

from toolfabric._base.clock import SystemClock, SystemIds


def test_the_wall_clock_is_in_utc_and_the_other_never_goes_back() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    readings = [clock.monotonic() for _reading in range(100)]
    assert readings == sorted(readings)


def test_session_ids_are_uuids_of_version_7_in_the_order_of_time() -> None:
    ids = SystemIds()
    made = [UUID(ids.session()) for _number in range(100)]
    assert {(one.version, one.variant) for one in made} == {(7, "specified in RFC 4122")}
    assert len(set(made)) == 100
    times = [one.int >> 80 for one in made]
    assert times == sorted(times)
    assert abs(times[0] / 1_000 - SystemClock().now().timestamp()) < 3_600


def test_record_ids_are_eight_hexadecimal_digits() -> None:
    ids = SystemIds()
    made = {ids.entry() for _number in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch("[0-9a-f]{8}", one) for one in made)
