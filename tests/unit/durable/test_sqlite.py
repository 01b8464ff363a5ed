from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import cast

import apsw
import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lock import FileLock
from toolfabric.durable.sqlite import Database, Schema
from toolfabric.errors import StorageError

FILES = RealFiles()
ONE = Schema(what="thing", application_id=77, steps=("CREATE TABLE a (b INTEGER UNIQUE) STRICT",))
TWO = Schema(what="thing", application_id=77, steps=(*ONE.steps, "INSERT INTO a VALUES (1), (2)"))


def opened(path: Path, schema: Schema = ONE, *, busy_seconds: float = 0.0) -> Database:
    return Database(path, schema, files=FILES, busy_seconds=busy_seconds, pause=lambda _seconds: None)


def insert_and_raise(database: Database, number: int) -> None:
    database.change("INSERT INTO a VALUES (?)", number)
    raise LookupError


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        one.name: one.read_bytes() for one in folder.iterdir() if not one.name.endswith((".lock", "-shm"))
    }


def test_a_new_database_and_its_folder_are_the_owners_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        with opened(tmp_path / "new" / "a?b#%20.db") as database, database.transaction():
            database.change("INSERT INTO a VALUES (1)")
        kept = opened(tmp_path / "new" / "a?b#%20.db")
    finally:
        os.umask(umask)
    with kept:
        assert kept.rows("SELECT b FROM a") == [(1,)]
        modes = {one.name: one.stat().st_mode & 0o777 for one in (tmp_path / "new").iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"a?b#%20.db", "a?b#%20.db-wal", "a?b#%20.db-shm"} <= set(modes)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_what_was_agreed_is_set_on_every_connection(tmp_path: Path) -> None:
    for _time in range(2):
        with opened(tmp_path / "a.db") as database:
            found = {
                name: database.row(f"PRAGMA {name}")
                for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema", "mmap_size")
            }
            assert found == {
                "journal_mode": ("wal",),
                "synchronous": (2,),
                "foreign_keys": (1,),
                "trusted_schema": (0,),
                "mmap_size": (0,),
            }
            assert database.problems() == ()


def test_steps_lead_from_any_older_form_to_the_newest(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db", ONE) as database:
        assert database.row("PRAGMA user_version") == (1,)
    for _time in range(2):
        with opened(tmp_path / "a.db", TWO) as database:
            assert database.row("PRAGMA user_version") == (2,)
            assert database.rows("SELECT b FROM a ORDER BY b") == [(1,), (2,)]


def test_a_step_that_fails_leaves_the_older_form(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db", ONE):
        pass
    broken = Schema(
        what="thing",
        application_id=77,
        steps=(*ONE.steps, "INSERT INTO a VALUES (5); INSERT INTO none VALUES (1)"),
    )
    with pytest.raises(StorageError, match="no such table"):
        opened(tmp_path / "a.db", broken)
    with opened(tmp_path / "a.db", ONE) as database:
        assert database.rows("SELECT * FROM a") == []


def test_a_transaction_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as database:
        with pytest.raises(LookupError), database.transaction():
            insert_and_raise(database, 1)
        assert database.rows("SELECT * FROM a") == []
        with pytest.raises(StorageError, match="UNIQUE"), database.transaction():
            database.change("INSERT INTO a VALUES (1), (1)")
        assert database.rows("SELECT * FROM a") == []
        assert not database.in_transaction
        with database.transaction():
            assert database.change("INSERT INTO a VALUES (1), (2)") == 2
            with pytest.raises(LookupError), database.savepoint():
                insert_and_raise(database, 3)
            with database.savepoint():
                database.change("INSERT INTO a VALUES (4)")
        assert database.rows("SELECT b FROM a") == [(1,), (2,), (4,)]


def test_a_snapshot_sees_one_moment(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as one, opened(tmp_path / "a.db") as two:
        with one.snapshot():
            assert one.rows("SELECT * FROM a") == []
            with two.transaction():
                two.change("INSERT INTO a VALUES (1)")
            assert one.rows("SELECT * FROM a") == []
        assert one.rows("SELECT * FROM a") == [(1,)]


def test_waiting_for_another_writer_ends_with_a_clear_error(tmp_path: Path) -> None:
    waits: list[float] = []
    with opened(tmp_path / "a.db") as one:
        two = Database(tmp_path / "a.db", ONE, files=FILES, busy_seconds=0.5, pause=waits.append)
        with two, one.transaction():
            with pytest.raises(StorageError, match=r"another process kept it for 0\.5 s"), two.transaction():
                pass
            assert 0.5 <= sum(waits) < 0.51
            assert max(waits) <= 0.003
            first = len(waits)
            with pytest.raises(StorageError), two.transaction():
                pass
            assert len(waits) > first + 100


def test_waiting_for_another_opener_ends_with_a_clear_error(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "a.db"),
        FileLock(tmp_path / "a.db.lock"),
        pytest.raises(StorageError, match="another process has been opening it"),
    ):
        opened(tmp_path / "a.db", busy_seconds=0.1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"all my notes\n" * 500, "is not a database"),
        (b"x", "is not a database"),
        (b"SQLite format 3\0" + bytes(range(256)) * 40, "is not a database|is damaged"),
    ],
)
def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(StorageError, match=reason):
        opened(tmp_path / "a.db")
    assert snapshot(tmp_path) == {"a.db": content}


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "a.db"))
    execute = cast("Callable[[str], object]", other.execute)  # its stubs need a newer Python
    execute("CREATE TABLE mine (x)")
    other.close()
    before = snapshot(tmp_path)
    assert before["a.db"]
    with pytest.raises(StorageError, match="database of another program"):
        opened(tmp_path / "a.db")
    assert snapshot(tmp_path) == before


