"""Which complaints of the type checker are errors of the program, and which are not.

The checker sees static types, the sandbox runs values: a complaint that a correct program can draw
must not stop it. So a complaint counts only if its kind is on a list, its types are certain, and the
program does not expect the error; then it blocks. Complaints about the arguments of tools are notes
(design 20, last section): the call goes to the registry, where it is normalized, validated and recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolfabric._base.suggest import near_names
from toolfabric._base.text import one_line
from toolfabric.kernels.names import Namespace
from toolfabric.kernels.stubs import STUB_CLASS, Stub
from toolfabric.kernels.subset import BUILTINS, MODULES
from toolfabric.kernels.survey import Survey
from toolfabric.protocols import FaultKind, ProgramFault

__all__ = ["Diagnostic", "Verdict", "judge", "read_diagnostics"]

_ERRORS: Final[dict[str, tuple[str, ...]]] = {
    "call-non-callable": ("TypeError",),
    "index-out-of-bounds": ("IndexError", "LookupError"),
    "invalid-argument-type": ("TypeError", "ValueError"),
    "invalid-assignment": ("TypeError", "ValueError"),
    "invalid-await": ("TypeError",),
    "invalid-context-manager": ("TypeError", "AttributeError"),
    "invalid-raise": ("TypeError",),
    "invalid-return-type": ("TypeError",),
    "missing-argument": ("TypeError",),
    "no-matching-overload": ("TypeError", "ValueError"),
    "not-iterable": ("TypeError",),
    "not-subscriptable": ("TypeError",),
    "parameter-already-assigned": ("TypeError",),
    "positional-only-parameter-as-kwarg": ("TypeError",),
    "too-many-positional-arguments": ("TypeError",),
    "unknown-argument": ("TypeError",),
    "unresolved-attribute": ("AttributeError",),
    "unresolved-import": ("ImportError", "ModuleNotFoundError"),
    "unresolved-reference": ("NameError",),
    "unsupported-operator": ("TypeError",),
}
"""The complaints that can block, each with the exceptions that the error would raise."""

_SYNTAX: Final = "invalid-syntax"
_TOP_LEVEL_RETURN: Final = "`return` statement outside of a function"
_QUOTED: Final = re.compile(r"(?P<before>[^`]*)`(?P<type>[^`]*)`")
_WANTED: Final = re.compile(r"(?i)(expected|assignable to|attribute) $")
_CERTAIN_OWNER: Final = re.compile(
    r"(?:Object of type|Attribute `\w+` is not defined on) `"
    r"(?:Literal\[|(?:str|int|float|bool|bytes)\b|(?:list|dict|set|frozenset|tuple)\[|Coroutine|"
    r"\w+(?:Error|Exception)`)|^Module `"
)
_GENERIC: Final = re.compile(r"(list|dict|set|tuple)\[")
_HELD: Final = re.compile(
    r"^Invalid subscript assignment .* on object of type `(?:dict|defaultdict|OrderedDict|Counter)\["
    r"|^Invalid subscript assignment with key of type `(?!str\b|Literal\[\").* on object of type `list\["
    r"|bound method `(?:list|dict|set|deque|defaultdict|OrderedDict|Counter|Mutable\w+)\."
)
_NOT_AWAITED: Final = "the call is not awaited: write value = await … before its result is used"
_MESSAGE_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One complaint of the checker, at a line and column from 1."""

    code: str
    message: str
    line: int
    column: int


@dataclass(slots=True)
class Verdict:
    """What a check came to. ``syntax`` counts only if the sandbox's own parser refuses as well."""

    faults: list[ProgramFault] = field(default_factory=list[ProgramFault])
    notes: list[ProgramFault] = field(default_factory=list[ProgramFault])
    syntax: list[ProgramFault] = field(default_factory=list[ProgramFault])


def read_diagnostics(text: str) -> list[Diagnostic]:
    """Read the checker's JSON; entries of an unknown form are left out."""
    found: list[Diagnostic] = []
    for entry in json.loads(text):
        match entry:
            case {
                "code": str(code),
                "message": str(message),
                "location": {"row": int(line), "column": int(column)},
            }:
                found.append(Diagnostic(code, message, line, column))
            case _:
                continue
    return list(dict.fromkeys(found))


def judge(
    diagnostics: Iterable[Diagnostic],
    *,
    code: str,
    seen: Survey | None,
    stub: Stub,
    names: Mapping[str, Namespace],
    strict: bool,
) -> Verdict:
    """Sort complaints into what blocks, what is remarked and what is dropped.

    ``strict`` makes complaints about the arguments of tools block as well
    (``executor.strictArguments``).
    """
    judging = _Judging(code, seen, stub, names, strict=strict)
    for diagnostic in diagnostics:
        judging.add(diagnostic)
    return judging.verdict


