"""Names: which are taken, which are refused, and where a ref splits."""

from __future__ import annotations

import pytest

from toolfabric.registry.refs import MAX_REF, action_name_problem, provider_name_problem, split_ref


@pytest.mark.parametrize(
    ("ref", "parts"),
    [
        ("pi.read", ("pi", "read")),
        ("mcp.github.search_issues", ("mcp", "github.search_issues")),
        ("mcp.$status", ("mcp", "$status")),
        ("a-1_b.c-d", ("a-1_b", "c-d")),
    ],
)
def test_a_ref_splits_at_its_first_dot(ref: str, parts: tuple[str, str]) -> None:
    assert split_ref(ref) == parts


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "pi",
        "pi.",
        ".read",
        "Pi.read",
        "1pi.read",
        "pi..read",
        "pi.1read",
        "pi.-x",
        "pi.re ad",
        "pi.read\n",
        "pí.read",
        "pi.read\x1b",
        "p" * 65 + ".read",
        "pi." + "x" * MAX_REF,
    ],
)
def test_what_has_not_the_form_of_a_ref_is_none(ref: str) -> None:
    assert split_ref(ref) is None


@pytest.mark.parametrize("name", ["a", "a" * 64, "pi", "my-tools_2"])
def test_good_provider_names(name: str) -> None:
    assert provider_name_problem(name) is None


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", "a.b", "-a", "a" * 65, "a\n", "ä"])
def test_bad_provider_names(name: str) -> None:
    assert "lower-case letter" in str(provider_name_problem(name))


@pytest.mark.parametrize("name", ["fabric", "tools", "workflow", "payloads"])
def test_reserved_provider_names(name: str) -> None:
    assert "taken by programs" in str(provider_name_problem(name))


@pytest.mark.parametrize("name", ["read", "github.search", "$a", "_a", "A-b", "x" * (MAX_REF - 3)])
def test_good_action_names(name: str) -> None:
    assert action_name_problem("pi", name) is None


@pytest.mark.parametrize("name", ["", "1a", "a.", ".a", "a..b", "a b", "-a", "a.-b", "a/b", "a\n", "ä"])
def test_bad_action_names(name: str) -> None:
    assert "dotted parts" in str(action_name_problem("pi", name))


def test_a_ref_has_a_greatest_length() -> None:
    assert "longer than 1024" in str(action_name_problem("pi", "x" * (MAX_REF - 2)))
