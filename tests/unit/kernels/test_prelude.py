"""The guest code that goes before a program is there when it is needed, and only then."""

from __future__ import annotations

import ast

import pytest

from toolfabric.kernels.prelude import prelude_for


@pytest.mark.parametrize(
    ("code", "defines"),
    [
        ("return 1", set[str]()),
        ("workflow_name = bitmap", set[str]()),
        ("await workflow.parallel([])", {"_fabric_workflow"}),
        ("return list(map(str, [1]))", {"map"}),
        ("workflow.phase(map)", {"_fabric_workflow", "map"}),
    ],
)
def test_only_what_the_text_mentions_is_fed(code: str, defines: set[str]) -> None:
    tree = ast.parse(prelude_for(code))
    assert {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} == defines
