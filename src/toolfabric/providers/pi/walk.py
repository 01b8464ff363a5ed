"""Walk a tree below an open folder, in one order, without what ignore files leave out.

Every folder is opened below the descriptor of its parent and never through a link. Git's rule is followed
level by level: the last rule that matches an entry decides, and nothing below an ignored folder is
looked at. ``.ignore`` wins over ``.gitignore``, and that over ``.git/info/exclude``. Folders called
``.git`` are never entered.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolfabric.errors import InvokeError, PathError
from toolfabric.providers.pi.patterns import IgnoreRules
from toolfabric.providers.pi.workspace import PiLimits, Stopped, Workspace

__all__ = ["Entry", "EntryType", "Walker", "entry_type", "sorted_entries"]

EntryType: TypeAlias = Literal["file", "directory", "link", "other"]

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_IGNORE_BYTES: Final = 512 * 1024
_IGNORE_FILES: Final = (".ignore", ".gitignore")
_EXCLUDE: Final = ".git/info/exclude"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name of the tree. ``folder`` is open only until the walk goes on.

    ``path`` is relative to where the walk started.
    """

    name: str
    path: str
    type: EntryType
    folder: int

    def open_file(self) -> int:
        """Open a file for reading; the caller closes the descriptor.

        Raises:
            OSError: It cannot be read, or is a link by now.
        """
        return os.open(self.name, _FILE, dir_fd=self.folder)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Ignore files of one kind, outermost first, each with the parts of its folder's path."""

    levels: tuple[tuple[int, IgnoreRules], ...] = ()

    def within(self, depth: int, found: IgnoreRules | None) -> _Rules:
        return self if found is None else _Rules((*self.levels, (depth, found)))

    def decide(self, parts: tuple[bytes, ...], *, folder: bool) -> bool | None:
        for depth, rules in reversed(self.levels):
            path = b"/".join(parts[depth:])
            decided = rules.decide(path + b"/" if folder else path)
            if decided is not None:
                return decided
        return None


@dataclass(frozen=True, slots=True)
class _Level:
    """One folder on the way down. ``parts`` is its path from the workspace's root."""

    fd: int
    path: str
    parts: tuple[bytes, ...]
    rules: tuple[_Rules, ...]
    entries: Iterator[os.DirEntry[str]]


