"""Only ``durable/fileops.py`` changes files; everything else is handed a ``FileOps``.

The rule is by name: a receiver called ``files``, ``_files`` or ``self._files`` is a ``FileOps`` and may
change files, since a test can put a failing one there. Anything else that changes files is a
violation, whatever the value turns out to be at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import pytest

THE_DOOR = "durable/fileops.py"

OS_CHANGES = frozenset(
    (
        "chmod",
        "chown",
        "copy_file_range",
        "fchmod",
        "fchown",
        "fdatasync",
        "fsync",
        "ftruncate",
        "lchmod",
        "lchown",
        "link",
        "makedirs",
        "mkdir",
        "mkfifo",
        "mknod",
        "posix_fallocate",
        "pwrite",
        "pwritev",
        "remove",
        "removedirs",
        "removexattr",
        "rename",
        "renames",
        "replace",
        "rmdir",
        "sendfile",
        "setxattr",
        "symlink",
        "truncate",
        "unlink",
        "utime",
        "write",
        "writev",
    )
)
OS_WRITE_FLAGS = frozenset(("O_APPEND", "O_CREAT", "O_RDWR", "O_TMPFILE", "O_TRUNC", "O_WRONLY"))
PATH_CHANGES = frozenset(
    (
        "chmod",
        "hardlink_to",
        "lchmod",
        "mkdir",
        "rename",
        "rmdir",
        "symlink_to",
        "touch",
        "unlink",
        "write_bytes",
        "write_text",
    )
)
SHUTIL_READS = frozenset(("disk_usage", "get_terminal_size", "which"))
FILEOPS_NAMES = frozenset(("files", "_files"))


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, or nothing for any other expression."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def mode_may_write(call: ast.Call, position: int) -> bool:
    """Whether the mode argument of an ``open`` allows writing; one that is not literal may."""
    given = next((word.value for word in call.keywords if word.arg == "mode"), None)
    if given is None and len(call.args) > position:
        given = call.args[position]
    match given:
        case None:
            return False
        case ast.Constant(value=str(mode)):
            return any(letter in mode for letter in "wax+")
        case _:
            return True


def of_os(call: ast.Call, name: str) -> bool:
    """Whether ``os.name(...)`` changes files."""
    if name == "open":
        return any(last_name(part) in OS_WRITE_FLAGS for part in ast.walk(call) if isinstance(part, ast.expr))
    return name in OS_CHANGES or (name == "fdopen" and mode_may_write(call, 1))


def of_anything(call: ast.Call, receiver: str, name: str) -> bool:
    """Whether ``receiver.name(...)`` would change files if the receiver were a path."""
    if name == "replace":  # a string's takes two arguments, a datetime's and a record's take keywords
        return len(call.args) == 1 and not call.keywords
    if name == "open":  # called on a class, it is one of our own constructors
        return not receiver[:1].isupper() and mode_may_write(call, 0)
    return name in PATH_CHANGES


def of_module(call: ast.Call, module: str, name: str) -> bool | None:
    """Whether ``module.name(...)`` changes files; ``None`` where the module is not one that could."""
    match module:
        case "os":
            return of_os(call, name)
        case "shutil":
            return name not in SHUTIL_READS
        case "tempfile":
            return True
        case "io":
            return name == "open" and mode_may_write(call, 1)
        case _:
            return None


def changes_files(call: ast.Call) -> bool:
    """Whether this call, by the names in it, changes files outside the one door."""
    match call.func:
        case ast.Name(id="open"):
            return mode_may_write(call, 1)
        case ast.Attribute(value=receiver, attr=name):
            known = of_module(call, receiver.id, name) if isinstance(receiver, ast.Name) else None
            if known is None:
                owner = last_name(receiver)
                return owner not in FILEOPS_NAMES and of_anything(call, owner, name)
            return known
        case _:
            return False


def imports_changes(node: ast.ImportFrom) -> bool:
    """Whether a name is brought in so that a call would not show where it comes from."""
    allowed = {"shutil": SHUTIL_READS, "tempfile": frozenset[str]()}
    names = {alias.name for alias in node.names}
    if node.module == "os":
        return bool(names & (OS_CHANGES | {"open", "fdopen"}))
    return node.module in allowed and bool(names - allowed[node.module])


def violations(tree: ast.Module) -> Iterator[int]:
    """The lines on which something other than a ``FileOps`` changes files."""
    for node in ast.walk(tree):
        match node:
            case ast.Call() if changes_files(node):
                yield node.lineno
            case ast.ImportFrom() if imports_changes(node):
                yield node.lineno
            case _:
                continue


def test_only_fileops_changes_files(
    sources: Mapping[str, ast.Module], exceptions: Mapping[str, Mapping[str, str]]
) -> None:
    found = {path: sorted(violations(tree)) for path, tree in sources.items() if path != THE_DOOR}
    breaking = {path: lines for path, lines in found.items() if lines}
    allowed = exceptions["writes"]
    assert {path: lines for path, lines in breaking.items() if path not in allowed} == {}
    assert sorted(allowed) == sorted(path for path in breaking if path in allowed)


def test_nothing_of_the_leaf_helpers_is_excepted(exceptions: Mapping[str, Mapping[str, str]]) -> None:
    assert [path for path in exceptions["writes"] if path.startswith("_base/")] == []


@pytest.mark.parametrize(
    "line",
    [
        "open('x', 'w')",
        "open('x', mode=m)",
        "io.open('x', 'ab')",
        "os.replace(a, b)",
        "os.open(p, os.O_RDONLY | os.O_CREAT)",
        "os.fdopen(fd, 'wb')",
        "p.write_text('x')",
        "Path('x').open('r+')",
        "self.path.open(mode)",
        "p.rename(q)",
        "p.replace(q)",
        "p.mkdir(parents=True)",
        "self.path.unlink()",
        "shutil.rmtree(p)",
        "tempfile.mkdtemp()",
        "from os import rename",
        "from shutil import copytree",
        "from tempfile import TemporaryDirectory",
    ],
)
def test_a_planted_write_is_seen(line: str) -> None:
    assert list(violations(ast.parse(line))) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "open('x')",
        "open('x', 'rb')",
        "p.open()",
        "os.open(p, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=fd)",
        "self._files.unlink(p)",
        "Spool.open(path, files=files)",
        "files.open(p, os.O_CREAT)",
        "text.replace('a', 'b')",
        "moment.replace(tzinfo=UTC)",
        "shutil.which('git')",
        "os.stat(p)",
    ],
)
def test_reading_and_the_one_door_are_left_alone(line: str) -> None:
    assert list(violations(ast.parse(line))) == []
