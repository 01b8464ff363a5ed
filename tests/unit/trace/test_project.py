"""What the trace keeps is decided by ref, and everything else is counted."""

from __future__ import annotations

from typing import Any

import pytest

from toolfabric.trace.bounds import Cut, encode
from toolfabric.trace.project import Projection, is_ref, project_args, project_phase, project_result


@pytest.mark.parametrize("ref", ["pi.read", "pi.grep", "pi.find", "pi.ls", "pi.edit", "pi.write"])
def test_a_file_action_keeps_its_path_and_numeric_bounds(ref: str) -> None:
    args: Any = {"path": "src/a b.py", "offset": 3, "limit": 10.5, "pattern": "secret", "content": "secret"}
    assert project_args(ref, args) == Projection(
        kept={"path": "src/a b.py", "offset": 3, "limit": 10.5}, cut=Cut(redacted=2)
    )


@pytest.mark.parametrize(
    "path",
    [
        "https://user:pass@host/a",
        "file:///etc/passwd",
        "  http://host",
        "//host/share",
        "\\\\host\\share",
        "data:text/plain,hello",
        "mailto:someone",
        "git@host.org:team/repo",
        "see/https://host/token",
        "",
        "?query",
        "#fragment",
        "a\nb",
        "a\x1b[31mb",
        "a\u202eb",
        7,
        None,
        ["a"],
        True,
    ],
)
def test_a_path_that_is_not_plain_is_withheld_and_counted(path: Any) -> None:
    assert project_args("pi.read", {"path": path}) == Projection(kept={}, cut=Cut(redacted=1))


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("notes.md?token=abc", "notes.md"),
        ("notes.md#part", "notes.md"),
        ("a?b#c", "a"),
        ("a#b?c", "a"),
    ],
)
def test_a_query_or_fragment_is_cut_off_and_counted(path: str, kept: str) -> None:
    assert project_args("pi.ls", {"path": path}) == Projection(kept={"path": kept}, cut=Cut(redacted=1))


@pytest.mark.parametrize(
    "path", ["/abs/olute", "C:\\Users\\me", "C:/x", "../up", "~/home", "ünïcode/文件.txt", "a@b", "%41"]
)
def test_a_plain_path_is_kept_as_it_is(path: str) -> None:
    assert project_args("pi.read", {"path": path}) == Projection(kept={"path": path})


def test_a_path_that_is_not_unicode_is_dropped() -> None:
    assert project_args("pi.read", {"path": "a\udcff"}) == Projection(kept={}, cut=Cut(dropped=1))


@pytest.mark.parametrize(
    "path", ["@" * 500_000, "a" * 500_000, "a-" * 300_000, " " * 500_000, "/" + "@a:" * 200_000]
)
def test_a_long_path_costs_no_more_than_its_length(path: str) -> None:
    kept = project_args("pi.read", {"path": path})
    assert len(encode(kept.args)) <= 16 * 1024 + 10


def test_a_command_is_kept_to_its_bound_and_nothing_beside_it() -> None:
    assert project_args("pi.bash", {"command": "ls\n-l", "timeout": 5, "settle": True}) == Projection(
        kept={"command": "ls\n-l"}, cut=Cut(redacted=2)
    )
    long = project_args("pi.bash", {"command": "echo " + "ä" * 20_000})
    command = long.args["command"]
    assert isinstance(command, str)
    assert 16 * 1024 - 4 <= len(encode(command)) <= 16 * 1024
    assert long.cut == Cut(truncated=1)


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        ({"topic": "t", "event": {"a": 1}}, {"topic": "t"}),
        ({"key": "k/1", "value": "secret"}, {"key": "k/1"}),
        ({"topic": "t", "cursor": "c9", "limit": 5}, {"topic": "t", "cursor": "c9", "limit": 5}),
        ({"cursor": 17}, {"cursor": 17}),
    ],
)
def test_the_mesh_keeps_topic_key_cursor_and_limits(args: Any, kept: Any) -> None:
    assert project_args("mesh.anything", args).args == kept


