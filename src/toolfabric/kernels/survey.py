"""What can be said of a program before it runs, from its syntax tree alone.

The sandbox's parser stops at the first construct that it has not; this reads the whole program and
tells all of them at once. It never decides that a program is right: a program that this interpreter
cannot parse, since the sandbox speaks a newer Python, is left to the sandbox.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolfabric._base.suggest import near_names
from toolfabric.kernels.names import Namespace
from toolfabric.kernels.subset import MISSING_NAMES, MODULES, construct, module_advice
from toolfabric.protocols import FaultKind, ProgramFault

__all__ = ["MAX_SURVEYED_CHARS", "Survey", "column_of", "survey"]

MAX_SURVEYED_CHARS: Final = 200_000
"""Longer programs are run without a look ahead: parsing holds the interpreter's lock."""

_Found = tuple[ast.AST, str]


@dataclass(slots=True, kw_only=True)
class Survey:
    """What was seen.

    ``faults`` are constructs that cannot work; ``notes`` are remarks. ``bound`` are the names that the
    program binds anywhere, ``shared`` those that a function rebinds from outside (``global``,
    ``nonlocal``). ``caught`` gives, for a line, the names of the exceptions that a ``try`` around it
    catches. ``calls`` are calls by their position (line and column, from 1), ``imports`` the lines of the
    imports that always run.
    """

    faults: list[ProgramFault] = field(default_factory=list[ProgramFault])
    notes: list[ProgramFault] = field(default_factory=list[ProgramFault])
    bound: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    runs_text: bool = False
    uses_map: bool = False
    tries: list[tuple[int, int, frozenset[str]]] = field(
        default_factory=list[tuple[int, int, frozenset[str]]]
    )
    imports: frozenset[int] = frozenset()
    calls: dict[tuple[int, int], ast.Call] = field(default_factory=dict[tuple[int, int], ast.Call])

    def catches(self, line: int, *names: str) -> bool:
        """Whether a ``try`` around the line catches one of these exceptions by name."""
        return any(start <= line <= end and not caught.isdisjoint(names) for start, end, caught in self.tries)


def survey(code: str, names: Mapping[str, Namespace]) -> Survey | None:
    """Read a program; ``None`` if it is too long or cannot be parsed here."""
    if len(code) > MAX_SURVEYED_CHARS:
        return None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = code.splitlines()
    seen = _Reader(lines, names).read(tree)
    seen.faults.sort(key=_position)
    seen.notes.sort(key=_position)
    return seen


