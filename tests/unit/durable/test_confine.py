"""A folder that nothing leaves: a corpus of escapes, the legal ways, and exchanged parts."""

from __future__ import annotations

import errno
import itertools
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolfabric.durable.confine import Confined, Links, Place
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import PathError, StorageError
from toolfabric.testing.files import FaultyFiles, WatchedFiles

REFUSALS = (PathError, OSError, StorageError)

# In each of these, {root} is the workspace, {out} a folder outside it that holds secret.txt.
ABSOLUTE = [
    "/",
    "//",
    "///etc/passwd",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/./passwd",
    "/etc/../etc/passwd",
    "/opt",
    "/root/.ssh/id_rsa",
    "/var/log/syslog",
    "/usr/bin/env",
    "/home",
    "{out}",
    "{out}/",
    "{out}/secret.txt",
    "/{out}/secret.txt",
    "{out}/new.txt",
    "{root}x",
    "{root}x/secret.txt",
    "{root}-link/../secret.txt",
    "{root}/../out/secret.txt",
    "{root}/../out/new.txt",
    "{root}/sub/../../out/secret.txt",
    "{root}/./../out/secret.txt",
    "{root}/..",
    "{root}/../..",
    "{root}/sub/deep/../../../out/secret.txt",
    "/./{out}/secret.txt",
    "/../{out}/secret.txt",
]
DOTS = [
    "..",
    "../",
    "../.",
    "./..",
    "../..",
    "../../..",
    "../out",
    "../out/",
    "../out/secret.txt",
    "../out/new.txt",
    "./../out/secret.txt",
    ".//../out/secret.txt",
    "..//out//secret.txt",
    "../out/./secret.txt",
    "../out/sub/../secret.txt",
    "sub/../../out/secret.txt",
    "sub/..//../out/secret.txt",
    "sub/./../../out/secret.txt",
    "sub/deep/../../../out/secret.txt",
    "sub/../sub/../../out/secret.txt",
    "sub/deep/../../sub/../../out/secret.txt",
    "missing/../../out/secret.txt",
    "missing/../../out/new.txt",
    "file.txt/../../out/secret.txt",
    "file.txt/..",
    "file.txt/../file.txt",
    "../ws-other/secret.txt",
    "../ws/../out/secret.txt",
    "../../../../../../../../etc/passwd",
    "../../../../../../../../../../../../../../../../etc/passwd",
    "../" * 40 + "etc/passwd",
    "sub/" + "../" * 40 + "etc/passwd",
    "../" * 300 + "etc/passwd",
    "sub/../../",
    "sub/../..",
    "./.././out/secret.txt",
]
DISGUISED = [
    "..\\out\\secret.txt",
    "..\\..\\etc\\passwd",
    "sub\\..\\..\\out\\secret.txt",
    "..\\/out/secret.txt",
    "%2e%2e/out/secret.txt",
    "%2e%2e%2fout%2fsecret.txt",
    "..%2fout%2fsecret.txt",
    "..%5cout%5csecret.txt",
    "%2E%2E/out/secret.txt",
    ".%2e/out/secret.txt",
    "%2e./out/secret.txt",
    "%252e%252e/out/secret.txt",
    "%252e%252e%252fout",
    "sub/%2e%2e/%2e%2e/out/secret.txt",
    "\uff0e\uff0e/out/secret.txt",
    "\uff0e\uff0e\uff0fout\uff0fsecret.txt",
    "\u2024\u2024/out/secret.txt",
    "‥/out/secret.txt",
    "﹒﹒/out/secret.txt",
    ".\uff0e/out/secret.txt",
    "\uff0e./out/secret.txt",
    "sub/‥/‥/out/secret.txt",
    ".\u200b./out/secret.txt",
    ".\u200c./out/secret.txt",
    ".\u2060./out/secret.txt",
    "\ufeff../out/secret.txt",
    "..\ufeff/out/secret.txt",
    ".. /out/secret.txt",
    " ../out/secret.txt",
    "..\t/out/secret.txt",
    "..\n/out/secret.txt",
    "..\r/out/secret.txt",
    "..\u00a0/out/secret.txt",
    "..\uff3cout\uff3csecret.txt",
    "..%c0%af/secret.txt/%2e%2e",
]
URLS = [
    "file:///etc/passwd",
    "file://{out}/secret.txt",
    "file:{out}/secret.txt",
    "file:/etc/passwd",
    "file:etc/passwd",
    "FILE:///etc/passwd",
    "File:sub",
    "file%3A///etc/passwd",
    "file%253A///etc/passwd",
    "http://127.0.0.1/x",
    "https://127.0.0.1/x",
    "HTTPS://127.0.0.1/x",
    "ftp://127.0.0.1/x",
    "ssh://host/x",
    "git+ssh://host/x",
    "vscode://file/etc/passwd",
    "jar:file:///etc/passwd",
    "data:text/plain,x",
    "javascript:alert(1)",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "c:/x",
    "z:\\x",
    "\\\\server\\share\\x",
    "\\\\?\\C:\\x",
    "\\\\.\\pipe\\x",
]
SHELL = [
    "~",
    "~/",
    "~/.ssh/id_rsa",
    "~/new.txt",
    "~root",
    "~root/.bashrc",
    "~nobody/x",
    "$HOME/.ssh/id_rsa",
    "${HOME}/.ssh/id_rsa",
    "$PWD/../out/secret.txt",
    "$OLDPWD/x",
    "$TMPDIR/x",
    "%USERPROFILE%\\x",
    "%HOME%/x",
]
SYSTEM = [
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd",
    "/proc/self/cwd/../out/secret.txt",
    "/proc/self/exe",
    "/proc/self/fd/0",
    "/proc/self/fd/1",
    "/proc/1/root",
    "/proc/thread-self/environ",
    "/proc/sys/kernel/hostname",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/fd/0",
    "/dev/mem",
    "/dev/pts/0",
    "/dev/tcp/127.0.0.1/80",
    "/run/x",
]
# What `links` makes inside the workspace; all of it leads out, or round in circles.
LINKED = [
    "to_out/secret.txt",
    "to_out/new.txt",
    "to_out/",
    "to_out/.",
    "to_out/./secret.txt",
    "to_out//secret.txt",
    "to_out/sub/inner.txt",
    "to_out/../out/secret.txt",
    "to_out/missing/new.txt",
    "to_out_relative/secret.txt",
    "to_out_relative/new.txt",
    "to_secret",
    "to_secret_relative",
    "to_missing_outside",
    "to_missing_outside_relative",
    "to_parent/out/secret.txt",
    "to_parent/out/new.txt",
    "to_parent",
    "to_root_of_all/etc/passwd",
    "to_root_of_all",
    "to_proc/root/etc/passwd",
    "to_proc/environ",
    "to_proc_root/etc/passwd",
    "to_proc_cwd/pyproject.toml",
    "to_dev/null",
    "to_null",
    "to_zero",
    "to_stdin",
    "to_tty",
    "chain1",
    "chain1/x",
    "chain_folder1/secret.txt",
    "chain_folder1/new.txt",
    "loop",
    "loop/x",
    "loop1",
    "loop1/x",
    "self_loop_folder/x",
    "forty_one",
    "forty_one/x",
    "through_inside/secret.txt",
    "through_inside/new.txt",
    "sub/to_out/secret.txt",
    "sub/to_out/new.txt",
    "sub/deep/to_out/secret.txt",
    "sub/deep/to_out/new.txt",
    "sub/deep/to_secret",
    "sub/deep/dots/out/secret.txt",
    "sub/deep/dots/out/new.txt",
    "sub/deep/dots_only",
    "sub/deep/absolute_dots/secret.txt",
    "sub/to_sub_then_out/secret.txt",
    "to_inside/to_out/secret.txt",
    "to_inside/deep/to_out/secret.txt",
    "to_inside/../../out/secret.txt",
    "to_sibling_prefix/secret.txt",
    "./to_out/./sub/../secret.txt",
    "sub/../to_out/secret.txt",
    "sub/deep/../../to_out/secret.txt",
    "to_out/sub/../../ws/file.txt",
    "{root}/to_out/secret.txt",
    "{root}/sub/to_out/new.txt",
    "{root}/to_secret",
    "{root}/to_parent/out/secret.txt",
]
SPECIAL = [
    "pipe",
    "./pipe",
    "sub/../pipe",
    "{root}/pipe",
    "to_pipe",
    "socket",
    "to_socket",
    "pipe/x",
    "socket/x",
    "sub",
    "sub/",
    "sub/deep",
    "sub/deep/",
    "sub/.",
    ".",
    "./",
    "./.",
    "{root}",
    "{root}/",
    "{root}/sub",
    "to_inside",
    "file.txt/",
    "file.txt/.",
    "file.txt/x",
    "file.txt//x",
    "to_file/",
    "to_file/x",
    "new/",
    "sub/new/",
]
TEXT = [
    "",
    "\0",
    "file.txt\0",
    "file.txt\0.png",
    "\0/etc/passwd",
    "sub/\0/x",
    "../out/secret.txt\0.txt",
    "\ud800",
    "sub/\udbff/x",
    "a" * 256,
    "sub/" + "a" * 256,
    "é" * 128,
    "a" * 5_000,
    "a/" * 257 + "x",
    "a/" * 3_000 + "x",
    "sub/" * 1_100 + "x",
    ("b" * 250 + "/") * 17 + "x",
]
ESCAPES = [*ABSOLUTE, *DOTS, *DISGUISED, *URLS, *SHELL, *SYSTEM, *LINKED, *SPECIAL, *TEXT]

