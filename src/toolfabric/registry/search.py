"""Rank actions against a few words; the same words over the same actions give the same order.

A word counts most where it is most telling: the whole name, then a part of the name, then the
namespace and the provider, then the description. Every word that is found adds to the rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from toolfabric._base.canonical import code_units
from toolfabric.registry.bindings import Action

__all__ = ["ranked"]

_WORD: Final = re.compile(r"[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_QUERY: Final = 1_000
_MAX_WORDS: Final = 16
_LEAST_PART: Final = 3
_SCANNED: Final = 4_000


def ranked(actions: Iterable[Action], query: str, limit: int) -> tuple[Action, ...]:
    """The best ``limit`` actions, best first, equal ones by ref; none that has nothing of the query.

    A query without words gives the first actions by ref.
    """
    wanted = list(dict.fromkeys(_words(query[:_MAX_QUERY])))[:_MAX_WORDS]
    whole = query.strip().lower()
    scored = [(_score(action, wanted, whole), action) for action in actions]
    found = [(score, action) for score, action in scored if score > 0 or not wanted]
    found.sort(key=lambda one: (-one[0], code_units(one[1].ref)))
    return tuple(action for _rank, action in found[:limit])


def _score(action: Action, wanted: list[str], whole: str) -> int:
    spec, binding = action.spec, action.binding
    if not wanted:
        return 0
    name = set(_words(spec.name))
    place = set(_words(f"{binding.name} {spec.namespace or ''}"))
    text = set(_words(f"{spec.description[:_SCANNED]} {spec.effect or ''}"))
    score = 1_000 if whole in (action.ref.lower(), spec.name.lower()) else 0
    for word in wanted:
        score += max(_hit(word, name, 100), _hit(word, place, 60), _hit(word, text, 20))
    return score


def _hit(word: str, words: set[str], worth: int) -> int:
    """Full worth for the word itself, half for one that begins with it or that it begins with."""
    if word in words:
        return worth
    if len(word) < _LEAST_PART:
        return 0
    begins = any(one.startswith(word) or (len(one) >= _LEAST_PART and word.startswith(one)) for one in words)
    return worth // 2 if begins else 0


def _words(text: str) -> list[str]:
    return _WORD.findall(_HUMP.sub(" ", text).lower())