@dataclass(slots=True, kw_only=True)
class Walker:
    """One walk. Afterwards the counts say what it could not look at."""

    workspace: Workspace
    stopped: Stopped
    seen: int = 0
    unreadable: int = 0
    too_deep: int = 0
    full: bool = False
    _levels: list[_Level] = field(default_factory=list[_Level])

    def walk(self, folder: int, parts: tuple[str, ...]) -> Iterator[Entry]:
        """All entries below an open folder, each folder before what is in it, sorted by name.

        Args:
            folder: The folder's descriptor; it stays the caller's.
            parts: Where it is below the root, for the ignore files above it.
        """
        above = tuple(os.fsencode(part) for part in parts)
        rules = self._rules_above(parts)
        try:
            self._enter(os.dup(folder), "", above, rules)
            while self._levels:
                level = self._levels[-1]
                entry = next(level.entries, None)
                if entry is None:
                    self._leave()
                elif not self._ignored(level, entry):
                    yield self._entry(level, entry)
                    if entry.is_dir(follow_symlinks=False) and not self.full:
                        self._descend(level, entry)
                if self.full:
                    return
        finally:
            while self._levels:
                self._leave()

    def notes(self) -> list[str]:
        """What must be told of a walk that did not see everything."""
        limits = self.workspace.limits
        told: list[str] = []
        if self.unreadable:
            told.append(f"{self.unreadable} files or folders could not be read")
        if self.too_deep:
            told.append(f"{self.too_deep} folders deeper than {limits.walked_depth} levels were left out")
        if self.full:
            told.append(f"the search stopped after {limits.walked_entries} entries; search in a folder")
        return told

    def _entry(self, level: _Level, entry: os.DirEntry[str]) -> Entry:
        path = f"{level.path}{entry.name}"
        return Entry(name=entry.name, path=path, type=entry_type(entry), folder=level.fd)

    def _ignored(self, level: _Level, entry: os.DirEntry[str]) -> bool:
        if self.stopped():
            msg = "the call was cancelled"
            raise InvokeError(msg)
        self.seen += 1
        self.full = self.seen > self.workspace.limits.walked_entries
        folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or self.full:
            return True
        parts = (*level.parts, os.fsencode(entry.name))
        for rules in level.rules:
            decided = rules.decide(parts, folder=folder)
            if decided is not None:
                return decided
        return False

    def _descend(self, level: _Level, entry: os.DirEntry[str]) -> None:
        if len(self._levels) >= self.workspace.limits.walked_depth:
            self.too_deep += 1
            return
        try:
            fd = os.open(entry.name, _FOLDER, dir_fd=level.fd)
        except OSError:
            self.unreadable += 1
            return
        parts = (*level.parts, os.fsencode(entry.name))
        self._enter(fd, f"{level.path}{entry.name}/", parts, level.rules)

    def _enter(self, fd: int, path: str, parts: tuple[bytes, ...], rules: tuple[_Rules, ...]) -> None:
        try:
            entries = sorted_entries(fd, self.workspace.limits)
        except OSError:
            os.close(fd)
            self.unreadable += 1
            return
        inner = _with_files(
            fd, rules, len(parts), {entry.name for entry in entries if not entry.is_symlink()}
        )
        self._levels.append(_Level(fd, path, parts, inner, iter(entries)))

    def _leave(self) -> None:
        os.close(self._levels.pop().fd)

    def _rules_above(self, parts: tuple[str, ...]) -> tuple[_Rules, ...]:
        """The ignore files of the workspace's own folders above the place where the walk starts."""
        base = self.workspace.confined.base
        start = len(base) if parts[: len(base)] == base else len(parts)
        rules: tuple[_Rules, ...] = (_Rules(), _Rules(), _Rules())
        for depth in range(start, len(parts)):
            path = "/".join(parts[start:depth]) or "."
            with contextlib.suppress(OSError, PathError), self.workspace.confined.place(path) as place:
                fd = place.open_folder()
                try:
                    rules = _with_files(fd, rules, depth, {*_IGNORE_FILES, ".git"})
                finally:
                    os.close(fd)
        return rules


def sorted_entries(fd: int, limits: PiLimits) -> list[os.DirEntry[str]]:
    """The entries of an open folder, sorted by the bytes of their names.

    Raises:
        OSError: The folder cannot be listed.
    """
    with os.scandir(fd) as found:
        entries = [entry for _, entry in zip(range(limits.walked_entries + 1), found, strict=False)]
    return sorted(entries, key=lambda entry: os.fsencode(entry.name))


def entry_type(entry: os.DirEntry[str]) -> EntryType:
    """What an entry is, links not followed."""
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _with_files(fd: int, rules: tuple[_Rules, ...], depth: int, names: set[str]) -> tuple[_Rules, ...]:
    """The rules in force inside an open folder that has entries of these names."""
    ignore, gitignore, exclude = rules
    return (
        ignore.within(depth, _parsed(fd, ".ignore") if ".ignore" in names else None),
        gitignore.within(depth, _parsed(fd, ".gitignore") if ".gitignore" in names else None),
        exclude.within(depth, _parsed(fd, _EXCLUDE) if ".git" in names else None),
    )


def _parsed(folder: int, name: str) -> IgnoreRules | None:
    """Read an ignore file; like Git's, it may not be a link, and one that cannot be read has no rules."""
    *folders, last = name.split("/")
    held: list[int] = []
    try:
        for one in folders:
            held.append(os.open(one, _FOLDER, dir_fd=held[-1] if held else folder))
        held.append(os.open(last, _FILE, dir_fd=held[-1] if held else folder))
        if not stat.S_ISREG(os.fstat(held[-1]).st_mode):
            return None
        return IgnoreRules.parse(os.read(held[-1], _IGNORE_BYTES))
    except OSError:
        return None
    finally:
        for fd in held:
            os.close(fd)
