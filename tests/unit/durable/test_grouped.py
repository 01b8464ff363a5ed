from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.grouped import DatabaseThread
from toolfabric.durable.sqlite import Database, Schema
from toolfabric.errors import StorageError

pytestmark = pytest.mark.anyio

SCHEMA = Schema(what="thing", application_id=78, steps=("CREATE TABLE a (b INTEGER UNIQUE) STRICT",))


def connect(folder: Path) -> Database:
    return Database(folder / "a.db", SCHEMA, files=RealFiles(), busy_seconds=0, pause=lambda _seconds: None)


class Held:
    """A writer whose first job waits until it is let go, so that what follows waits together."""

    def __init__(self, folder: Path) -> None:
        self.commits = 0
        self.go = threading.Event()
        self.begun = threading.Event()
        self.thread = DatabaseThread(connect(folder), writes=True, committed=self._count)
        self.first = self.thread.submit(self._wait)
        self.begun.wait()

    def _count(self) -> None:
        self.commits += 1

    def _wait(self, _database: Database) -> None:
        self.begun.set()
        self.go.wait()


@pytest.fixture
def held(tmp_path: Path) -> Generator[Held]:
    made = Held(tmp_path)
    yield made
    made.go.set()
    made.thread.close()


def insert(number: int) -> Callable[[Database], int]:
    def work(database: Database) -> int:
        database.change("INSERT INTO a VALUES (?)", number)
        return number

    return work


def rows(folder: Path) -> list[object]:
    with connect(folder) as database:
        return [number for (number,) in database.rows("SELECT b FROM a ORDER BY rowid")]


def test_changes_that_wait_together_are_committed_together_and_in_order(tmp_path: Path, held: Held) -> None:
    futures = [held.thread.submit(insert(number)) for number in (3, 1, 2)]
    assert rows(tmp_path) == []
    held.go.set()
    assert [future.result() for future in futures] == [3, 1, 2]
    held.thread.close()
    assert held.commits == 2
    assert rows(tmp_path) == [3, 1, 2]


def test_a_change_that_raises_is_undone_alone(tmp_path: Path, held: Held) -> None:
    def broken(database: Database) -> None:
        database.change("INSERT INTO a VALUES (9)")
        raise LookupError

    one, bad, two = (held.thread.submit(work) for work in (insert(1), broken, insert(2)))
    held.go.set()
    assert (one.result(), two.result()) == (1, 2)
    with pytest.raises(LookupError):
        bad.result()
    assert rows(tmp_path) == [1, 2]


def test_an_error_of_the_database_fails_the_whole_group_and_no_other(tmp_path: Path, held: Held) -> None:
    futures = [held.thread.submit(insert(number)) for number in (1, 1, 2)]
    held.go.set()
    errors = [future.exception() for future in futures]
    assert all(isinstance(error, StorageError) for error in errors)
    assert len({id(error) for error in errors}) == 3
    assert held.thread.submit(insert(3)).result() == 3
    assert rows(tmp_path) == [3]


def test_a_change_that_nobody_waits_for_any_more_is_left_out(tmp_path: Path, held: Held) -> None:
    one, two = held.thread.submit(insert(1)), held.thread.submit(insert(2))
    assert one.cancel()
    held.go.set()
    assert two.result() == 2
    assert rows(tmp_path) == [2]


def test_a_group_of_which_nobody_waits_commits_nothing(tmp_path: Path, held: Held) -> None:
    assert held.thread.submit(insert(1)).cancel()
    held.go.set()
    held.thread.close()
    assert held.commits == 1
    assert rows(tmp_path) == []


def test_closing_does_first_what_was_handed_in(tmp_path: Path, held: Held) -> None:
    futures = [held.thread.submit(insert(number)) for number in range(1_100)]
    held.go.set()
    held.thread.close()
    held.thread.close()
    assert [future.result() for future in futures] == list(range(1_100))
    assert held.commits == 4
    with pytest.raises(StorageError, match="was closed"):
        held.thread.submit(insert(0))
    assert rows(tmp_path) == list(range(1_100))


def test_a_busy_database_fails_the_group_and_the_thread_lives_on(tmp_path: Path) -> None:
    thread = DatabaseThread(connect(tmp_path), writes=True)
    with connect(tmp_path) as other:
        with other.transaction(), pytest.raises(StorageError, match="another process kept it"):
            thread.submit(insert(1)).result()
        assert thread.submit(insert(2)).result() == 2
    thread.close()
    assert rows(tmp_path) == [2]


async def test_a_coroutine_waits_for_its_job_and_may_stop_waiting(tmp_path: Path, held: Held) -> None:
    waiting = asyncio.ensure_future(held.thread.run(insert(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    held.go.set()
    assert await held.thread.run(insert(2)) == 2
    assert rows(tmp_path) == [2]


async def test_a_reader_gives_results_and_errors(tmp_path: Path) -> None:
    thread = DatabaseThread(connect(tmp_path))
    assert await thread.run(lambda database: database.rows("SELECT 7")) == [(7,)]
    with pytest.raises(StorageError, match="no such table"):
        await thread.run(lambda database: database.rows("SELECT * FROM none"))

    def broken(_database: Database) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await thread.run(broken)
    thread.close()
    with pytest.raises(StorageError, match="was closed"):
        await thread.run(lambda database: database.rows("SELECT 7"))
