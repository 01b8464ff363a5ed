"""Installed providers: those that work are given, those that do not are told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolfabric.plugins.manager import GROUP, load_providers


class Good:
    name = "good"
    description = "Works."

    def list(self) -> list[Any]:
        return []

    def describe(self, name: str) -> None:
        return None

    def invoke(self, name: str, args: Any, context: Any) -> None:
        return None


@dataclass(frozen=True)
class Entry:
    name: str
    load: Callable[[], Any]
    value: str = "package.module:thing"


def raising(error: BaseException) -> Callable[[], Any]:
    def load() -> Any:
        raise error

    return load


def needs_one(needed: Any) -> Any:
    return needed


READY = Good()


@pytest.mark.parametrize("target", [READY, Good, lambda: READY], ids=["provider", "class", "factory"])
def test_an_entry_is_a_provider_or_makes_one(target: Any) -> None:
    found = load_providers([Entry("good", lambda: target)])
    assert found.problems == ()
    assert [type(provider) for provider in found.providers] == [Good]


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (raising(ImportError("no module \x1b[31m")), r"ImportError: no module \x1b[31m"),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(RecursionError()), "RecursionError"),
        (lambda: raising(ValueError("in the factory")), "ValueError: in the factory"),
        (lambda: 3, "TypeError: 'int' object is not callable"),
        (lambda: lambda: "text", "it gave str, which is not a provider"),
        (lambda: needs_one, "TypeError"),
    ],
)
def test_one_that_does_not_work_is_told_and_the_others_are_there(
    load: Callable[[], Any], reason: str
) -> None:
    found = load_providers([Entry("b", lambda: Good), Entry("a", load), Entry("c", lambda: Good)])
    assert len(found.providers) == 2
    (problem,) = found.problems
    assert problem.entry == "a (package.module:thing)"
    assert reason in problem.reason
    assert str(problem).startswith("the installed provider a (package.module:thing) cannot be used: ")
    assert str(problem).isprintable()


def test_what_ends_the_program_on_purpose_is_not_held_up() -> None:
    with pytest.raises(KeyboardInterrupt):
        load_providers([Entry("a", raising(KeyboardInterrupt()))])


def test_entries_come_in_the_order_of_their_names() -> None:
    entries = [Entry(name, raising(ValueError(name))) for name in ("b", "c", "a")]
    assert [problem.entry[0] for problem in load_providers(entries).problems] == ["a", "b", "c"]


def test_an_installed_distribution_is_found(tmp_path: Path) -> None:
    (tmp_path / "shipped.py").write_text(
        "class Shipped:\n"
        "    name, description = 'shipped', 'Ships.'\n"
        "    def list(self): return []\n"
        "    def describe(self, name): return None\n"
        "    def invoke(self, name, args, context): return None\n",
        encoding="utf-8",
    )
    metadata = tmp_path / "shipped-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: shipped\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = f"[{GROUP}]\nshipped = shipped:Shipped\nabsent = nowhere:Thing\n"
    (metadata / "entry_points.txt").write_text(lines, encoding="utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from toolfabric.plugins.manager import load_providers\n"
        "found = load_providers()\n"
        "print([one.name for one in found.providers], [one.entry for one in found.problems])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert ran.stdout == "['shipped'] ['absent (nowhere:Thing)']\n"
