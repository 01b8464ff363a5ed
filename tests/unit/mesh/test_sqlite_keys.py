from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.sqlite import Database
from toolfabric.mesh.migrations import MESH_SCHEMA
from toolfabric.mesh.records import Entry, Swap
from toolfabric.mesh.sqlite_keys import find_entry, list_entries, swap_value


@pytest.fixture
def database(tmp_path: Path) -> Generator[Database]:
    with Database(tmp_path / "mesh.db", MESH_SCHEMA, files=RealFiles()) as opened:
        yield opened


def swap(
    database: Database, value: bytes | None, if_version: int | None = None, *, moment: str = "now"
) -> Swap:
    with database.transaction():
        return swap_value(database, "k", value, if_version=if_version, moment=moment)


def test_versions_go_up_through_deletions(database: Database) -> None:
    versions = [swap(database, value).version for value in (b"1", b"2", None, b"3", None)]
    assert versions == [1, 2, 3, 4, 5]
    assert find_entry(database, "k") is None
    assert swap(database, None) == Swap(key="k", done=True, version=0)
    assert swap(database, b"4", 0) == Swap(key="k", done=True, version=6)
    assert find_entry(database, "k") == Entry(key="k", version=6, value=4, updated_at="now")


def test_a_change_that_is_refused_leaves_value_and_time(database: Database) -> None:
    swap(database, b'"old"', moment="then")
    assert swap(database, b'"new"', 2) == Swap(key="k", done=False, version=1)
    assert swap(database, None, 0) == Swap(key="k", done=False, version=1)
    assert find_entry(database, "k") == Entry(key="k", version=1, value="old", updated_at="then")


def test_a_null_value_is_a_value_and_no_deletion(database: Database) -> None:
    swap(database, b"null")
    assert find_entry(database, "k") == Entry(key="k", version=1, value=None, updated_at="now")
    assert len(list_entries(database, "", "", most=9, room=99).entries) == 1
