"""From layers of JSON to one ``Config``: every section, key, bound and default in one place.

Pure: no files, no environment, and no exception whatever the JSON is. UnfitError values are problems, save
in ``schema``, where they take the default or are clamped, with a warning (seed; design 30, "Configuration").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolfabric.config.records import (
    Config,
    EntropyConfig,
    ExecutorConfig,
    KernelName,
    Leaf,
    McpConfig,
    MeshConfig,
    PiConfig,
    Problem,
    RepairKind,
    RepairRow,
    RepairsConfig,
    SandboxMode,
    SchemaConfig,
    SchemaMode,
    TrustedCommand,
)
from toolfabric.config.rules import choice, clamped, flag, integer, text, text_map, texts, web_address
from toolfabric.config.sections import Layer, Report, Section
from toolfabric.execution.records import ResultFormat
from toolfabric.policy.risk import Permission, RiskPolicy
from toolfabric.values import Json, JsonObject

__all__ = ["Parsed", "parse"]

_DEFAULTS: Final = Config()
_MIB: Final = 1024 * 1024
_GIB: Final = 1024 * _MIB
_HIDDEN: Final = "(hidden)"
_DAY_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A configuration and what is to be said of it; with ``problems``, it is not to be used."""

    config: Config
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    leaves: tuple[Leaf, ...]


def parse(layers: Sequence[Layer]) -> Parsed:
    """Read all layers, weakest first. Without layers it gives the defaults, and lists all settings."""
    report = Report()
    top = Section(report, "", layers)
    config = Config(
        executor=_executor(top.section("executor")),
        approvals=_approvals(top.section("approvals")),
        entropy=_entropy(top.section("entropy")),
        repairs=_repairs(top.section("repairs")),
        schema=_schema(top.section("schema", lenient=True)),
        mcp=_mcp(top.section("mcp")),
        mesh=_mesh(top.section("mesh")),
        components=top.named("components", _component, show=_as_given, each="component"),
        pi=_pi(top.section("pi")),
    )
    top.close("$schema")
    return Parsed(
        config=config,
        problems=tuple(report.problems),
        warnings=tuple(report.warnings),
        leaves=tuple(report.leaves),
    )


class _Transport(StrEnum):
    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    STREAMABLE_HTTP = "streamable-http"


def _executor(section: Section) -> ExecutorConfig:
    default = _DEFAULTS.executor
    made = ExecutorConfig(
        kernel=section.setting("kernel", default.kernel, choice(KernelName)),
        timeout_ms=section.setting("timeoutMs", default.timeout_ms, integer(1, _DAY_MS)),
        memory_limit_bytes=section.setting(
            "memoryLimitBytes", default.memory_limit_bytes, integer(_MIB, 64 * _GIB)
        ),
        max_output_chars=section.setting(
            "maxOutputChars", default.max_output_chars, integer(100, 10_000_000)
        ),
        max_nested_result_chars=section.setting(
            "maxNestedResultChars", default.max_nested_result_chars, integer(100, 256 * _MIB)
        ),
        result_format=section.setting("resultFormat", default.result_format, choice(ResultFormat)),
        strict_arguments=section.setting("strictArguments", default.strict_arguments, flag()),
    )
    section.close()
    return made


def _approvals(section: Section) -> RiskPolicy:
    default = _DEFAULTS.approvals
    made = RiskPolicy(
        read=section.setting("read", default.read, choice(Permission)),
        write=section.setting("write", default.write, choice(Permission)),
        execute=section.setting("execute", default.execute, choice(Permission)),
        network=section.setting("network", default.network, choice(Permission)),
        agent=section.setting("agent", default.agent, choice(Permission)),
    )
    section.close()
    return made


def _entropy(section: Section) -> EntropyConfig:
    made = EntropyConfig(enabled=section.setting("enabled", _DEFAULTS.entropy.enabled, flag()))
    section.close()
    return made


def _repairs(section: Section) -> RepairsConfig:
    made = RepairsConfig(
        enabled=section.setting("enabled", _DEFAULTS.repairs.enabled, flag()),
        rows=section.rows("rows", _row, show=_show_row, each="repair row"),
    )
    section.close()
    return made


def _row(item: Section) -> RepairRow:
    name = text(longest=1024)
    return RepairRow(
        kind=item.required("kind", RepairKind.KEY_ALIAS, choice(RepairKind)),
        ref=item.required("ref", "", name),
        from_=item.required("from", "", name),
        to=item.required("to", "", name),
    )


