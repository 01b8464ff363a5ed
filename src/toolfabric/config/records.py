"""The effective configuration as frozen values, and where each of them came from.

``Config()`` holds every default. Field names are the snake_case of the JSON keys (design 10,
"Configuration and storage"); sizes and times carry their unit in the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from toolfabric.execution.records import ResultFormat
from toolfabric.policy.risk import RiskPolicy
from toolfabric.values import Json, JsonObject

__all__ = [
    "Config",
    "EntropyConfig",
    "ExecutorConfig",
    "KernelName",
    "Leaf",
    "Loaded",
    "McpConfig",
    "MeshConfig",
    "PiConfig",
    "Problem",
    "RepairKind",
    "RepairRow",
    "RepairsConfig",
    "SandboxMode",
    "SchemaConfig",
    "SchemaMode",
    "Source",
    "SourceKind",
    "SourceState",
    "TrustedCommand",
]

_MIB = 1024 * 1024


class KernelName(StrEnum):
    """Which language programs are written in."""

    PYTHON = "python"
    TYPESCRIPT = "typescript"


class SchemaMode(StrEnum):
    """What schema enforcement does with a call that it would deny (seed, Modes)."""

    OFF = "off"
    AUDIT = "audit"
    ENFORCE = "enforce"


class SandboxMode(StrEnum):
    """Whether trusted commands get a read-only workspace (design 30, Trusted commands)."""

    OFF = "off"
    AUTO = "auto"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorConfig:
    """How programs run and how their answers are bounded."""

    kernel: KernelName = KernelName.PYTHON
    timeout_ms: int = 120_000
    memory_limit_bytes: int = 256 * _MIB
    max_output_chars: int = 50_000
    max_nested_result_chars: int = 16 * _MIB
    result_format: ResultFormat = ResultFormat.AUTO
    strict_arguments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyConfig:
    """Whether proven normal forms are applied."""

    enabled: bool = True


class RepairKind(StrEnum):
    """What an authored alias renames."""

    KEY_ALIAS = "keyAlias"
    ACTION_ALIAS = "actionAlias"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRow:
    """One authored alias; ``ref`` is the canonical target (design 20, "repair row")."""

    kind: RepairKind
    ref: str
    from_: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairsConfig:
    """Authored aliases, and whether they are applied."""

    enabled: bool = True
    rows: tuple[RepairRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedCommand:
    """A program that the operator allows as evidence; with ``shell``, ``args`` is empty (seed)."""

    command: str
    args: tuple[str, ...] = ()
    shell: bool = False
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaConfig:
    """Schema enforcement; every number is within the bounds of the seed."""

    mode: SchemaMode = SchemaMode.OFF
    certificate_ttl_ms: int = 30_000
    max_files: int = 100
    max_bytes: int = 10 * _MIB
    trusted_commands: Mapping[str, TrustedCommand] = field(default_factory=dict[str, TrustedCommand])
    sandbox_trusted_commands: SandboxMode = SandboxMode.OFF
    fingerprint_cache: bool = True
    fingerprint_max_files: int = 20_000
    fingerprint_max_bytes: int = 512 * _MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConfig:
    """MCP servers by name, as checked JSON objects of the form that MCP clients share."""

    servers: Mapping[str, JsonObject] = field(default_factory=dict[str, "JsonObject"])


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshConfig:
    """Bounds of the mesh."""

    max_event_bytes: int = 64 * 1024
    max_read_events: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PiConfig:
    """The ``pi`` provider: whether paths outside the workspace may be reached."""

    allow_outside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be configured."""

    executor: ExecutorConfig = field(default_factory=ExecutorConfig)
    approvals: RiskPolicy = field(default_factory=RiskPolicy)
    entropy: EntropyConfig = field(default_factory=EntropyConfig)
    repairs: RepairsConfig = field(default_factory=RepairsConfig)
    schema: SchemaConfig = field(default_factory=SchemaConfig)
    mcp: McpConfig = field(default_factory=McpConfig)
    mesh: MeshConfig = field(default_factory=MeshConfig)
    components: Mapping[str, JsonObject] = field(default_factory=dict[str, "JsonObject"])
    pi: PiConfig = field(default_factory=PiConfig)


class SourceKind(StrEnum):
    """What can supply a value, weakest first."""

    DEFAULT = "default"
    GLOBAL = "global file"
    PROJECT = "project file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"


class SourceState(StrEnum):
    """What became of a source."""

    USED = "used"
    ABSENT = "absent"
    UNTRUSTED = "untrusted"
    CHANGED = "changed since it was trusted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One place that values can come from. A file that is not ``USED`` was not parsed."""

    kind: SourceKind
    path: Path | None = None
    state: SourceState = SourceState.USED

    def __str__(self) -> str:
        return self.kind if self.path is None else f"{self.kind} {str(self.path)!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong in one source. ``path`` is dotted, as in ``executor.timeoutMs``."""

    source: Source
    path: str
    message: str

    def __str__(self) -> str:
        return (
            f"{self.source}: {self.path}: {self.message}" if self.path else f"{self.source}: {self.message}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One setting with its effective value in JSON form, what it allows, and who set it."""

    path: str
    value: Json
    source: Source
    allowed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The effective configuration with its account of itself.

    ``sources`` are in the order in which later ones win. ``warnings`` did not stop anything; what was
    wrong enough to stop was raised.
    """

    config: Config
    agent_dir: Path
    sources: tuple[Source, ...] = ()
    warnings: tuple[Problem, ...] = ()
    leaves: tuple[Leaf, ...] = ()

    def explain(self) -> tuple[Leaf, ...]:
        """Every setting in a fixed order: its effective value and where that came from."""
        return self.leaves
