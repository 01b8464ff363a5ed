"""Read settings out of layers of JSON, weakest first, and account for each.

Every layer's value of a setting is judged, also one that a stronger layer hides, so that a file is as
wrong today as on the day the stronger one goes. Nothing here raises: problems and remarks are
collected, and the caller decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from toolfabric._base.suggest import nearest
from toolfabric.config.records import Leaf, Problem, Source, SourceKind
from toolfabric.config.rules import Rule, UnfitError, key_name, type_name
from toolfabric.values import Json, JsonObject

__all__ = ["DEFAULT", "Layer", "Report", "Section"]

_T = TypeVar("_T")

DEFAULT: Final = Source(kind=SourceKind.DEFAULT)
_MOST: Final = 100
_MOST_ENTRIES: Final = 1_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_NAME_WORDS: Final = "letters, digits, '-' and '_', at most 64, beginning with a letter or digit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The JSON object that one source gave."""

    source: Source
    content: JsonObject


@dataclass(slots=True)
class Report:
    """What reading came to besides values. Of problems and of warnings, the first hundred are kept."""

    problems: list[Problem] = field(default_factory=list[Problem])
    warnings: list[Problem] = field(default_factory=list[Problem])
    leaves: list[Leaf] = field(default_factory=list[Leaf])

    def problem(self, *found: Problem) -> None:
        """Add what makes the configuration unusable."""
        self.problems.extend(found[: _MOST - len(self.problems)])

    def warning(self, *found: Problem) -> None:
        """Add what does not."""
        self.warnings.extend(found[: _MOST - len(self.warnings)])


