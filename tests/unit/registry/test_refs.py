"""The form of refs."""

from __future__ import annotations

import pytest

from toolfabric.registry.refs import split_ref


@pytest.mark.parametrize(
    ("ref", "parts"),
    [
        ("pi.read", ("pi", "read")),
        ("mcp.github.search_issues", ("mcp", "github.search_issues")),
        ("mcp.$servers", ("mcp", "$servers")),
        ("pi", None),
        ("pi.", None),
        (".read", None),
        ("Pi.read", None),
        ("pi.re ad", None),
        ("pi.read\n", None),
        ("pi." + "x" * 2_000, None),
    ],
)
def test_a_ref_splits_at_its_first_dot(ref: str, parts: tuple[str, str] | None) -> None:
    assert split_ref(ref) == parts
