"""Providers of other distributions: good ones are loaded, bad ones are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from toolfabric.plugins.manager import load_providers


class Good:
    name = "good"
    description = "Good."

    def list(self) -> list[Any]:
        return []

    def describe(self, name: str) -> None:
        return None

    def invoke(self, name: str, args: Any, context: Any) -> None:
        return None


@dataclass(frozen=True)
class Entry:
    name: str
    loading: Callable[[], Any]
    value: str = "somewhere:thing"

    def load(self) -> Any:
        return self.loading()


def _raise(error: BaseException) -> Callable[[], Any]:
    def load() -> Any:
        raise error

    return load


def test_a_provider_a_class_and_a_factory_are_all_loaded_in_order_of_their_names() -> None:
    made = Good()
    entries = [Entry("c", lambda: made), Entry("a", lambda: Good), Entry("b", lambda: lambda: made)]
    loaded = load_providers(entries)
    assert [type(one) for one in loaded.providers] == [Good, Good, Good]
    assert (loaded.providers[1], loaded.providers[2], loaded.problems) == (made, made, ())


@pytest.mark.parametrize(
    ("loading", "told"),
    [
        (_raise(ImportError("no module\x1b[31m")), "ImportError: no module"),
        (_raise(SystemExit(3)), "SystemExit"),
        (lambda: lambda: 7, "int, which is not a provider"),
        (lambda: _raise(RuntimeError("factory")), "RuntimeError: factory"),
        (lambda: 7, "TypeError"),
    ],
)
def test_an_entry_that_gives_no_provider_is_a_problem_and_stops_nobody(
    loading: Callable[[], Any], told: str
) -> None:
    loaded = load_providers([Entry("bad", loading), Entry("good", lambda: Good)])
    assert len(loaded.providers) == 1
    (problem,) = loaded.problems
    assert told in str(problem)
    assert "bad (somewhere:thing)" in str(problem)
    assert "\x1b" not in str(problem)


def test_installed_distributions_are_read() -> None:
    assert load_providers().problems == ()
