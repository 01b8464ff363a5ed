"""Search is ranked and deterministic."""

from __future__ import annotations

import random

import pytest

from toolfabric.registry.bindings import Action
from toolfabric.registry.descriptors import bind
from toolfabric.registry.search import ranked
from toolfabric.values import Origin

from .conftest import Made, action


@pytest.fixture
def actions() -> list[Action]:
    listed = [
        action("readFile", "Opens a document."),
        action("write_file", "Stores text, which can be read again."),
        action("list", "Shows what is there.", namespace="files"),
        action("send", "Mails a letter."),
    ]
    binding = bind(Made("disk"), listed, origin=Origin.HOST, generation=1)
    return list(binding.actions.values())


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("read file", "disk.readFile"),
        ("READFILE", "disk.readFile"),
        ("write", "disk.write_file"),
        ("letter", "disk.send"),
        ("disk.send", "disk.send"),
        ("files", "disk.list"),
    ],
)
def test_the_best_fit_comes_first(actions: list[Action], query: str, best: str) -> None:
    assert ranked(actions, query, 5)[0].ref == best


def test_what_has_nothing_of_the_query_is_not_found(actions: list[Action]) -> None:
    assert ranked(actions, "zebra", 5) == ()


def test_the_order_does_not_depend_on_the_order_of_listing(actions: list[Action]) -> None:
    expected = ranked(actions, "file", 5)
    for seed in range(10):
        shuffled = list(actions)
        random.Random(seed).shuffle(shuffled)  # noqa: S311 -- an order, not a secret
        assert ranked(shuffled, "file", 5) == expected


def test_an_empty_query_lists_by_ref_within_the_limit(actions: list[Action]) -> None:
    assert [one.ref for one in ranked(actions, "  ", 2)] == ["disk.list", "disk.readFile"]


def test_a_huge_query_is_bounded(actions: list[Action]) -> None:
    assert ranked(actions, "file " * 100_000, 1)
