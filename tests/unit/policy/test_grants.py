"""The digest that binds an approval."""

from __future__ import annotations

from toolfabric.policy.grants import call_digest


def test_anything_that_differs_gives_another_digest_and_order_does_not() -> None:
    base = call_digest("d", "pi.write", {"a": 1, "b": [1, 2]})
    assert base == call_digest("d", "pi.write", {"b": [1, 2], "a": 1})
    others = [
        call_digest("e", "pi.write", {"a": 1, "b": [1, 2]}),
        call_digest("d", "pi.edit", {"a": 1, "b": [1, 2]}),
        call_digest("d", "pi.write", {"a": 1, "b": [2, 1]}),
        call_digest("d", "pi.write", {"a": "1", "b": [1, 2]}),
        call_digest("d", "pi.write", {"a": True, "b": [1, 2]}),
        call_digest("d", "pi.write", {"a": 1}),
    ]
    assert len({base, *others}) == 7


def test_numbers_beyond_canonical_json_can_be_granted_too() -> None:
    one, other = (call_digest("d", "x.y", {"id": 2**60 + more}) for more in (0, 1))
    assert one != other