PROTECTED = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/new",
    ".git",
    "./.git/config",
    "sub/.git/config",
    "sub/.git",
    "sub/../.git/config",
    "{root}/.git/config",
    ".GIT/config",
    ".Git/hooks/x",
    ".gIT/config",
    ".git /config",
    ".git./config",
    ".git::$INDEX_ALLOCATION/config",
    ".g\u200cit/config",
    ".\u200dgit/config",
    ".\uff47\uff49\uff54/config",
    "\uff0egit/config",
    "git~1/config",
    "GIT~1/config",
    ".pi/fabric.json",
    ".pi",
    ".PI/fabric.json",
    ".Pi/new",
    "sub/.pi/fabric.json",
    ".pi./x",
    "pi~1/x",
    ".p\ufeffi/x",
    "to_git/config",
    "to_git_config",
    "to_pi/fabric.json",
    "sub/to_git/hooks/x",
    "store/mesh.db",
    "store/new/deep.txt",
    "store",
    "STORE/mesh.db",
    "to_store/mesh.db",
    "single.db",
    "to_single",
    "future/x",
    "future",
    "FUTURE/x",
]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with a workspace ``ws`` and, beside it, what must not be reached."""
    for folder in ("ws/sub/deep", "ws/.git/hooks", "ws/.pi", "ws/store", "out/sub", "ws-other", "wsx"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("out/secret.txt", "out/sub/inner.txt", "ws-other/secret.txt", "wsx/secret.txt"):
        (tmp_path / name).write_text("secret")
    for name in (
        "file.txt",
        "sub/deep/inner.txt",
        ".git/config",
        ".pi/fabric.json",
        "store/mesh.db",
        "single.db",
    ):
        (tmp_path / "ws" / name).write_text("inside")
    links(tmp_path / "ws", tmp_path / "out")
    return tmp_path


def links(root: Path, out: Path) -> None:
    """Every kind of link that a hostile workspace could hold."""
    targets = {
        "to_out": str(out),
        "to_out_relative": "../out",
        "to_secret": str(out / "secret.txt"),
        "to_secret_relative": "../out/secret.txt",
        "to_missing_outside": str(out / "planted.txt"),
        "to_missing_outside_relative": "../out/planted.txt",
        "to_parent": "..",
        "to_root_of_all": "/",
        "to_proc": "/proc/self",
        "to_proc_root": "/proc/self/root",
        "to_proc_cwd": "/proc/self/cwd",
        "to_dev": "/dev",
        "to_null": "/dev/null",
        "to_zero": "/dev/zero",
        "to_stdin": "/dev/stdin",
        "to_tty": "/dev/tty",
        "chain1": "chain2",
        "chain2": "sub/chain3",
        "sub/chain3": "../../out/secret.txt",
        "chain_folder1": "chain_folder2",
        "chain_folder2": "to_out",
        "loop": "loop",
        "loop1": "loop2",
        "loop2": "loop1",
        "self_loop_folder": "self_loop_folder/x",
        "through_inside": "sub/../../out",
        "sub/to_out": "../../out",
        "sub/deep/to_out": str(out),
        "sub/deep/to_secret": "../../../out/secret.txt",
        "sub/deep/dots": "../../..",
        "sub/deep/dots_only": "../../..",
        "sub/deep/absolute_dots": str(root / ".." / "out"),
        "sub/to_sub_then_out": f"{root}/sub/to_out",
        "to_inside": "sub",
        "to_sibling_prefix": f"{root}x",
        "to_file": "file.txt",
        "to_pipe": "pipe",
        "to_socket": "socket",
        "to_git": ".git",
        "to_git_config": ".git/config",
        "sub/to_git": "../.git",
        "to_pi": ".pi",
        "to_store": "store",
        "to_single": "single.db",
        "to_new": "sub/made.txt",
        "to_absolute_inside": f"{root}/sub/deep/inner.txt",
    }
    names = ["forty_one", *(f"step{number}" for number in range(41)), "file.txt"]
    targets.update(itertools.pairwise(names))
    for name, target in targets.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    here = Path.cwd()
    os.chdir(root)  # a socket's address may not be longer than 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
    finally:
        os.chdir(here)


def snapshot(folder: Path) -> dict[str, object]:
    """Every name below a folder with what it holds, links not followed."""
    seen: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else stat.S_IFMT(found.st_mode)
        seen[str(path.relative_to(folder))] = (stat.S_IMODE(found.st_mode), content)
    return seen


@pytest.fixture
def confined(world: Path) -> Iterator[Confined]:
    root = world / "ws"
    with Confined(root, protected=[root / "store", root / "single.db", root / "future"]) as one:
        yield one


def fill(text: str, world: Path) -> str:
    return text.replace("{root}", str(world / "ws")).replace("{out}", str(world / "out"))


def read(confined: Confined, path: str, links: Links = Links.FOLLOW) -> bytes:
    with confined.place(path, links=links) as place, os.fdopen(place.open_file(), "rb") as file:
        return file.read()


def write(confined: Confined, path: str, data: bytes = b"planted") -> Place:
    with confined.place(path, writable=True, make=RealFiles()) as place:
        place.replace(data, files=RealFiles())
    return place


def test_the_corpus_is_large_enough() -> None:
    assert len(set(ESCAPES)) == len(ESCAPES)
    assert len(ESCAPES) >= 200


@pytest.mark.parametrize("escape", ESCAPES)
def test_no_escape_reads_anything(escape: str, world: Path, confined: Confined) -> None:
    with pytest.raises(REFUSALS):
        read(confined, fill(escape, world))


@pytest.mark.parametrize("escape", ESCAPES)
def test_no_escape_writes_anything(escape: str, world: Path, confined: Confined) -> None:
    before = snapshot(world)
    with pytest.raises(REFUSALS):
        write(confined, fill(escape, world))
    assert snapshot(world) == before


@pytest.mark.parametrize("path", PROTECTED)
def test_what_is_protected_is_never_written(path: str, world: Path, confined: Confined) -> None:
    before = snapshot(world)
    with pytest.raises(PathError):
        write(confined, fill(path, world))
    assert snapshot(world) == before


@pytest.mark.parametrize("path", [".git/config", ".pi/fabric.json", "store/mesh.db", "to_git/config"])
def test_what_is_protected_may_be_read(path: str, confined: Confined) -> None:
    assert read(confined, path) == b"inside"


@pytest.mark.parametrize(
    "path",
    [
        "file.txt",
        "./file.txt",
        ".//file.txt",
        "sub/../file.txt",
        "sub/deep/../../file.txt",
        "to_inside/../file.txt",
        "to_file",
        "to_inside/deep/inner.txt",
        "to_absolute_inside",
        "{root}/file.txt",
        "{root}//sub/deep/inner.txt",
        "{root}/sub/../file.txt",
    ],
)
def test_a_path_that_stays_inside_is_read(path: str, world: Path, confined: Confined) -> None:
    assert read(confined, fill(path, world)) == b"inside"


@pytest.mark.parametrize("path", ["to_file", "to_inside/deep/inner.txt", "to_absolute_inside"])
def test_links_can_be_refused_altogether(path: str, confined: Confined) -> None:
    with pytest.raises(PathError, match="symbolic link"):
        read(confined, path, Links.REFUSE)
    assert read(confined, "file.txt", Links.REFUSE) == b"inside"


def test_writing_through_a_link_replaces_its_target(world: Path, confined: Confined) -> None:
    place = write(confined, "to_file", b"new")
    assert (world / "ws/to_file").is_symlink()
    assert (world / "ws/file.txt").read_bytes() == b"new"
    assert place.path == "file.txt"


def test_writing_through_a_dangling_link_makes_the_target(world: Path, confined: Confined) -> None:
    assert write(confined, "to_new").path == "sub/made.txt"
    assert (world / "ws/sub/made.txt").read_bytes() == b"planted"


def test_missing_folders_are_made_on_the_way(world: Path, confined: Confined) -> None:
    write(confined, "a/b/c.txt")
    assert (world / "ws/a/b/c.txt").read_bytes() == b"planted"


def test_missing_folders_are_made_only_when_asked(confined: Confined) -> None:
    with pytest.raises(FileNotFoundError), confined.place("a/b.txt", writable=True):
        pass


def test_no_folder_is_made_for_a_way_back(world: Path, confined: Confined) -> None:
    with pytest.raises(FileNotFoundError):
        write(confined, "a/../c.txt")
    assert not (world / "ws/a").exists()


def test_a_root_that_is_a_link_may_be_named_either_way(world: Path) -> None:
    (world / "door").symlink_to("ws")
    with Confined(world / "door") as confined:
        assert read(confined, str(world / "door/file.txt")) == b"inside"
        assert read(confined, str(world / "ws/file.txt")) == b"inside"


def test_relative_paths_start_at_the_base(world: Path) -> None:
    with Confined(Path("/"), base=world / "ws") as confined:
        assert read(confined, "../out/secret.txt") == b"secret"
        assert read(confined, str(world / "out/secret.txt")) == b"secret"
        assert read(confined, "to_out/secret.txt") == b"secret"
        with pytest.raises(PathError):
            write(confined, str(world / "ws/.git/config"))


def test_a_base_below_a_reserved_name_can_be_written_in(world: Path) -> None:
    with Confined(world, base=world / "ws/.pi") as confined:
        write(confined, "x.txt")
        with pytest.raises(PathError):
            write(confined, ".pi/x.txt")
        with pytest.raises(PathError):
            write(confined, str(world / "ws/.git/config"))


def test_protection_goes_with_the_folder_and_not_with_its_name(world: Path) -> None:
    with Confined(world / "ws", protected=[world / "ws/to_store"]) as confined, pytest.raises(PathError):
        write(confined, "store/mesh.db")


def test_exchanging_a_folder_for_a_link_after_the_walk_gains_nothing(world: Path, confined: Confined) -> None:
    with confined.place("sub/deep/new.txt", writable=True) as place:
        (world / "ws/sub").rename(world / "ws/moved")
        (world / "ws/sub").symlink_to(world / "out")
        (world / "out/deep").mkdir()
        place.replace(b"x", files=RealFiles())
    assert list((world / "out/deep").iterdir()) == []
    assert (world / "ws/moved/deep/new.txt").read_bytes() == b"x"


def test_exchanging_a_file_for_a_link_after_the_walk_gains_nothing(world: Path, confined: Confined) -> None:
    with confined.place("file.txt", writable=True) as place:
        (world / "ws/file.txt").unlink()
        (world / "ws/file.txt").symlink_to(world / "out/secret.txt")
        with pytest.raises(PathError, match="symbolic link"):
            place.open_file()
        place.replace(b"x", files=RealFiles())
    assert (world / "out/secret.txt").read_text() == "secret"
    assert (world / "ws/file.txt").read_bytes() == b"x"
    assert not (world / "ws/file.txt").is_symlink()


class Exchanges(WatchedFiles):
    """Exchanges something just before the first call of one method."""

    def __init__(self, method: str, act: Callable[[], object]) -> None:
        super().__init__(RealFiles())
        self._method = method
        self._act = act

    def _enter(self, method: object) -> None:
        if method == self._method:
            self._method = ""
            self._act()


def test_a_link_put_where_a_folder_is_about_to_be_made_is_not_followed(
    world: Path, confined: Confined
) -> None:
    files = Exchanges("mkdir", lambda: (world / "ws/a").symlink_to(world / "out"))
    with pytest.raises(OSError) as caught, confined.place("a/b/c.txt", writable=True, make=files):  # noqa: PT011
        pass
    assert caught.value.errno in {errno.ENOTDIR, errno.ELOOP}
    assert sorted(path.name for path in (world / "out").iterdir()) == ["secret.txt", "sub"]


def test_a_pipe_put_in_a_files_place_does_not_block(world: Path, confined: Confined) -> None:
    with confined.place("file.txt") as place:
        (world / "ws/file.txt").unlink()
        os.mkfifo(world / "ws/file.txt")
        with pytest.raises(PathError, match="named pipe"):
            place.open_file()


class Exchanged(Place):
    """A place where something else is put just after one looked at it."""

    def stat(self) -> os.stat_result | None:
        found = super().stat()
        Path(self.name).unlink()
        if Path("other").exists():
            Path("other").rename(self.name)
        else:
            os.mkfifo(self.name)
        return found


@pytest.mark.parametrize("other", ["link", "pipe"])
def test_what_is_put_in_a_files_place_after_the_look_is_not_read(
    other: str, world: Path, confined: Confined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world / "ws")
    if other == "link":
        Path("other").symlink_to("../out/secret.txt")
    with confined.place("file.txt") as place:
        exchanged = Exchanged(folder=place.folder, name=place.name, parts=place.parts)
        with pytest.raises((PathError, OSError)) as caught:
            exchanged.open_file()
    assert isinstance(caught.value, OSError) == (other == "link")


def test_another_name_of_a_protected_file_is_protected_too(world: Path, confined: Confined) -> None:
    (world / "ws/alias.db").hardlink_to(world / "ws/single.db")
    with pytest.raises(PathError, match="the host's own storage"):
        write(confined, "alias.db")


@pytest.mark.parametrize("method", ["open", "write", "fchmod", "fsync", "replace"])
def test_a_failed_replacement_keeps_the_old_file_and_leaves_nothing(
    method: str, world: Path, confined: Confined
) -> None:
    before = snapshot(world)
    files = FaultyFiles(RealFiles(), on=method, fail_at=1)  # pyright: ignore[reportArgumentType] - all five are methods
    with pytest.raises(StorageError, match=r"file\.txt"), confined.place("file.txt", writable=True) as place:
        place.replace(b"new", files=files, mode=0o644)
    assert snapshot(world) == before
    assert files.open_files == 0


def test_the_mode_is_the_one_given_or_that_of_any_new_file(world: Path, confined: Confined) -> None:
    (world / "plain").touch()
    with confined.place("a.txt", writable=True) as place:
        place.replace(b"", files=RealFiles())
    with confined.place("b.txt", writable=True) as place:
        place.replace(b"", files=RealFiles(), mode=0o751)
    assert (world / "ws/a.txt").stat().st_mode == (world / "plain").stat().st_mode
    assert stat.S_IMODE((world / "ws/b.txt").stat().st_mode) == 0o751


def test_folders_are_opened_as_folders_only(world: Path, confined: Confined) -> None:
    with confined.place("sub") as place:
        fd = place.open_folder()
        with os.scandir(fd) as entries:
            assert "deep" in {entry.name for entry in entries}
        os.close(fd)
    with confined.place("file.txt") as place, pytest.raises(PathError, match="is a file, not a folder"):
        place.open_folder()


def test_the_root_itself_is_a_place(confined: Confined) -> None:
    for path in (".", "sub/..", str(confined.root)):
        with confined.place(path) as place:
            assert (place.path, place.name) == (".", ".")
            os.close(place.open_folder())


def test_no_descriptor_is_left_open(world: Path, confined: Confined) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for text in ESCAPES:
        with pytest.raises(REFUSALS):
            read(confined, fill(text, world))
    read(confined, "sub/deep/inner.txt")
    write(confined, "x/y/z.txt")
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_closed_folder_says_so(world: Path) -> None:
    confined = Confined(world / "ws")
    confined.close()
    confined.close()
    with pytest.raises(PathError, match="closed"):
        read(confined, "file.txt")


def test_a_root_that_went_away_is_noticed(world: Path) -> None:
    with Confined(world / "out") as confined:
        assert not confined.vanished()
        (world / "out").rename(world / "gone")
        assert confined.vanished()
        (world / "out").mkdir()
        assert confined.vanished()


def test_a_base_outside_the_root_is_refused(world: Path) -> None:
    with pytest.raises(PathError, match="outside"):
        Confined(world / "ws", base=world / "out")


def test_a_refusal_names_the_path_without_control_characters(confined: Confined) -> None:
    with pytest.raises(PathError) as caught:
        read(confined, "../\x1b[31m\n")
    assert str(caught.value).isprintable()
