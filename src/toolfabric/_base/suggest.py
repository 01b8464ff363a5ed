"""The nearest known names to one that is not known.

Only names that were passed in ever come back, and never many, so an answer cannot carry foreign text.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from toolfabric._base.canonical import code_units

__all__ = ["near_names", "nearest"]

_LONGEST: Final = 128
_CUTOFF: Final = 0.62
_SEPARATORS: Final = str.maketrans("", "", " _-.")


def near_names(wanted: str, known: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """At most ``limit`` known names, the nearest first, equally near ones in code-unit order.

    Case and the separators blank, ``_``, ``-`` and ``.`` do not count as differences. A name that has
    nothing to do with what was wanted is not offered.
    """
    folded = _folded(wanted)
    if not folded:
        return ()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(folded)
    scored = [(score, name) for name in known if (score := _score(matcher, folded, name)) is not None]
    scored.sort(key=lambda one: (-one[0], code_units(one[1])))
    return tuple(name for _score_, name in scored[:limit])


def nearest(wanted: str, known: Iterable[str]) -> str | None:
    """The one nearest known name, if any is near."""
    return next(iter(near_names(wanted, known, limit=1)), None)


def _folded(name: str) -> str:
    return name[:_LONGEST].lower().translate(_SEPARATORS)


def _score(matcher: SequenceMatcher[str], wanted: str, name: str) -> float | None:
    """How near a name is, from the cutoff to 1; the cheap bounds come first, as most names are far."""
    folded = _folded(name)
    if folded == wanted:
        return 1.0
    matcher.set_seq1(folded)
    if matcher.real_quick_ratio() < _CUTOFF or matcher.quick_ratio() < _CUTOFF:
        return None
    ratio = matcher.ratio()
    return ratio if ratio >= _CUTOFF else None