def test_a_newer_database_is_left_as_it_is_even_with_a_full_log(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    newer = opened(tmp_path / "live" / "a.db", TWO)
    with newer.transaction():
        newer.change("INSERT INTO a VALUES (3)")
    shutil.copytree(tmp_path / "live", tmp_path / "copy")  # as a killed host leaves it: with its log
    newer.close()
    before = snapshot(tmp_path / "copy")
    assert before["a.db-wal"]
    with pytest.raises(StorageError, match=r"newer version of Fabric \(form 2; this one knows 1\); update"):
        opened(tmp_path / "copy" / "a.db", ONE)
    assert snapshot(tmp_path / "copy") == before
    with opened(tmp_path / "copy" / "a.db", TWO) as database:
        assert database.rows("SELECT b FROM a") == [(1,), (2,), (3,)]


def test_a_damaged_page_is_told_and_nothing_is_written_over_it(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as database, database.transaction():
        for number in range(5_000):
            database.change("INSERT INTO a VALUES (?)", number)
    content = bytearray((tmp_path / "a.db").read_bytes())
    content[4096 * 3 :] = b"\xff" * (len(content) - 4096 * 3)
    (tmp_path / "a.db").write_bytes(content)
    with opened(tmp_path / "a.db") as database:
        problems = database.problems()
        assert problems
        assert all(isinstance(one, str) for one in problems)
        with pytest.raises(StorageError, match="it is damaged; end every host"), database.transaction():
            database.rows("SELECT sum(b) FROM a NOT INDEXED")
    assert (tmp_path / "a.db").read_bytes() == bytes(content)


def test_a_link_and_a_folder_in_its_place_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "real.db"):
        pass
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    (tmp_path / "folder.db").mkdir()
    for name in ("link.db", "folder.db"):
        with pytest.raises(StorageError, match="must be a regular file"):
            opened(tmp_path / name)


def test_changes_to_a_file_that_was_removed_are_not_acknowledged(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with opened(tmp_path / "x" / "a.db") as database:
        shutil.rmtree(tmp_path / "x")
        with pytest.raises(StorageError, match="removed or exchanged"), database.transaction():
            database.change("INSERT INTO a VALUES (1)")
        with opened(tmp_path / "x" / "a.db") as other, other.transaction():
            other.change("INSERT INTO a VALUES (1)")
        with pytest.raises(StorageError, match="removed or exchanged"), database.transaction():
            database.change("INSERT INTO a VALUES (2)")


def test_a_closed_database_says_so_and_closes_twice(tmp_path: Path) -> None:
    database = opened(tmp_path / "a.db")
    database.close()
    database.close()
    with pytest.raises(StorageError, match="it was closed"):
        database.rows("SELECT 1")
