from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from toolfabric.config.parse import Parsed, parse
from toolfabric.config.records import (
    Config,
    KernelName,
    RepairKind,
    RepairRow,
    SandboxMode,
    SchemaMode,
    Source,
    SourceKind,
    TrustedCommand,
)
from toolfabric.config.sections import Layer
from toolfabric.execution.records import ResultFormat
from toolfabric.policy.risk import Permission, RiskPolicy
from toolfabric.values import Json, JsonObject

SOURCE = Source(kind=SourceKind.GLOBAL, path=Path("/a/fabric.json"))


def parsed(content: JsonObject) -> Parsed:
    return parse([Layer(source=SOURCE, content=content)])


def clean(content: JsonObject) -> Config:
    result = parsed(content)
    assert result.problems == ()
    assert result.warnings == ()
    return result.config


def problems(content: JsonObject) -> list[tuple[str, str]]:
    return [(one.path, one.message) for one in parsed(content).problems]


def warnings(content: JsonObject) -> list[tuple[str, str]]:
    result = parsed(content)
    assert result.problems == ()
    return [(one.path, one.message) for one in result.warnings]


def test_nothing_gives_the_defaults() -> None:
    assert parse([]).config == clean({}) == Config()


def camel(name: str) -> str:
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.title() for part in rest)


def test_every_field_of_the_configuration_is_a_setting_and_shows_its_default() -> None:
    def of(value: Any, path: str) -> dict[str, Json]:
        if not is_dataclass(value):
            return {path: [] if value == () else value}
        found: dict[str, Json] = {}
        for one in fields(value):
            name = camel(one.name)
            found |= of(getattr(value, one.name), f"{path}.{name}" if path else name)
        return found

    assert {leaf.path: leaf.value for leaf in parse([]).leaves} == of(Config(), "")


def test_every_setting_can_be_given() -> None:
    row: JsonObject = {"kind": "actionAlias", "ref": "pi.read", "from": "pi.cat", "to": "pi.read"}
    given: JsonObject = {
        "$schema": "https://example.org/fabric.json",
        "executor": {
            "kernel": "typescript",
            "timeoutMs": 1,
            "memoryLimitBytes": 2**20,
            "maxOutputChars": 100,
            "maxNestedResultChars": 100,
            "resultFormat": "yaml",
            "strictArguments": True,
        },
        "approvals": {
            "read": "ask",
            "write": "deny",
            "execute": "allow",
            "network": "allow",
            "agent": "deny",
        },
        "entropy": {"enabled": False},
        "repairs": {"enabled": False, "rows": [row]},
        "schema": {
            "mode": "audit",
            "certificateTtlMs": 1000,
            "maxFiles": 1000,
            "maxBytes": 1024,
            "trustedCommands": {"t": {"command": "make", "args": ["test"], "timeoutMs": 1000}},
            "sandboxTrustedCommands": "require",
            "fingerprintCache": False,
            "fingerprintMaxFiles": 5,
            "fingerprintMaxBytes": 2048,
        },
        "mcp": {"servers": {"github": {"command": "gh-mcp", "args": ["--stdio"], "env": {"A": "b"}}}},
        "mesh": {"maxEventBytes": 1024, "maxReadEvents": 1},
        "components": {"clock": {"anything": [1]}},
        "pi": {"allowOutside": True},
    }
    config = clean(given)
    assert config.executor.kernel is KernelName.TYPESCRIPT
    assert config.executor.timeout_ms == 1
    assert config.executor.memory_limit_bytes == 1_048_576
    assert config.executor.max_output_chars == config.executor.max_nested_result_chars == 100
    assert config.executor.result_format is ResultFormat.YAML
    assert config.executor.strict_arguments
    assert config.approvals == RiskPolicy(
        read=Permission.ASK,
        write=Permission.DENY,
        execute=Permission.ALLOW,
        network=Permission.ALLOW,
        agent=Permission.DENY,
    )
    assert not config.entropy.enabled
    assert not config.repairs.enabled
    assert config.repairs.rows == (
        RepairRow(kind=RepairKind.ACTION_ALIAS, ref="pi.read", from_="pi.cat", to="pi.read"),
    )
    assert config.schema.mode is SchemaMode.AUDIT
    assert config.schema.certificate_ttl_ms == 1000
    assert config.schema.max_files == 1000
    assert config.schema.max_bytes == 1024
    assert config.schema.trusted_commands == {
        "t": TrustedCommand(command="make", args=("test",), timeout_ms=1000)
    }
    assert config.schema.sandbox_trusted_commands is SandboxMode.REQUIRE
    assert not config.schema.fingerprint_cache
    assert (config.schema.fingerprint_max_files, config.schema.fingerprint_max_bytes) == (5, 2048)
    assert config.mcp.servers == {"github": {"command": "gh-mcp", "args": ["--stdio"], "env": {"A": "b"}}}
    assert (config.mesh.max_event_bytes, config.mesh.max_read_events) == (1024, 1)
    assert config.components == {"clock": {"anything": [1]}}
    assert config.pi.allow_outside
    default = parse([]).leaves
    assert not {leaf.path for leaf in parsed(given).leaves if leaf.source != SOURCE}
    assert len(parsed(given).leaves) == len(default)