def column_of(lines: list[str], line: int, offset: int) -> int:
    """The column, from 1 and in characters, of a UTF-8 byte offset in a line."""
    if not 0 < line <= len(lines):
        return offset + 1
    return len(lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1


def _position(fault: ProgramFault) -> tuple[int, int]:
    return fault.line or 0, fault.column or 0


class _Reader:
    """One walk over the tree. Every rule looks at one node and its parents' facts."""

    def __init__(self, lines: list[str], names: Mapping[str, Namespace]) -> None:
        self._lines = lines
        self._names = names
        self._seen = Survey()

    def read(self, tree: ast.Module) -> Survey:
        nodes = list(ast.walk(tree))
        self._seen.bound = frozenset(name for node in nodes for name in _bound_names(node))
        self._seen.shared = frozenset(
            name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
        )
        self._seen.tries = [found for node in nodes if (found := _try_range(node)) is not None]
        methods = {id(item) for node in nodes if isinstance(node, ast.ClassDef) for item in node.body}
        always = {id(node) for node in tree.body}
        self._seen.imports = frozenset(
            node.lineno for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
        )
        for node in nodes:
            self._constructs(node, in_class=id(node) in methods)
            self._imports(node, always=id(node) in always)
            self._loaded_names(node)
            self._calls(node)
        return self._seen

    def _constructs(self, node: ast.AST, *, in_class: bool) -> None:
        rule = _RULES.get(type(node))
        for at, key in () if rule is None else rule(node):
            self._refuse(at, key)
        if in_class:
            for at, key in _member_rule(node):
                self._refuse(at, key)

    def _refuse(self, node: ast.AST, key: str) -> None:
        found = construct(key)
        # An exception is made only if the line is reached; everything else stops the sandbox's parser.
        told = self._seen.notes if key == "exception-arguments" else self._seen.faults
        told.append(
            self._fault(
                node, FaultKind.SYNTAX, f"the sandbox does not have {found.what}", f"write {found.instead}"
            )
        )

    def _imports(self, node: ast.AST, *, always: bool) -> None:
        match node:
            case ast.Import(names=aliases):
                wanted = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                wanted = [module]
            case _:
                return
        for name in wanted:
            if name in MODULES:
                continue
            line = getattr(node, "lineno", 0)
            fault = self._fault(
                node,
                FaultKind.TYPES,
                f"the sandbox has no module {name}",
                module_advice(name) or f"the sandbox has: {', '.join(sorted(MODULES))}",
            )
            caught = self._seen.catches(
                line, "ImportError", "ModuleNotFoundError", "Exception", "BaseException"
            )
            (self._seen.faults if always and not caught else self._seen.notes).append(fault)

    def _loaded_names(self, node: ast.AST) -> None:
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            return
        if node.id == "map":
            self._seen.uses_map = True
        if node.id in {"exec", "eval"}:
            self._seen.runs_text = True
        instead = MISSING_NAMES.get(node.id)
        if instead is None or node.id in self._seen.bound:
            return
        fault = self._fault(node, FaultKind.TYPES, f"the sandbox has no {node.id}", f"write {instead}")
        caught = self._seen.catches(node.lineno, "NameError", "Exception", "BaseException")
        (self._seen.notes if caught else self._seen.faults).append(fault)

    def _calls(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                self._seen.calls[node.lineno, column_of(self._lines, node.lineno, node.col_offset)] = node
                self._called_action(node)
            case ast.Expr(value=ast.Call() as call):
                self._never_awaited(call)
            case _:
                pass

    def _called_action(self, call: ast.Call) -> None:
        path = _dotted(call.func)
        node = self._namespace(path)
        if node is None or len(path) < 2:  # noqa: PLR2004 -- a namespace and a name in it
            return
        *_way, name = path
        if node.is_fixed or name in node.members:
            return
        near = near_names(name, node.members)
        hint = f"did you mean {node.path}.{near[0]}?" if near else f"{node.path} has: {_listed(node.members)}"
        self._seen.notes.append(
            self._fault(call.func, FaultKind.TYPES, f"no action is known as {node.path}.{name}", hint)
        )

    def _never_awaited(self, call: ast.Call) -> None:
        path = _dotted(call.func)
        node = self._namespace(path)
        if node is None or node.path == "workflow":
            return
        self._seen.notes.append(
            self._fault(
                call,
                FaultKind.TYPES,
                f"the call of {'.'.join(path)} is started and never awaited",
                "write await before it, or keep it and await it later",
            )
        )

    def _namespace(self, path: list[str]) -> Namespace | None:
        """The namespace that holds the last part of a dotted path, if the program did not rebind it."""
        if len(path) < 2 or path[0] in self._seen.bound:  # noqa: PLR2004 -- as above
            return None
        node = self._names.get(path[0])
        for part in path[1:-1]:
            node = None if node is None else node.members.get(part)
        return node

    def _fault(self, node: ast.AST, kind: FaultKind, message: str, hint: str) -> ProgramFault:
        line: int = getattr(node, "lineno", 1)
        offset: int = getattr(node, "col_offset", 0)
        return ProgramFault(
            kind=kind, message=message, line=line, column=column_of(self._lines, line, offset), hint=hint
        )


def _listed(members: Mapping[str, Namespace]) -> str:
    shown = list(members)[:12]
    return ", ".join(shown) + (", …" if len(members) > len(shown) else "")


def _dotted(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [*parts, node.id][::-1] if isinstance(node, ast.Name) else []


# --- names that a program binds --------------------------------------------------------------------


def _bound_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=alias):
            yield alias or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case _:
            return


def _try_range(node: ast.AST) -> tuple[int, int, frozenset[str]] | None:
    if not isinstance(node, ast.Try) or not node.handlers:
        return None
    names: set[str] = set()
    for handler in node.handlers:
        names.update(_handled(handler.type))
    last = node.body[-1]
    return node.body[0].lineno, last.end_lineno or last.lineno, frozenset(names)


def _handled(kind: ast.expr | None) -> Iterator[str]:
    match kind:
        case None:
            yield "BaseException"
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _handled(part)
        case _:
            return


# --- constructs that the sandbox has not -----------------------------------------------------------


def _class_rule(node: ast.AST) -> Iterator[_Found]:
    if isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
        yield node, "inheritance"


def _member_rule(node: ast.AST) -> Iterator[_Found]:
    """What stands directly in a class body."""
    match node:
        case ast.FunctionDef(decorator_list=[first, *_]) | ast.AsyncFunctionDef(decorator_list=[first, *_]):
            yield first, "method-decorator"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Pass() | ast.AnnAssign():
            return
        case ast.Assign(targets=[ast.Name()]):
            return
        case ast.Expr(value=ast.Constant()):
            return
        case _:
            yield node, "class-body"


def _comprehension_rule(node: ast.AST) -> Iterator[_Found]:
    if isinstance(node, ast.comprehension) and node.is_async:
        yield node.target, "async-for"


def _import_rule(node: ast.AST) -> Iterator[_Found]:
    if isinstance(node, ast.ImportFrom):
        if node.level:
            yield node, "relative-import"
        if any(alias.name == "*" for alias in node.names):
            yield node, "star-import"


def _operator_rule(node: ast.AST) -> Iterator[_Found]:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.MatMult):
        yield node, "matrix-assign"


def _raise_rule(node: ast.AST) -> Iterator[_Found]:
    """``raise ValueError(1)`` ends the whole run inside the sandbox; only what is certain is told."""
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=args)) if name.endswith(
            ("Error", "Exception")
        ):
            several = len(args) > 1 and not any(isinstance(one, ast.Starred) for one in args)
            if several or any(_is_not_text(one) for one in args):
                yield node, "exception-arguments"
        case _:
            return


def _is_not_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return not isinstance(value, str)
        case ast.Dict() | ast.List() | ast.Tuple() | ast.Set():
            return True
        case _:
            return False


def _always(key: str) -> Callable[[ast.AST], Iterator[_Found]]:
    def rule(node: ast.AST) -> Iterator[_Found]:
        yield node, key

    return rule


_RULES: Final[dict[type[ast.AST], Callable[[ast.AST], Iterator[_Found]]]] = {
    ast.ClassDef: _class_rule,
    ast.Delete: _always("del"),
    ast.Yield: _always("yield"),
    ast.YieldFrom: _always("yield"),
    ast.AsyncWith: _always("async-with"),
    ast.AsyncFor: _always("async-for"),
    ast.TryStar: _always("except-star"),
    ast.comprehension: _comprehension_rule,
    ast.ImportFrom: _import_rule,
    ast.AugAssign: _operator_rule,
    ast.Raise: _raise_rule,
}