class Section:
    """One object of the configuration, in all layers that have it.

    A ``lenient`` section takes the default where a value is unfit, and says so; any other one makes it
    a problem. Call ``close`` when all known keys were read: it remarks on those that are left.
    """

    def __init__(
        self,
        report: Report,
        path: str,
        layers: Sequence[Layer],
        *,
        lenient: bool = False,
        silent: bool = False,
    ) -> None:
        self._report = report
        self._path = path
        self._layers = layers
        self._lenient = lenient
        self._silent = silent
        self._known: list[str] = []

    def section(self, key: str, *, lenient: bool = False) -> Section:
        """A section inside this one."""
        self._known.append(key)
        found: list[Layer] = []
        for layer, value in self._given(key):
            if isinstance(value, dict):
                found.append(Layer(source=layer.source, content=value))
            else:
                self._unfit(
                    layer.source, self._at(key), f"is {type_name(value)}", "an object", lenient=lenient
                )
        return Section(self._report, self._at(key), found, lenient=lenient)

    def setting(self, key: str, default: _T, rule: Rule[_T]) -> _T:
        """One value: the strongest layer's that has a fit one, or else the default."""
        self._known.append(key)
        value, source = default, DEFAULT
        for layer, given in self._given(key):
            try:
                value, remark = rule.read(given)
            except UnfitError as error:
                self._unfit(layer.source, self._at(key), str(error), rule.allowed)
                continue
            source = layer.source
            if remark:
                self._warn(source, self._at(key), remark)
        self._leaf(self._at(key), _json_of(value), source, rule.allowed)
        return value

    def required(self, key: str, stand_in: _T, rule: Rule[_T]) -> _T:
        """A value that has no default: its absence is a problem, and ``stand_in`` is given."""
        if not self.has(key):
            self.refuse(f"has no {key!r}", f"{key!r} as {rule.allowed}")
        return self.setting(key, stand_in, rule)

    def has(self, key: str) -> bool:
        """Whether any layer gives the key."""
        return bool(self._given(key))

    def refuse(self, what: str, allowed: str) -> None:
        """Report the section as a whole."""
        for layer in self._layers:
            self._unfit(layer.source, self._path, what, allowed)

    def named(
        self, key: str, read: Callable[[Section], _T], *, show: Callable[[_T], Json], each: str
    ) -> dict[str, _T]:
        """Entries by name, each a whole object; a stronger layer's entry takes the place of a weaker one's.

        In a lenient section an unfit entry is left out, together with a weaker one of its name: what was
        meant to replace it must not leave the other one in force.
        """
        allowed = f"an object whose values are {each} objects"
        found: dict[str, tuple[_T, Source]] = {}
        for source, entries in self._collections(key, dict, allowed):
            for name, entry in cast("JsonObject", entries).items():
                found.pop(name, None)
                at = f"{self._at(key)}.{key_name(name)}"
                if not _NAME.match(name):
                    self._unfit(source, at, "has an unfit name", _NAME_WORDS)
                    continue
                made = self._entry(source, at, entry, read)
                if made is not None:
                    found[name] = made, source
        if not found:
            self._leaf(self._at(key), {}, DEFAULT, allowed)
        for name, (value, source) in found.items():
            self._leaf(f"{self._at(key)}.{name}", show(value), source, f"a {each} object")
        return {name: value for name, (value, _source) in found.items()}

    def rows(
        self, key: str, read: Callable[[Section], _T], *, show: Callable[[_T], Json], each: str
    ) -> tuple[_T, ...]:
        """An array of objects; the strongest layer that has one gives all rows."""
        allowed = f"an array of {each} objects"
        found: list[_T] = []
        origin = DEFAULT
        for source, rows in self._collections(key, list, allowed):
            made = [
                self._entry(source, f"{self._at(key)}[{number}]", row, read)
                for number, row in enumerate(cast("list[Json]", rows))
            ]
            found = [one for one in made if one is not None]
            origin = source
        self._leaf(self._at(key), [show(one) for one in found], origin, allowed)
        return tuple(found)

    def content(self) -> JsonObject:
        """The strongest layer's object as it was given."""
        return self._layers[-1].content if self._layers else {}

    def accept_all(self) -> None:
        """Take every key as known."""
        self._known.extend(key for layer in self._layers for key in layer.content)

    def close(self, *ignored: str) -> None:
        """Remark on keys that nothing reads."""
        known = {*self._known, *ignored}
        for layer in self._layers:
            unknown = [key for key in layer.content if key not in known]
            for key in unknown[:_MOST]:  # finding near names takes time
                near = nearest(key, self._known)
                hint = f"did you mean {near!r}?" if near else f"known are {', '.join(self._known)}"
                self._warn(layer.source, self._at(key), f"is not a known key and has no effect; {hint}")

    def _collections(
        self, key: str, kind: type[dict[str, Json] | list[Json]], allowed: str
    ) -> list[tuple[Source, Json]]:
        self._known.append(key)
        found: list[tuple[Source, Json]] = []
        for layer, value in self._given(key):
            if not isinstance(value, kind):
                self._unfit(layer.source, self._at(key), f"is {type_name(value)}", allowed)
            elif len(value) > _MOST_ENTRIES:
                self._unfit(layer.source, self._at(key), "is too long", f"at most {_MOST_ENTRIES} entries")
            else:
                found.append((layer.source, value))
        return found

    def _entry(self, source: Source, at: str, entry: Json, read: Callable[[Section], _T]) -> _T | None:
        if not isinstance(entry, dict):
            self._unfit(source, at, f"is {type_name(entry)}", "an object")
            return None
        own = Report()
        item = Section(own, at, [Layer(source=source, content=entry)], silent=True)
        made = read(item)
        item.close()
        self._report.warning(*own.warnings)
        if own.problems and self._lenient:
            self._report.warning(*own.problems)
            self._warn(source, at, "is left out because of that")
        else:
            self._report.problem(*own.problems)
        return None if own.problems else made

    def _given(self, key: str) -> list[tuple[Layer, Json]]:
        return [(layer, layer.content[key]) for layer in self._layers if key in layer.content]

    def _at(self, key: str) -> str:
        return f"{self._path}.{key_name(key)}" if self._path else key_name(key)

    def _unfit(
        self, source: Source, path: str, what: str, allowed: str, *, lenient: bool | None = None
    ) -> None:
        message = f"{what}; allowed: {allowed}"
        if self._lenient if lenient is None else lenient:
            self._warn(source, path, f"{message}; it is ignored")
        else:
            self._report.problem(Problem(source=source, path=path, message=message))

    def _warn(self, source: Source, path: str, message: str) -> None:
        self._report.warning(Problem(source=source, path=path, message=message))

    def _leaf(self, path: str, value: Json, source: Source, allowed: str) -> None:
        if not self._silent:
            self._report.leaves.append(Leaf(path=path, value=value, source=source, allowed=allowed))


def _json_of(value: object) -> Json:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)
        case tuple() | list():
            return [_json_of(one) for one in cast("Sequence[object]", value)]
        case Mapping():
            return {key: _json_of(one) for key, one in cast("Mapping[str, object]", value).items()}
        case _:
            msg = f"no JSON form of {type(value).__name__}"
            raise TypeError(msg)