@pytest.mark.requirement("SCH-002")
@pytest.mark.parametrize("mode", list(SchemaMode))
def test_the_mode_is_one_of_three(mode: SchemaMode) -> None:
    assert clean({"schema": {"mode": mode.value}}).schema.mode is mode


@pytest.mark.requirement("SCH-003")
@pytest.mark.parametrize("mode", ["ENFORCE", "on", "", True, 1, None, ["enforce"], {"mode": "enforce"}])
def test_an_invalid_mode_becomes_off_and_is_remarked_on(mode: Json) -> None:
    result = parsed({"schema": {"mode": mode}})
    assert result.config.schema.mode is SchemaMode.OFF
    assert result.problems == ()
    (warning,) = result.warnings
    assert warning.path == "schema.mode"
    assert "allowed: one of off, audit, enforce" in warning.message


def test_an_invalid_mode_does_not_take_away_what_a_weaker_file_enforces() -> None:
    strong = Source(kind=SourceKind.PROJECT, path=Path("/p/.pi/fabric.json"))
    result = parse(
        [
            Layer(source=SOURCE, content={"schema": {"mode": "enforce"}}),
            Layer(source=strong, content={"schema": {"mode": "none"}}),
        ]
    )
    assert result.config.schema.mode is SchemaMode.ENFORCE


@pytest.mark.requirement("SCH-004", "SCH-005")
@pytest.mark.parametrize(
    ("key", "field", "low", "high"),
    [
        ("certificateTtlMs", "certificate_ttl_ms", 1_000, 600_000),
        ("maxFiles", "max_files", 1, 1_000),
        ("maxBytes", "max_bytes", 1_024, 104_857_600),
    ],
)
def test_numbers_of_enforcement_are_clamped(key: str, field: str, low: int, high: int) -> None:
    for given, used in (
        (low - 1, low), (low, low), (high, high), (high + 1, high), (-1, low), (0, low), (1e18, high),
    ):  # fmt: skip
        result = parsed({"schema": {key: given}})
        assert getattr(result.config.schema, field) == used
        assert [one.path for one in result.warnings] == ([] if given == used else [f"schema.{key}"])
    default = getattr(Config().schema, field)
    unfit_values: list[Json] = ["5", None, True, [5], {}]
    for unfit in unfit_values:
        result = parsed({"schema": {key: unfit}})
        assert getattr(result.config.schema, field) == default
        assert [one.path for one in result.warnings] == [f"schema.{key}"]


@pytest.mark.requirement("SCH-071")
def test_with_a_shell_the_arguments_of_a_trusted_command_are_empty() -> None:
    given: JsonObject = {"command": "make && true", "args": ["-j"], "shell": True}
    config = clean({"schema": {"trustedCommands": {"t": given}}})
    assert config.schema.trusted_commands == {"t": TrustedCommand(command="make && true", shell=True)}  # noqa: S604 - a record


@pytest.mark.requirement("SCH-070")
def test_without_a_word_a_trusted_command_has_no_shell_and_thirty_seconds() -> None:
    config = clean({"schema": {"trustedCommands": {"t": {"command": "make"}}}})
    assert config.schema.trusted_commands == {
        "t": TrustedCommand(command="make", args=(), shell=False, timeout_ms=30_000)
    }


@pytest.mark.parametrize(
    "unfit",
    [
        {"command": ["make"]},
        {"args": []},
        {"command": "make", "args": "test"},
        {"command": "make", "args": [1]},
        {"command": "make", "shell": "yes"},
        {"command": ""},
        {"command": "a\0b"},
        "make",
        None,
    ],
)
def test_a_trusted_command_that_is_not_clear_is_left_out(unfit: Json) -> None:
    result = parsed({"schema": {"trustedCommands": {"t": unfit, "good": {"command": "true"}}}})
    assert result.problems == ()
    assert list(result.config.schema.trusted_commands) == ["good"]
    assert result.warnings[0].path.startswith("schema.trustedCommands.t")


def test_the_time_of_a_trusted_command_is_clamped() -> None:
    given: JsonObject = {"a": {"command": "x", "timeoutMs": 1}, "b": {"command": "x", "timeoutMs": 1e9}}
    result = parsed({"schema": {"trustedCommands": given}})
    times = [one.timeout_ms for one in result.config.schema.trusted_commands.values()]
    assert times == [1_000, 600_000]
    assert [one.path for one in result.warnings] == [
        "schema.trustedCommands.a.timeoutMs",
        "schema.trustedCommands.b.timeoutMs",
    ]


@pytest.mark.requirement("SCH-025")
def test_components_are_kept_in_the_configuration_whatever_the_mode() -> None:
    config = clean({"schema": {"mode": "enforce"}, "components": {"clock": {"kind": "timer"}}})
    assert config.components == {"clock": {"kind": "timer"}}


