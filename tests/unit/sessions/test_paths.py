"""Sessions are found where Pi would put them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from toolfabric.sessions.paths import (
    session_file_name,
    session_folder,
    session_of_spool,
    spool_path,
    wire_time,
)

MOMENT = datetime(2026, 11, 30, 19, 49, 5, 625_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cwd", "slug"),
    [
        ("/home/user/project", "--home-user-project--"),
        ("/", "----"),
        ("/a b/c:d\\e", "--a b-c-d-e--"),
        ("relative/x", "--relative-x--"),
    ],
)
def test_the_folder_is_named_after_the_working_folder(cwd: str, slug: str) -> None:
    assert session_folder(Path("/agent"), Path(cwd)) == Path("/agent/sessions") / slug


def test_working_folders_with_names_too_long_get_folders_of_their_own_that_can_be_made(
    tmp_path: Path,
) -> None:
    deep = [Path("/" + "ü" * 100 + "/x" * 100 + end) for end in ("/a", "/b")]
    folders = [session_folder(tmp_path, cwd) for cwd in deep]
    for folder in folders:
        folder.mkdir(parents=True)
    assert len(set(folders)) == 2
    assert [folder.name.endswith(end) for folder, end in zip(folders, ("-a--", "-b--"), strict=True)] == [
        True,
        True,
    ]


def test_a_file_is_named_after_its_time_and_id() -> None:
    assert session_file_name(MOMENT, "01a2-b") == "2026-11-30T19-49-05-625Z_01a2-b.jsonl"


def test_times_are_utc_with_milliseconds_whatever_the_zone() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=-7, minutes=-30)))
    assert wire_time(MOMENT) == wire_time(elsewhere) == "2026-11-30T19:49:05.625Z"


def test_a_spool_stands_beside_its_session_and_leads_back_to_it() -> None:
    session = Path("/s/2026_x.jsonl")
    assert spool_path(session) == Path("/s/2026_x.spool.jsonl")
    assert session_of_spool(spool_path(session)) == session
