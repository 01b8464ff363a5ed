"""The contract suite over the ``pi`` provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.durable.fileops import RealFiles
from toolfabric.providers.pi import PiProvider
from toolfabric.testing.provider_suite import ProviderCase, check_provider_contract

pytestmark = pytest.mark.anyio

CASES = [
    ProviderCase("read", {"path": "f.txt"}, again=True),
    ProviderCase("read", {"path": "f.txt", "offset": 2, "limit": 1}),
    ProviderCase("read", {"path": "image.png"}),
    ProviderCase("read", {"path": "missing"}, fails=True),
    ProviderCase("read", {"path": "../outside"}, fails=True),
    ProviderCase("grep", {"pattern": "t.o", "context": 1, "glob": "*.txt"}, again=True),
    ProviderCase("grep", {"pattern": "("}, fails=True),
    ProviderCase("find", {"pattern": "**/*.txt"}, again=True),
    ProviderCase("find", {"pattern": ""}, fails=True),
    ProviderCase("ls", {}, again=True),
    ProviderCase("ls", {"path": "f.txt"}, fails=True),
    ProviderCase("edit", {"path": "f.txt", "oldText": "two", "newText": "2\x1b[2J"}),
    ProviderCase("edit", {"path": "f.txt", "edits": [{"oldText": "one", "newText": "1"}]}),
    ProviderCase("edit", {"path": "f.txt", "edits": '[{"oldText": "1", "newText": "one"}]'}),
    ProviderCase("edit", {"path": "f.txt", "oldText": "nowhere", "newText": ""}, fails=True),
    ProviderCase("edit", {"path": "f.txt", "edits": "no JSON"}, fails=True),
    ProviderCase("write", {"path": "a/new.txt", "content": "x"}, again=True),
    ProviderCase("write", {"path": ".git/config", "content": "x"}, fails=True),
    ProviderCase("bash", {"command": "cat f.txt; exit 3", "settle": True}, again=True),
    ProviderCase("bash", {"command": "exit 3"}, fails=True),
    ProviderCase("bash", {"command": "sleep 1000"}, hangs=True),
]


def picture(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("allow_outside", [False, True])
async def test_pi_keeps_the_contract_of_providers(allow_outside: bool, tmp_path: Path) -> None:  # noqa: FBT001 -- a parameter of the test
    (tmp_path / "f.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "link").symlink_to("f.txt")
    findings = await check_provider_contract(
        lambda: PiProvider(tmp_path, files=RealFiles(), allow_outside=allow_outside),
        [case for case in CASES if not allow_outside or case.args.get("path") != "../outside"],
        cwd=tmp_path,
        watch=lambda: picture(tmp_path),
    )
    assert [str(finding) for finding in findings] == []
