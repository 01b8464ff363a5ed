"""The real file system: the only module in which Fabric changes files.

Everything that writes, syncs, renames or unlinks takes a ``FileOps`` and is given ``RealFiles`` by
the composition root, so that a test can fail any single call or stop the process at it
(``toolfabric.testing.files``). Reading changes nothing and uses ``os`` and ``pathlib`` as they are.

A descriptor is never inherited by a program that is started later (PEP 446). ``fsync`` is the system's
own: where the system leaves data in the drive's cache (macOS), so does this.
"""

from __future__ import annotations

import os

__all__ = ["RealFiles"]


class RealFiles:
    """The calls of ``os`` with the same names. It has no state and may be shared by threads."""

    def open(
        self, path: str | os.PathLike[str], flags: int, mode: int = 0o600, *, dir_fd: int | None = None
    ) -> int:
        """Open a file; the mode is that of a file created now, less the umask."""
        return os.open(path, flags, mode, dir_fd=dir_fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write once; the number of bytes written may be less than was given."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """Make a file, or the names in a folder, survive a power loss. Never retry a failed one."""
        os.fsync(fd)  # noqa: TID251 - this is the door that the ban points to

    def ftruncate(self, fd: int, length: int) -> None:
        """Set the length of a file in bytes."""
        os.ftruncate(fd, length)

    def fchmod(self, fd: int, mode: int) -> None:
        """Set the permission bits, whatever the umask is."""
        os.fchmod(fd, mode)

    def close(self, fd: int) -> None:
        """Close a descriptor; it is gone even when this fails."""
        os.close(fd)

    def mkdir(self, path: str | os.PathLike[str], mode: int = 0o700, *, dir_fd: int | None = None) -> None:
        """Create one folder, whose parent exists."""
        os.mkdir(path, mode, dir_fd=dir_fd)

    def mkfifo(self, path: str | os.PathLike[str], mode: int = 0o600, *, dir_fd: int | None = None) -> None:
        """Create a named pipe, which holds no data of its own."""
        os.mkfifo(path, mode, dir_fd=dir_fd)

    def replace(
        self,
        src: str | os.PathLike[str],
        dst: str | os.PathLike[str],
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        """Rename a file over another one, in one step for every observer."""
        os.replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)  # noqa: TID251 - as above

    def unlink(self, path: str | os.PathLike[str], *, dir_fd: int | None = None) -> None:
        """Remove one name of a file."""
        os.unlink(path, dir_fd=dir_fd)

    def rmdir(self, path: str | os.PathLike[str], *, dir_fd: int | None = None) -> None:
        """Remove an empty folder."""
        os.rmdir(path, dir_fd=dir_fd)