def test_agents_keep_ids_only() -> None:
    args: Any = {"id": "a-1", "prompt": "secret", "runId": "has a blank", "ids": ["x", "not an id", 3]}
    assert project_args("agents.run", args) == Projection(
        kept={"id": "a-1", "ids": ["x"]}, cut=Cut(redacted=4)
    )
    many: Any = {"ids": [f"i{number}" for number in range(200)]}
    assert project_args("agents.wait", many) == Projection(
        kept={"ids": [f"i{number}" for number in range(128)]}, cut=Cut(dropped=72)
    )


@pytest.mark.parametrize("ref", ["fabric.discovery.search", "fabric.workflow.progress"])
def test_discovery_and_workflow_keep_names_and_numbers(ref: str) -> None:
    args: Any = {"name": "pi.read", "query": "secret", "limit": 4, "label": "two words", "total": True}
    assert project_args(ref, args) == Projection(kept={"name": "pi.read", "limit": 4}, cut=Cut(redacted=3))


@pytest.mark.parametrize(
    "ref", ["mcp.github.search", "schema.commit", "pi.readable", "agentsx.y", "x", "(invalid)"]
)
def test_any_other_ref_keeps_nothing(ref: str) -> None:
    assert project_args(ref, {"path": "a", "id": "b", "command": "c"}) == Projection(
        kept={}, cut=Cut(redacted=3)
    )


@pytest.mark.parametrize(
    "number", [2**53, -(2**60), pytest.param(10**5000, id="long"), float("nan"), float("inf")]
)
def test_a_number_that_json_readers_would_change_is_dropped(number: float) -> None:
    assert project_args("pi.read", {"limit": number}) == Projection(kept={}, cut=Cut(dropped=1))


@pytest.mark.parametrize(("args", "withheld"), [(None, 0), ("text", 1), ([1, 2], 1), (7, 1), ({}, 0)])
def test_arguments_that_are_no_object_keep_nothing(args: Any, withheld: int) -> None:
    assert project_args("pi.read", args) == Projection(kept={}, cut=Cut(redacted=withheld))


def test_keys_that_are_not_strings_are_withheld() -> None:
    odd: Any = {1: "a", None: "b", "path": "c"}
    assert project_args("pi.read", odd) == Projection(kept={"path": "c"}, cut=Cut(redacted=2))


@pytest.mark.parametrize(
    ("value", "withheld"),
    [
        ({"created": True}, 0),
        ({"created": True, "output": "secret"}, 1),
        ({"ok": True, "output": "secret", "details": {"created": True}}, 1),
    ],
)
def test_writing_keeps_that_a_file_was_created(value: Any, withheld: int) -> None:
    assert project_result("pi.write", value) == Projection(kept={"created": True}, cut=Cut(redacted=withheld))


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ("pi.write", {"created": False}),
        ("pi.write", {"created": 1}),
        ("pi.write", "created"),
        ("pi.edit", {"created": True}),
        ("pi.read", "text"),
    ],
)
def test_any_other_result_keeps_nothing(ref: str, value: Any) -> None:
    assert project_result(ref, value) == Projection(cut=Cut(redacted=1))


def test_a_result_of_nothing_is_nothing_left_out() -> None:
    assert project_result("pi.write", None) == Projection()


@pytest.mark.parametrize(
    "ref", ["pi.read", "mcp.12306-mcp.get_x", "mcp.$servers", "read", "a/b:c", "x" * 1_024]
)
def test_a_ref_is_words_joined_by_dots_slashes_or_colons(ref: str) -> None:
    assert is_ref(ref)


@pytest.mark.parametrize(
    "ref", ["", "a b", ".a", "a.", "a..b", "1a", "a\n", "é", "a;b", "x" * 1_025, "(invalid)"]
)
def test_anything_else_is_no_ref(ref: str) -> None:
    assert not is_ref(ref)


@pytest.mark.parametrize("name", ["", "Read the files", "ünïcode", "a" * 400])
def test_a_phase_keeps_its_printable_name(name: str) -> None:
    assert project_phase(name) == (name, Cut())


def test_a_phase_with_controls_is_dropped_and_a_long_one_is_cut() -> None:
    assert project_phase("a\nb") == (None, Cut(dropped=1))
    kept, cut = project_phase("é" * 2_000)
    assert kept == "é" * 255
    assert cut == Cut(truncated=1)
