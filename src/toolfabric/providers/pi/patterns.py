r"""Patterns of others, matched in linear time: regular expressions, globs, ignore files.

Who writes a pattern, a model or a ``.gitignore`` of a foreign repository, must not be able to stop the
host. ``re`` backtracks: ``(a+)+$`` on thirty letters, or ``*a*a*a*a*a*b`` as a glob, take longer than
anybody waits, and hold the interpreter's lock. So everything here runs on RE2, which has no
backtracking and refuses what it cannot do in linear time. ``pathspec`` only translates globs.

This is the one door for both; ``re2`` has builds for the common machines only, and where it is missing,
searching says so and everything else works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol, cast

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from toolfabric.durable.pathnames import shown
from toolfabric.errors import InvokeError

__all__ = ["Globs", "IgnoreRules", "LinePattern", "expand_braces", "line_pattern"]

try:
    _re2: Any = import_module("re2")
except ImportError:
    _re2 = None

PATTERN_CHARS: Final = 4_096
ALTERNATIVES: Final = 256
BRACES: Final = 16
RULES: Final = 10_000
MEMORY_BYTES: Final = 32 * 1024 * 1024


class _Match(Protocol):
    def start(self) -> int: ...


class LinePattern(Protocol):
    """A compiled expression; a match never reaches over a line's end."""

    def search(self, text: bytes, pos: int = 0, endpos: int | None = None, /) -> _Match | None:
        """The first match in ``text[pos:endpos]``."""
        ...


class _PathPattern(Protocol):
    def fullmatch(self, text: str, /) -> object: ...


class _RuleSet(Protocol):
    def Add(self, pattern: bytes, /) -> int: ...  # noqa: N802 - RE2's own name
    def Compile(self) -> None: ...  # noqa: N802
    def Match(self, text: bytes, /) -> Sequence[int] | None: ...  # noqa: N802


def line_pattern(pattern: str, *, literal: bool = False, ignore_case: bool = False) -> LinePattern:
    """Compile a pattern for searching lines; ``^`` and ``$`` are a line's ends.

    Raises:
        InvokeError: It is not a valid expression, or too large, or cannot be matched in linear time.
    """
    options = _options(never_nl=True, never_capture=True, case_sensitive=not ignore_case, literal=literal)
    return cast("LinePattern", _compile(pattern if literal else f"(?m){pattern}", pattern, options))


class Globs:
    """Glob patterns as one decision, by the rules of ignore files: the last that matches counts.

    A pattern without a slash matches names at any depth, one with a slash is relative to where the
    search starts, ``**`` stands for any folders, ``{a,b}`` for either, and a leading ``!`` takes out. With
    nothing but such exclusions, everything else is in.

    Raises:
        InvokeError: A pattern is malformed or stands for too many.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        options = _options(dot_nl=True, never_capture=True)
        self._rules: list[tuple[_PathPattern | None, bool, bool]] = []
        for pattern in patterns:
            takes_out = pattern.startswith("!")
            for one in expand_braces(pattern.removeprefix("!")):
                regex, folders = _translate_glob(one)
                compiled = None if regex is None else cast("_PathPattern", _compile(regex, one, options))
                self._rules.append((compiled, folders, not takes_out))
        self._otherwise = all(not wanted for _, _, wanted in self._rules)

    def accepts(self, path: str, *, folder: bool = False) -> bool:
        """Whether a path, relative to where the search starts, is wanted."""
        text = f"{path}/" if folder else path
        for compiled, folders, wanted in reversed(self._rules):
            if (folder or not folders) if compiled is None else compiled.fullmatch(text):
                return wanted
        return self._otherwise


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one ignore file, which speak of what is below its folder.

    Lines that are malformed, or that RE2 cannot match, have no effect.
    """

    rules: _RuleSet
    ignores: tuple[bool, ...]

    @classmethod
    def parse(cls, data: bytes) -> IgnoreRules | None:
        """Read an ignore file in Git's syntax; ``None`` when it has no rules.

        Raises:
            InvokeError: There is no RE2.
        """
        options = _options(encoding=_latin1(), dot_nl=True, never_capture=True, max_mem=MEMORY_BYTES)
        rules = cast("_RuleSet", _require().Set.FullMatchSet(options))
        lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:RULES]
        ignores = tuple(_add_rules(rules, (line for line in lines if len(line) <= PATTERN_CHARS)))
        if not ignores:
            return None
        try:
            rules.Compile()
        except _re2.error:  # more than the memory allowed: better to show too much than to stop
            return None
        return cls(rules, ignores)

    def decide(self, path: bytes) -> bool | None:
        """Whether a path is ignored; ``None`` when no rule speaks of it.

        The path is relative to the ignore file's folder and ends with a slash if it is a folder. What is
        below an ignored folder is not asked about.
        """
        matching = self.rules.Match(path)
        return self.ignores[max(matching)] if matching else None


