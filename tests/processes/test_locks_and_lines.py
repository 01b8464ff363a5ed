"""Locks and appends among real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lines import LineWriter, read_lines
from toolfabric.durable.lock import FileLock

HOLDER = """
import sys
from pathlib import Path
from toolfabric.durable.lock import FileLock
lock = FileLock(Path(sys.argv[1]))
sys.stdout.write("waiting\\n"); sys.stdout.flush()
lock.acquire()
sys.stdout.write("held\\n"); sys.stdout.flush()
sys.stdin.readline()
lock.release()
"""

APPENDER = """
import sys
from pathlib import Path
from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lines import LineWriter
name, count = sys.argv[2].encode(), int(sys.argv[3])
with LineWriter(Path(sys.argv[1]), files=RealFiles(), shared=True) as writer:
    sys.stdout.write("ready\\n"); sys.stdout.flush()
    sys.stdin.readline()
    for number in range(count):
        writer.append(name + b":" + str(number).encode() + b":" + name * (number * 37 % 9_000))
"""


@contextmanager
def running(code: str, *arguments: str) -> Generator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def said(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def tell(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def test_one_process_waits_for_the_other_and_then_gets_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with running(HOLDER, str(path)) as first:
        assert [said(first), said(first)] == ["waiting", "held"]
        assert not FileLock(path).try_acquire()
        with running(HOLDER, str(path)) as second:
            assert said(second) == "waiting"
            tell(first)
            assert said(second) == "held"
            assert first.wait() == 0
            assert not FileLock(path).try_acquire()
            tell(second)
            assert second.wait() == 0
    with FileLock(path) as lock:
        assert lock.held


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with running(HOLDER, str(path)) as child:
        assert [said(child), said(child)] == ["waiting", "held"]
        child.send_signal(signal.SIGKILL)
        FileLock(path).acquire()
        assert child.wait() == -signal.SIGKILL


def test_a_program_started_while_a_lock_is_held_does_not_inherit_it(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    lock.acquire()
    with running("import sys; sys.stdin.readline()"):
        lock.release()
        other = FileLock(tmp_path / "lock")
        assert other.try_acquire()
        other.release()


def test_lines_of_several_processes_stay_whole_and_in_order(tmp_path: Path) -> None:
    path, count = tmp_path / "log", 300
    path.write_bytes(b"torn")
    with (
        running(APPENDER, str(path), "a", str(count)) as one,
        running(APPENDER, str(path), "b", str(count)) as two,
        running(APPENDER, str(path), "c", str(count)) as three,
    ):
        children = (one, two, three)
        assert {said(child) for child in children} == {"ready"}
        for child in children:
            tell(child)
        assert {child.wait() for child in children} == {0}
    lines = [line for line in read_lines(path, max_line_bytes=100_000) if line != b"torn"]
    for name in ("a", "b", "c"):
        expected = [f"{name}:{n}:{name * (n * 37 % 9_000)}".encode() for n in range(count)]
        assert [line for line in lines if line.startswith(name.encode())] == expected
    assert len(lines) == 3 * count


def test_a_writer_killed_at_any_moment_leaves_whole_lines_then_at_most_a_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with running(APPENDER, str(path), "a", "1000000") as child:
        assert said(child) == "ready"
        tell(child)
        while path.stat().st_size < 100_000:
            pass
        child.send_signal(signal.SIGKILL)
        child.wait()
    with LineWriter(path, files=RealFiles()) as writer:
        writer.append(b"after")
    lines = list(read_lines(path, max_line_bytes=100_000))
    assert lines.pop() == b"after"
    assert lines == [f"a:{n}:{'a' * (n * 37 % 9_000)}".encode() for n in range(len(lines))]
