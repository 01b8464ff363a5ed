"""The Python kernel passes the public conformance suite."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolfabric.kernels.python_host import PythonKernel
from toolfabric.testing.kernel_suite import Canary, Case, run_case
from toolfabric.testing.python_breaches import PYTHON_BREACHES, PYTHON_ESCAPES
from toolfabric.testing.python_programs import PYTHON_PROGRAMS

pytestmark = pytest.mark.anyio


@pytest.fixture
async def kernel() -> AsyncIterator[PythonKernel]:
    made = PythonKernel(max_workers=2)
    yield made
    await made.close()


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Canary:
    text = f"canary-{secrets.token_hex(16)}"
    file = tmp_path / "canary.txt"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("FABRIC_SUITE_CANARY", text)
    return Canary(text=text, file=str(file), variable="FABRIC_SUITE_CANARY")


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len(PYTHON_PROGRAMS) >= 60
    assert len(PYTHON_BREACHES) >= 30
    assert len(PYTHON_ESCAPES) >= 60
    names = [case.name for case in (*PYTHON_PROGRAMS, *PYTHON_BREACHES, *PYTHON_ESCAPES)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "case", [*PYTHON_PROGRAMS, *PYTHON_BREACHES, *PYTHON_ESCAPES], ids=lambda case: case.name
)
async def test_every_case_comes_out_as_it_must(kernel: PythonKernel, canary: Canary, case: Case) -> None:
    findings = await run_case(kernel, case, canary=canary)
    assert [finding.what for finding in findings] == []
