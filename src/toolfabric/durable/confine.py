"""Paths that somebody else wrote, kept inside one folder.

A path is not a permission: between looking at it and using it, any part may become a symbolic link to
elsewhere. So nothing here is used by its path. The root is opened once; every path is walked from it,
part by part, each part opened below the descriptor of the one before and never through a link; links
are read and resolved by hand, and may not leave the root. What comes out is a ``Place``: a name in a
folder that is held open. Exchanging a folder for a link after that changes nothing for whoever holds
the place (design: Schema enforcement, Paths).

Not here: what a file means, and which action may touch it. Hard links and mounts are not looked at; a
file is replaced by renaming, so a hard link's other names keep the old content.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from toolfabric.durable.atomic import opened, replace_in, storage_errors
from toolfabric.durable.pathnames import DEPTH, folded, is_reserved, parse_path, refuse_path, shown
from toolfabric.protocols import FileOps

__all__ = ["Confined", "Links", "Place"]

LINKS: Final = 40

# A folder on the way is only passed through, which needs no right to list it.
_PASS: Final[int] = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO that took a file's place would wait for a writer for ever.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Links(StrEnum):
    """What to do with a symbolic link on the way, or at the end of it."""

    FOLLOW = "follow"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A name in an open folder: the only form in which a confined path is used.

    ``folder`` is a descriptor that whoever made the place closes. ``name`` is ``.`` for the folder
    itself. ``parts`` says where the place really is below the root, links resolved.
    """

    folder: int
    name: str
    parts: tuple[str, ...]

    @property
    def path(self) -> str:
        """Where it is, relative to the root and with slashes."""
        return "/".join(self.parts) or "."

    def stat(self) -> os.stat_result | None:
        """What has the name now, a link itself rather than its target; ``None`` when nothing has."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open_file(self) -> int:
        """Open a regular file for reading; the caller closes the descriptor.

        Raises:
            PathError: It is something else. Such things are not opened: opening alone can act.
            OSError: It is missing or may not be read.
        """
        self._require_file(self._found())
        fd = os.open(self.name, _READ, dir_fd=self.folder)
        try:
            self._require_file(os.fstat(fd))
        except BaseException:
            os.close(fd)
            raise
        return fd

    def open_folder(self) -> int:
        """Open a folder for listing; the caller closes the descriptor.

        Raises:
            PathError: It is something else.
            OSError: It is missing or may not be read.
        """
        found = self._found()
        if not stat.S_ISDIR(found.st_mode):
            refuse_path(self.path, f"is {_kind(found.st_mode)}, not a folder")
        return os.open(self.name, _LIST, dir_fd=self.folder)

    def replace(
        self,
        data: bytes,
        *,
        files: FileOps,
        mode: int | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Put a whole file in place in one step, durably; what was there before is gone only then.

        Args:
            data: All of its content.
            files: The file system.
            mode: Its permission bits, whatever the umask is; ``None`` for those of any new file.
            check: Called when all is ready; what it raises leaves everything as it was.

        Raises:
            StorageError: It could not be done. The old content is there, or the new one when only the
                sync after the rename failed; no temporary file is left.
        """
        with (
            storage_errors("write", Path(self.path)),
            opened(".", _LIST, files, dir_fd=self.folder) as folder,  # in a form that can be synced
        ):
            replace_in(folder, self.name, data, files=files, mode=mode, check=check)

    def _found(self) -> os.stat_result:
        found = self.stat()
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        return found

    def _require_file(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            refuse_path(self.path, f"is {_kind(found.st_mode)}, not a file")


class Confined:
    """A folder, opened once, and all that can be reached below it.

    Args:
        root: The folder that nothing may leave. It may be a link itself; it is opened now.
        base: Where relative paths start; the root by default. It must be inside the root.
        protected: Folders and files that ``writable`` places must not be or be in, whether they exist
            or not. ``.git`` and ``.pi`` are protected wherever they are.

    Raises:
        PathError: The base is outside the root.
        OSError: The root or the base is missing or not a folder.
    """

    def __init__(self, root: Path, *, base: Path | None = None, protected: Iterable[Path] = ()) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links; both are kept
        self._real = Path(os.path.realpath(root))
        self._protected = tuple(Path(os.path.realpath(one)) for one in protected)
        start = None if base is None else Path(os.path.realpath(base))
        self.base: tuple[str, ...] = () if start is None else self.below(start.parts[1:], str(base))
        if start is not None:
            os.close(os.open(start, _ROOT))
        self._fd = os.open(self._real, _ROOT)

    def close(self) -> None:
        """Release the root. Safe to call twice; no place can be had afterwards."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def vanished(self) -> bool:
        """Whether the root's path no longer leads to the folder that was opened."""
        try:
            return not os.path.samestat(self.root.stat(), os.fstat(self._fd))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # it cannot be seen from here, which says nothing about it
            return False

    @contextlib.contextmanager
    def place(
        self, path: str, *, links: Links = Links.FOLLOW, writable: bool = False, make: FileOps | None = None
    ) -> Generator[Place]:
        """Walk to a path and hold its folder open for the block.

        The last part need not exist. A path that ends with a slash means a folder and is refused as a
        writable place.

        Args:
            path: Relative to the base, or absolute and inside the root.
            links: Whether links inside the root are followed.
            writable: Refuse what is protected.
            make: Make missing folders on the way, with this file system.

        Raises:
            PathError: The path leads outside, is protected, or is no path.
            OSError: A folder on the way is missing, is not a folder, or may not be entered.
        """
        parsed = parse_path(path)
        if writable and (parsed.folder or not parsed.parts):
            refuse_path(path, "names a folder; name a file")
        parts = self.below(parsed.parts, path) if parsed.absolute else (*self.base, *parsed.parts)
        guard = _Guard(self._real, self.base, self._protected) if writable else None
        place = _Walk(self, text=path, links=links, guard=guard, make=make).run(parts)
        try:
            if parsed.folder and place.name != ".":
                os.close(os.open(place.name, _PASS, dir_fd=place.folder))
            yield place
        finally:
            os.close(place.folder)

    def below(self, parts: tuple[str, ...], text: str) -> tuple[str, ...]:
        """Take the root, in either spelling, off the parts of an absolute path.

        Raises:
            PathError: The path does not begin with the root.
        """
        for spelling in (self.root, self._real):
            prefix = spelling.parts[1:]
            if parts[: len(prefix)] == prefix:
                return parts[len(prefix) :]
        return refuse_path(text, f"is outside {shown(str(self.root))}; only paths inside it can be used")

    def opened(self) -> int:
        """A new descriptor of the root, which the caller closes.

        Raises:
            PathError: It was closed.
        """
        if self._fd < 0:
            refuse_path(str(self.root), "was closed; open it again")
        return os.dup(self._fd)


class _Guard:
    """What a writable place must not touch, by name and by identity."""

    def __init__(self, real: Path, base: tuple[str, ...], protected: tuple[Path, ...]) -> None:
        self._real = real
        self._base = base
        self._names = tuple(folded(one.parts) for one in protected)
        self._identities = set(_identities(protected))

    def check(self, text: str, parts: tuple[str, ...], found: os.stat_result | None) -> None:
        """Refuse a place below the root.

        Raises:
            PathError: It is protected.
        """
        # The way to the base is the operator's choice, whatever it is called.
        known = len(self._base) if parts[: len(self._base)] == self._base else 0
        for part in parts[known:]:
            if is_reserved(part):
                refuse_path(text, f"is under {shown(part)!r}, which is never written to")
        whole = folded((*self._real.parts, *parts))
        inside = any(whole[: len(name)] == name for name in self._names)
        if inside or (found is not None and (found.st_dev, found.st_ino) in self._identities):
            refuse_path(text, "belongs to the host's own storage, which is never written to")


class _Walk:
    """One walk from the root to a place. It holds one descriptor, and closes it when it fails."""

    def __init__(
        self, home: Confined, *, text: str, links: Links, guard: _Guard | None, make: FileOps | None
    ) -> None:
        self._home = home
        self._text = text
        self._links = links
        self._guard = guard
        self._make = make
        self._left = LINKS
        self._real: list[str] = []
        self._pending: deque[str] = deque()
        self._folder = home.opened()

    def run(self, parts: Iterable[str]) -> Place:
        """Walk all parts; the caller closes the folder of the place."""
        self._pending.extend(parts)
        try:
            while self._pending:
                name = self._pending.popleft()
                if name == "..":
                    self._step_up()
                elif (target := self._link(name)) is not None:
                    self._follow(target)
                elif self._pending:
                    self._enter(name)
                else:
                    return self._arrive(name)
            self._check(None)
            return Place(folder=self._folder, name=".", parts=tuple(self._real))
        except BaseException:
            os.close(self._folder)
            raise

    def _arrive(self, name: str) -> Place:
        place = Place(folder=self._folder, name=name, parts=(*self._real, name))
        if self._guard is not None:
            found = place.stat()
            self._guard.check(self._text, place.parts, found)
            if found is not None and not stat.S_ISREG(found.st_mode):
                refuse_path(self._text, f"is {_kind(found.st_mode)}; only a file can be written")
        return place

    def _check(self, name: str | None) -> None:
        """Refuse a protected folder: by its name before it is opened or made, then by what it is."""
        if self._guard is not None:
            parts = tuple(self._real) if name is None else (*self._real, name)
            self._guard.check(self._text, parts, os.fstat(self._folder) if name is None else None)

    def _move(self, folder: int) -> None:
        before, self._folder = self._folder, folder
        os.close(before)

    def _enter(self, name: str) -> None:
        self._check(name)
        try:
            self._move(os.open(name, _PASS, dir_fd=self._folder))
        except FileNotFoundError:
            if self._make is None or ".." in self._pending:
                raise
            self._make_folder(name, self._make)
            self._move(os.open(name, _PASS, dir_fd=self._folder))
        self._real.append(name)
        self._check(None)

    def _make_folder(self, name: str, files: FileOps) -> None:
        where = Path(*self._real, name)
        with storage_errors("make the folder", where):
            try:
                files.mkdir(name, 0o777, dir_fd=self._folder)
            except FileExistsError:
                return  # made by somebody else meanwhile; entering tells what it is
            fd = files.open(".", _LIST, dir_fd=self._folder)
            try:
                files.fsync(fd)
            finally:
                files.close(fd)

    def _step_up(self) -> None:
        if not self._real:
            refuse_path(self._text, f"leads out of {shown(str(self._home.root))}")
        # Opening ".." would go wherever the folder was moved to; the way from the root is ours.
        self._real.pop()
        self._restart(self._real)

    def _restart(self, names: list[str]) -> None:
        self._move(self._home.opened())
        for name in names:
            self._move(os.open(name, _PASS, dir_fd=self._folder))

    def _link(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self._folder)
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT}:  # not a link; not there
                return None
            raise

    def _follow(self, target: str) -> None:
        if self._links is Links.REFUSE:
            refuse_path(self._text, "goes through a symbolic link")
        self._left -= 1
        if self._left < 0:
            refuse_path(self._text, f"goes through more than {LINKS} symbolic links")
        parts = tuple(part for part in target.split("/") if part not in {"", "."})
        if target.startswith("/"):
            parts = self._home.below(parts, self._text)
            self._real.clear()
            self._restart(self._real)
        self._pending.extendleft(reversed(parts))
        if len(self._pending) > DEPTH:
            refuse_path(self._text, f"leads through more than {DEPTH} parts")


def _identities(paths: Iterable[Path]) -> Iterator[tuple[int, int]]:
    for path in paths:
        with contextlib.suppress(OSError):  # not there yet: then its name is what counts
            found = path.stat()
            yield found.st_dev, found.st_ino


def _kind(mode: int) -> str:
    for test, name in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISREG, "a file"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return name
    return "a device"
