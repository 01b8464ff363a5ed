from __future__ import annotations

import pytest

from toolfabric.mesh.reserved import HOST_PREFIXES, is_host_key, is_host_topic


@pytest.mark.parametrize("prefix", HOST_PREFIXES)
def test_everything_under_a_reserved_prefix_is_the_hosts(prefix: str) -> None:
    word = prefix.removesuffix("/")
    assert all(is_host_key(key) for key in (f"{prefix}a", f"{prefix}a/b", word, word.upper() + "/x"))
    assert not any(is_host_key(key) for key in (f"{word}s", f"{word}-x/a", f"a/{prefix}x", f"my{word}/a"))


def test_the_records_of_the_design_are_the_hosts() -> None:
    for key in ("schema/workspace", "schema/hypothesis/1", "state/head", "goal/current", "member/1"):
        assert is_host_key(key)


def test_the_hosts_topic_and_those_below_it_are_the_hosts() -> None:
    assert all(is_host_topic(topic) for topic in ("fabric", "fabric.schema", "Fabric.x", "fabric.a.b"))
    assert not any(is_host_topic(topic) for topic in ("fabrics", "my.fabric", "fabric-x", "a"))
