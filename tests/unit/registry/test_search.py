"""Ranking: the telling word first, the same order every time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfabric.registry.bindings import Action
from toolfabric.registry.descriptors import bind
from toolfabric.registry.search import ranked
from toolfabric.values import Origin

from .conftest import Listed, spec

ACTIONS: list[Action] = [
    action
    for provider, listed in {
        "pi": [
            spec("read", description="Read a file."),
            spec("grep", description="Search the text of files."),
        ],
        "mcp": [
            spec("github.searchIssues", description="Find tickets."),
            spec("github.create_issue", description="Open a ticket."),
            spec("jira.find", description="Search for an issue.", namespace="tracker"),
        ],
        "memory": [spec("recall", description="Look into sessions.")],
    }.items()
    for action in bind(Listed(name=provider), listed, origin=Origin.HOST, generation=1).actions.values()
]


def refs(query: str, limit: int = 20) -> list[str]:
    return [action.ref for action in ranked(ACTIONS, query, limit)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("read", ["pi.read"]),
        ("pi.read", ["pi.read", "pi.grep"]),
        ("search", ["mcp.github.searchIssues", "mcp.jira.find", "pi.grep"]),
        ("issues", ["mcp.github.searchIssues", "mcp.github.create_issue", "mcp.jira.find"]),
        ("Search ISSUES", ["mcp.github.searchIssues", "mcp.github.create_issue", "mcp.jira.find", "pi.grep"]),
        ("tracker", ["mcp.jira.find"]),
        ("sess", ["memory.recall"]),
        ("zzz", []),
        ("\x1b[2J", []),
    ],
)
def test_the_most_telling_place_comes_first(query: str, expected: list[str]) -> None:
    assert refs(query) == expected


def test_no_words_give_the_first_by_ref_and_the_limit_holds() -> None:
    assert refs("", 2) == ["mcp.github.create_issue", "mcp.github.searchIssues"]
    assert len(refs(" ")) == len(ACTIONS)
    assert refs("issues " * 100_000, 1) == refs("issues", 1) == ["mcp.github.searchIssues"]


@given(st.text(max_size=40), st.randoms(use_true_random=False))
def test_the_order_given_does_not_matter(query: str, random: object) -> None:
    shuffled = list(ACTIONS)
    random.shuffle(shuffled)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] -- Hypothesis gives a Random
    assert [action.ref for action in ranked(shuffled, query, 20)] == refs(query)