def _show_row(row: RepairRow) -> Json:
    return {"kind": row.kind, "ref": row.ref, "from": row.from_, "to": row.to}


def _schema(section: Section) -> SchemaConfig:
    default = _DEFAULTS.schema
    made = SchemaConfig(
        mode=section.setting("mode", default.mode, choice(SchemaMode)),
        certificate_ttl_ms=section.setting(
            "certificateTtlMs", default.certificate_ttl_ms, clamped(1_000, 600_000)
        ),
        max_files=section.setting("maxFiles", default.max_files, clamped(1, 1_000)),
        max_bytes=section.setting("maxBytes", default.max_bytes, clamped(1024, 100 * _MIB)),
        trusted_commands=section.named(
            "trustedCommands", _trusted_command, show=_show_command, each="trusted command"
        ),
        sandbox_trusted_commands=section.setting(
            "sandboxTrustedCommands", default.sandbox_trusted_commands, choice(SandboxMode)
        ),
        fingerprint_cache=section.setting("fingerprintCache", default.fingerprint_cache, flag()),
        fingerprint_max_files=section.setting(
            "fingerprintMaxFiles", default.fingerprint_max_files, clamped(1, 10_000_000)
        ),
        fingerprint_max_bytes=section.setting(
            "fingerprintMaxBytes", default.fingerprint_max_bytes, clamped(1024, 1024 * _GIB)
        ),
    )
    section.close()
    return made


def _trusted_command(item: Section) -> TrustedCommand:
    default = TrustedCommand(command="")
    command = item.required("command", default.command, text())
    args = item.setting("args", default.args, texts())
    shell = item.setting("shell", default.shell, flag())
    timeout_ms = item.setting("timeoutMs", default.timeout_ms, clamped(1_000, 600_000))
    # With a shell, `command` is the whole program; escaping arguments for it is unsound (seed).
    return TrustedCommand(command=command, args=() if shell else args, shell=shell, timeout_ms=timeout_ms)


def _show_command(one: TrustedCommand) -> Json:
    args: list[Json] = [*one.args]
    return {"command": one.command, "args": args, "shell": one.shell, "timeoutMs": one.timeout_ms}


def _mcp(section: Section) -> McpConfig:
    made = McpConfig(servers=section.named("servers", _server, show=_show_server, each="server"))
    section.close()
    return made


def _server(item: Section) -> JsonObject:
    if item.has("command") == item.has("url"):
        item.refuse("has both or neither of 'command' and 'url'", "exactly one of them")
    item.setting("type", _Transport.STDIO, choice(_Transport))
    item.setting("command", "", text())
    item.setting("args", (), texts())
    item.setting("env", {}, text_map())
    item.setting("cwd", "", text())
    item.setting("url", "", web_address())
    item.setting("headers", {}, text_map())
    item.setting("timeoutMs", 1, integer(1, _DAY_MS))
    item.setting("disabled", default=False, rule=flag())
    item.setting("closeObjects", default=False, rule=flag())
    return item.content()


def _show_server(server: JsonObject) -> Json:
    """A server without what is usually secret in it."""
    shown: JsonObject = {}
    for key, value in server.items():
        match key, value:
            case (("env" | "headers"), dict()):
                shown[key] = dict.fromkeys(value, _HIDDEN)
            case "url", str():
                shown[key] = re.sub(r"\?.*", "?" + _HIDDEN, re.sub(r"//[^/@]*@", f"//{_HIDDEN}@", value))
            case _:
                shown[key] = value
    return shown


def _mesh(section: Section) -> MeshConfig:
    default = _DEFAULTS.mesh
    made = MeshConfig(
        max_event_bytes=section.setting("maxEventBytes", default.max_event_bytes, integer(1024, 16 * _MIB)),
        max_read_events=section.setting("maxReadEvents", default.max_read_events, integer(1, 10_000)),
    )
    section.close()
    return made


def _pi(section: Section) -> PiConfig:
    made = PiConfig(allow_outside=section.setting("allowOutside", _DEFAULTS.pi.allow_outside, flag()))
    section.close()
    return made


def _component(item: Section) -> JsonObject:
    item.accept_all()  # what a component may say is its own kind's business
    return item.content()


def _as_given(content: JsonObject) -> Json:
    return content
