from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.config.records import (
    Config,
    KernelName,
    Leaf,
    Loaded,
    Problem,
    SchemaMode,
    Source,
    SourceKind,
    SourceState,
)
from toolfabric.execution.records import ResultFormat
from toolfabric.policy.risk import Permission


def test_the_defaults_are_those_of_the_design() -> None:
    config = Config()
    assert config.executor.kernel is KernelName.PYTHON
    assert config.executor.result_format is ResultFormat.AUTO
    assert config.executor.max_output_chars == 50_000
    assert not config.executor.strict_arguments
    assert config.approvals.read is Permission.ALLOW
    others = (
        config.approvals.write,
        config.approvals.execute,
        config.approvals.network,
        config.approvals.agent,
    )
    assert set(others) == {Permission.ASK}
    assert config.entropy.enabled
    assert config.repairs.enabled
    assert not config.pi.allow_outside


@pytest.mark.requirement("SCH-001", "SCH-006")
def test_enforcement_is_off_until_somebody_opts_in() -> None:
    schema = Config().schema
    assert schema.mode is SchemaMode.OFF
    assert (schema.certificate_ttl_ms, schema.max_files, schema.max_bytes) == (30_000, 100, 10_485_760)
    assert schema.trusted_commands == {}


def test_sources_and_problems_say_where_they_are() -> None:
    source = Source(kind=SourceKind.PROJECT, path=Path("/p/.pi/fabric.json"))
    assert str(source) == "project file '/p/.pi/fabric.json'"
    assert str(Source(kind=SourceKind.COMMAND_LINE)) == "command line"
    assert source.state is SourceState.USED
    inside = Problem(source=source, path="mesh.maxReadEvents", message="is null")
    assert str(inside) == "project file '/p/.pi/fabric.json': mesh.maxReadEvents: is null"
    whole = Problem(source=source, path="", message="cannot be read")
    assert str(whole) == "project file '/p/.pi/fabric.json': cannot be read"


def test_a_loaded_configuration_explains_its_leaves() -> None:
    leaf = Leaf(path="a.b", value=1, source=Source(kind=SourceKind.DEFAULT), allowed="a number")
    assert Loaded(config=Config(), agent_dir=Path("/a"), leaves=(leaf,)).explain() == (leaf,)