@pytest.mark.parametrize(
    ("content", "path", "message"),
    [
        (
            {"executor": {"timeoutMs": "5"}},
            "executor.timeoutMs",
            "is a string; allowed: an integer from 1 to 86400000",
        ),
        (
            {"executor": {"timeoutMs": 0}},
            "executor.timeoutMs",
            "is a number out of range; allowed: an integer from 1 to 86400000",
        ),
        (
            {"executor": {"kernel": "pyton"}},
            "executor.kernel",
            "is an unknown string (did you mean 'python'?); allowed: one of python, typescript",
        ),
        ({"approvals": {"write": True}}, "approvals.write", "is a boolean; allowed: one of allow, ask, deny"),
        ({"approvals": []}, "approvals", "is an array; allowed: an object"),
        ({"entropy": {"enabled": 1}}, "entropy.enabled", "is a number; allowed: true or false"),
        (
            {"repairs": {"rows": [{"kind": "keyAlias", "ref": "a.b", "from": "x"}]}},
            "repairs.rows[0]",
            "has no 'to'; allowed: 'to' as a string of 1 to 1024 characters",
        ),
        (
            {"repairs": {"rows": [{"kind": "alias", "ref": "a.b", "from": "x", "to": "y"}]}},
            "repairs.rows[0].kind",
            "is an unknown string (did you mean 'keyAlias'?); allowed: one of keyAlias, actionAlias",
        ),
        (
            {"mcp": {"servers": {"a": {}}}},
            "mcp.servers.a",
            "has both or neither of 'command' and 'url'; allowed: exactly one of them",
        ),
        (
            {"mcp": {"servers": {"a": {"command": "x", "url": "http://x"}}}},
            "mcp.servers.a",
            "has both or neither of 'command' and 'url'; allowed: exactly one of them",
        ),
        (
            {"mcp": {"servers": {"a": {"url": "ftp://x"}}}},
            "mcp.servers.a.url",
            "is a string of another form; allowed: an address beginning with http:// or https://",
        ),
        (
            {"mcp": {"servers": {"a": {"command": "x", "args": "y"}}}},
            "mcp.servers.a.args",
            "is a string; allowed: an array of strings",
        ),
        (
            {"mcp": {"servers": {"a": {"command": "x", "env": {"A": 1}}}}},
            "mcp.servers.a.env",
            "has a number in it; allowed: an object of strings",
        ),
        (
            {"mesh": {"maxEventBytes": 1}},
            "mesh.maxEventBytes",
            "is a number out of range; allowed: an integer from 1024 to 16777216",
        ),
        ({"components": {"a": 1}}, "components.a", "is a number; allowed: an object"),
        ({"pi": {"allowOutside": "no"}}, "pi.allowOutside", "is a string; allowed: true or false"),
    ],
)
def test_an_unfit_value_is_one_problem_with_its_path_type_and_what_is_allowed(
    content: JsonObject, path: str, message: str
) -> None:
    assert problems(content) == [(path, message)]


def test_values_are_never_repeated_in_messages() -> None:
    given = "hunter2\x1b[31m"
    content: JsonObject = {
        "executor": {"kernel": given, "timeoutMs": given},
        "mcp": {"servers": {"a": {"url": given, "headers": {"k": [given]}}}},
        "schema": {"mode": given, "maxFiles": given, "trustedCommands": {"a": {"command": [given]}}},
        "repairs": {"rows": [{"kind": given}]},
    }
    result = parsed(content)
    assert len(result.problems) > 5
    assert "hunter2" not in repr((result.problems, result.warnings))


@pytest.mark.parametrize(
    ("content", "path", "near"),
    [
        ({"executer": {}}, "executer", "did you mean 'executor'?"),
        ({"executor": {"timeout": 5}}, "executor.timeout", "did you mean 'timeoutMs'?"),
        ({"schema": {"Mode": "audit"}}, "schema.Mode", "did you mean 'mode'?"),
        ({"mcp": {"server": {}}}, "mcp.server", "did you mean 'servers'?"),
        (
            {"mcp": {"servers": {"a": {"command": "x", "arg": []}}}},
            "mcp.servers.a.arg",
            "did you mean 'args'?",
        ),
        ({"pi": {"zzz": 1}}, "pi.zzz", "known are allowOutside"),
    ],
)
def test_an_unknown_key_is_a_remark_with_the_nearest_name(content: JsonObject, path: str, near: str) -> None:
    assert warnings(content) == [(path, f"is not a known key and has no effect; {near}")]


def test_what_is_usually_secret_is_not_shown_but_is_there() -> None:
    servers: JsonObject = {
        "local": {"command": "x", "env": {"TOKEN": "hunter2"}},
        "web": {
            "url": "https://me:hunter2@example.org/mcp?key=hunter2",
            "headers": {"Authorization": "hunter2"},
        },
    }
    result = parsed({"mcp": {"servers": servers}})
    assert result.config.mcp.servers == servers
    leaves = {leaf.path: leaf.value for leaf in result.leaves if leaf.path.startswith("mcp.")}
    assert leaves == {
        "mcp.servers.local": {"command": "x", "env": {"TOKEN": "(hidden)"}},
        "mcp.servers.web": {
            "url": "https://(hidden)@example.org/mcp?(hidden)",
            "headers": {"Authorization": "(hidden)"},
        },
    }
