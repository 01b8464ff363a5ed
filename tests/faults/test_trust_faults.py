"""Every file call of trusting and revoking fails once: the list is the old one or the new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.config.trust import content_digest, revoke_project, trust_project, trusted_projects
from toolfabric.durable.fileops import RealFiles
from toolfabric.errors import StorageError
from toolfabric.testing.files import Crashed, CrashFiles, FaultyFiles, WatchedFiles


def make_list(agent: Path) -> None:
    trust_project(Path("/old"), b"old", agent_dir=agent, files=RealFiles())


@pytest.mark.parametrize("kind", [FaultyFiles, CrashFiles])
@pytest.mark.parametrize("verb", ["trust", "revoke"])
def test_whichever_call_fails_the_list_is_old_or_new(
    tmp_path: Path, verb: str, kind: type[FaultyFiles | CrashFiles]
) -> None:
    old = {"/old": content_digest(b"old")}
    new = {**old, "/new": content_digest(b"new")} if verb == "trust" else {}

    def act(agent: Path, files: WatchedFiles) -> None:
        if verb == "trust":
            trust_project(Path("/new"), b"new", agent_dir=agent, files=files)
        else:
            revoke_project(Path("/old"), agent_dir=agent, files=files)

    make_list(tmp_path / "probe")
    probe = WatchedFiles(RealFiles())
    act(tmp_path / "probe", probe)
    assert probe.calls > 5
    for number in range(1, probe.calls + 1):
        agent = tmp_path / str(number)
        make_list(agent)
        files = (
            FaultyFiles(RealFiles(), fail_at=number)
            if kind is FaultyFiles
            else CrashFiles(RealFiles(), stop_at=number)
        )
        with pytest.raises((StorageError, Crashed)):
            act(agent, files)
        assert files.open_files == 0
        assert trusted_projects(agent) in (old, new)
        act(agent, WatchedFiles(RealFiles()))
        assert trusted_projects(agent) == new