def expand_braces(pattern: str) -> tuple[str, ...]:
    """Every pattern that one with ``{a,b}`` stands for; a brace without a comma or an end is itself.

    Raises:
        InvokeError: There are more than 256, or more than 16 braces.
    """
    if pattern.count("{") > BRACES or len(pattern) > PATTERN_CHARS:
        msg = f"the glob '{shown(pattern)}' has more than {BRACES} braces or {PATTERN_CHARS} characters"
        raise InvokeError(msg)
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        found = _first_brace(one)
        if found is None:
            done.append(one)
        else:
            start, end, parts = found
            waiting.extend(f"{one[:start]}{part}{one[end:]}" for part in reversed(parts))
        if len(done) + len(waiting) > ALTERNATIVES:
            msg = f"the glob '{shown(pattern)}' stands for more than {ALTERNATIVES} patterns; make it simpler"
            raise InvokeError(msg)
    return tuple(done)


def _first_brace(pattern: str) -> tuple[int, int, list[str]] | None:
    """Where the first group of alternatives starts and ends, and what they are."""
    for start, one in enumerate(pattern):
        if one == "{" and (start == 0 or pattern[start - 1] != "\\"):
            group = _group(pattern, start)
            if group is not None and len(group[1]) > 1:
                return start, group[0], group[1]
    return None


def _group(pattern: str, start: int) -> tuple[int, list[str]] | None:
    depth = 0
    parts = [""]
    for at in range(start, len(pattern)):
        one = pattern[at]
        depth += {"{": 1, "}": -1}.get(one, 0)
        if depth == 0:
            return at + 1, parts
        if one == "," and depth == 1:
            parts.append("")
        elif at > start:
            parts[-1] += one
    return None


def _translate_glob(pattern: str) -> tuple[str | None, bool]:
    """A glob as an expression for the whole path, and whether it is for folders only.

    ``None`` stands for everything, which has no expression of its own.
    """
    # A pattern that begins with one of these would be a comment or another exclusion.
    plain = f"\\{pattern}" if pattern.startswith(("#", "!")) else pattern
    try:
        regex, _ = GitIgnoreSpecPattern.pattern_to_regex(_all_below(plain))
    except GitIgnorePatternError:
        regex = None
    if regex is None:
        msg = f"the glob '{shown(pattern)}' is not valid; write for example '*.py' or 'src/**/*.{{js,ts}}'"
        raise InvokeError(msg)
    return (regex if regex.startswith("^") else None), pattern.endswith("/")


def _all_below(pattern: str) -> str:
    """Spell out a trailing ``**``: what is below a folder, and not the folder itself."""
    if pattern.endswith("/**"):
        return f"{pattern}/*"
    return f"{pattern}*/" if pattern.endswith("/**/") else pattern


def _add_rules(rules: _RuleSet, lines: Iterable[bytes]) -> Iterator[bool]:
    for line in lines:
        text = _rule_text(line)
        try:
            regex, ignores = GitIgnoreSpecPattern.pattern_to_regex(text.encode("latin-1"))
        except GitIgnorePatternError:
            continue
        if regex is None or ignores is None:
            continue
        try:
            rules.Add(regex if regex.startswith(b"^") else _everything(text))
        except _re2.error:
            continue
        yield ignores


def _rule_text(line: bytes) -> str:
    """A line without what Git does not count: the end of a CRLF line, and blanks that are not escaped."""
    text = line.removesuffix(b"\r").decode("latin-1")
    if text.endswith("\\ "):
        return text
    text = text.rstrip(" ")
    if text[-1:].isspace():  # the translator would take it off; to Git it is part of the name
        text = f"{text[:-1]}[{text[-1]}]"
    return _all_below(text)


def _everything(line: str) -> bytes:
    """The expression of a rule like ``*``, which has no anchored one; ``*/`` is for folders only."""
    return b".*/" if line.endswith("/") else b".*"


def _require() -> Any:
    if _re2 is None:
        msg = "searching needs the package google-re2, which is not installed; until then use pi.bash"
        raise InvokeError(msg)
    return _re2


def _latin1() -> object:
    """Ignore files and file names are bytes: each is a character of its own."""
    return _require().Options.Encoding.LATIN1


def _options(**wanted: object) -> object:
    options = _require().Options()
    options.log_errors = False  # it would write to the host's standard error
    for name, value in wanted.items():
        setattr(options, name, value)
    return options


def _compile(regex: str, pattern: str, options: object) -> object:
    if len(pattern) > PATTERN_CHARS:
        msg = f"the pattern is longer than {PATTERN_CHARS} characters"
        raise InvokeError(msg)
    try:
        return _require().compile(regex, options)
    except _re2.error as error:
        reason = error.args[0] if error.args else ""
        told = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        hint = "write RE2 syntax, which has no look-around and no back-references"
        msg = f"the pattern is not valid: {shown(told)}; {hint}"
        raise InvokeError(msg) from error
    except UnicodeEncodeError as error:
        msg = "the pattern holds half of a surrogate pair"
        raise InvokeError(msg) from error