class _Judging:
    def __init__(
        self,
        code: str,
        seen: Survey | None,
        stub: Stub,
        names: Mapping[str, Namespace],
        *,
        strict: bool,
    ) -> None:
        self.verdict = Verdict()
        self._lines = code.splitlines()
        self._seen = seen or Survey(runs_text=True)
        self._surveyed = seen is not None
        self._stub = stub
        self._names = names
        self._strict = strict

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic.code == _SYNTAX:
            if _TOP_LEVEL_RETURN not in diagnostic.message:
                self.verdict.syntax.append(self._fault(diagnostic, FaultKind.SYNTAX))
        elif diagnostic.code == "unused-awaitable":
            self.verdict.notes.append(self._fault(diagnostic, FaultKind.TYPES, _NOT_AWAITED))
        elif diagnostic.code not in _ERRORS or self._is_known(diagnostic):
            return
        elif STUB_CLASS in diagnostic.message:
            self._add_argument(diagnostic)
        elif self._is_certain(diagnostic):
            self.verdict.faults.append(self._fault(diagnostic, FaultKind.TYPES, self._hint(diagnostic)))

    def _add_argument(self, diagnostic: Diagnostic) -> None:
        if self._is_other_form(diagnostic):
            return
        blocks = self._strict and self._surveyed
        (self.verdict.faults if blocks else self.verdict.notes).append(
            self._fault(diagnostic, FaultKind.TYPES)
        )

    def _is_other_form(self, diagnostic: Diagnostic) -> bool:
        """Arguments given as one dict or unpacked are not the checker's to judge."""
        if self._text_at(diagnostic).startswith("*"):
            return True
        call = self._seen.calls.get((diagnostic.line, diagnostic.column))
        return call is not None and (bool(call.args) or any(one.arg is None for one in call.keywords))

    def _is_known(self, diagnostic: Diagnostic) -> bool:
        """A name that the sandbox has and the checker has not; or an import that the survey told."""
        if diagnostic.code == "unresolved-reference":
            return _quoted(diagnostic.message) in BUILTINS
        return diagnostic.message.startswith("Cannot resolve imported module") and self._surveyed

    def _is_certain(self, diagnostic: Diagnostic) -> bool:
        seen = self._seen
        if seen.catches(diagnostic.line, *_ERRORS[diagnostic.code]):
            return False
        match diagnostic.code:
            case "unresolved-reference":
                return not seen.runs_text
            case "unresolved-import":
                return diagnostic.line in seen.imports
            case "unresolved-attribute" if not _CERTAIN_OWNER.search(diagnostic.message):
                return False
            case _:
                return not (self._is_shared(diagnostic) or _is_doubtful(diagnostic.message))

    def _is_shared(self, diagnostic: Diagnostic) -> bool:
        """A variable that functions rebind has more types than the checker follows."""
        if not self._seen.shared:
            return False
        line = self._lines[diagnostic.line - 1] if diagnostic.line <= len(self._lines) else ""
        return not self._seen.shared.isdisjoint(re.findall(r"\w+", line))

    def _text_at(self, diagnostic: Diagnostic) -> str:
        line = self._lines[diagnostic.line - 1] if diagnostic.line <= len(self._lines) else ""
        return line[diagnostic.column - 1 :]

    def _hint(self, diagnostic: Diagnostic) -> str | None:
        if "`Coroutine" in diagnostic.message:
            return _NOT_AWAITED
        if diagnostic.code != "unresolved-reference":
            return None
        name = _quoted(diagnostic.message)
        if name in MODULES:
            return f"write import {name} at the top"
        near = near_names(name, {*self._seen.bound, *self._names, *BUILTINS})
        return f"did you mean {' or '.join(near)}?" if near else None

    def _fault(self, diagnostic: Diagnostic, kind: FaultKind, hint: str | None = None) -> ProgramFault:
        return ProgramFault(
            kind=kind,
            message=one_line(self._readable(diagnostic.message), limit=_MESSAGE_CHARS),
            line=diagnostic.line,
            column=diagnostic.column,
            hint=hint,
        )

    def _readable(self, message: str) -> str:
        for name, path in self._stub.paths.items():
            message = re.sub(rf"(?:bound method )?`{name}(\.\w+)?`", rf"{path}\1", message)
        return message


def _is_doubtful(message: str) -> bool:
    """Whether what was found may be of another type when the program runs.

    A union may be narrowed by what the checker does not follow, and ``None`` is where variables and
    fields begin. Containers that differ only in what they hold behave alike, and take whatever they
    are given: what the checker knows of their content is only what they began with.
    """
    if "in union" in message or _HELD.search(message):
        return True
    found = list(_found_types(message))
    if any(" | " in one or one in {"None", "Unknown"} for one in found):
        return True
    heads = [head[1] for one in _types(message) if (head := _GENERIC.match(one[1])) is not None]
    return len(heads) > 1 and heads[0] == heads[1]


def _types(message: str) -> Iterator[tuple[str, str]]:
    for match in _QUOTED.finditer(message):
        yield match["before"], match["type"]


def _found_types(message: str) -> Iterator[str]:
    """The quoted types that the program has, as opposed to those that are asked for."""
    for before, kind in _types(message):
        if not _WANTED.search(before):
            yield kind


def _quoted(message: str) -> str:
    match = _QUOTED.search(message)
    return match["type"] if match else ""
