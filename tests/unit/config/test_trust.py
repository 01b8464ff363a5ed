from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from toolfabric.config.document import MAX_BYTES
from toolfabric.config.trust import (
    content_digest,
    project_file,
    read_configuration_file,
    real_project,
    revoke_project,
    trust_project,
    trusted_projects,
)
from toolfabric.durable.fileops import RealFiles
from toolfabric.durable.lock import FileLock
from toolfabric.errors import ConfigError

FILES = RealFiles()


def test_trust_is_kept_with_the_real_path_and_the_digest_in_a_private_file(tmp_path: Path) -> None:
    agent, project = tmp_path / "new" / "agent", tmp_path / "project"
    project.mkdir()
    (tmp_path / "link").symlink_to("project")
    digest = trust_project(tmp_path / "link", b"{}", agent_dir=agent, files=FILES)
    assert digest == "sha256:" + hashlib.sha256(b"{}").hexdigest() == content_digest(b"{}")
    assert trusted_projects(agent) == {str(project): digest}
    assert json.loads((agent / "trust.json").read_bytes()) == {
        "version": 1,
        "projects": {str(project): digest},
    }
    assert (agent / "trust.json").stat().st_mode & 0o777 == 0o600
    assert agent.stat().st_mode & 0o777 == 0o700


def test_trusting_again_replaces_and_revoking_removes_only_that_one(tmp_path: Path) -> None:
    for name in ("b", "a"):
        trust_project(tmp_path / name, name.encode(), agent_dir=tmp_path, files=FILES)
    trust_project(tmp_path / "a", b"new", agent_dir=tmp_path, files=FILES)
    assert trusted_projects(tmp_path) == {
        str(tmp_path / "a"): content_digest(b"new"),
        str(tmp_path / "b"): content_digest(b"b"),
    }
    assert list(trusted_projects(tmp_path)) == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert revoke_project(tmp_path / "a", agent_dir=tmp_path, files=FILES)
    assert not revoke_project(tmp_path / "a", agent_dir=tmp_path, files=FILES)
    assert list(trusted_projects(tmp_path)) == [str(tmp_path / "b")]


def test_revoking_where_there_is_no_list_makes_nothing(tmp_path: Path) -> None:
    assert not revoke_project(tmp_path, agent_dir=tmp_path / "agent", files=FILES)
    assert not (tmp_path / "agent").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"version": 2, "projects": {}}',
        b'{"version": 1, "projects": []}',
        b'{"version": 1, "projects": {"/p": true}}',
        b'{"version": 1, "projects": {"/p": null, "/q": "sha256:0"}}',
    ],
)
def test_a_list_that_is_none_is_neither_believed_nor_overwritten(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "trust.json").write_bytes(content)
    for act in (
        lambda: trusted_projects(tmp_path),
        lambda: trust_project(tmp_path, b"", agent_dir=tmp_path, files=FILES),
        lambda: revoke_project(tmp_path, agent_dir=tmp_path, files=FILES),
    ):
        with pytest.raises(
            ConfigError, match=r"trust\.json' is not a list of trusted projects; move it away"
        ):
            act()
    assert (tmp_path / "trust.json").read_bytes() == content


def test_a_list_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "trust.json").mkdir()
    with pytest.raises(ConfigError, match=r"the list of trusted projects .* cannot be read"):
        trusted_projects(tmp_path)


def test_a_path_that_is_no_text_can_be_trusted_and_revoked(tmp_path: Path) -> None:
    project = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    project.mkdir()
    trust_project(project, b"", agent_dir=tmp_path, files=FILES)
    assert trusted_projects(tmp_path) == {str(project): content_digest(b"")}
    assert revoke_project(project, agent_dir=tmp_path, files=FILES)


def test_changes_wait_for_each_other(tmp_path: Path) -> None:
    trust_project(tmp_path, b"", agent_dir=tmp_path, files=FILES)
    seen: list[bool] = []

    class Watching(RealFiles):
        def replace(
            self,
            src: str | os.PathLike[str],
            dst: str | os.PathLike[str],
            *,
            src_dir_fd: int | None = None,
            dst_dir_fd: int | None = None,
        ) -> None:
            seen.append(FileLock(tmp_path / "trust.lock").try_acquire())
            super().replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    trust_project(tmp_path, b"1", agent_dir=tmp_path, files=Watching())
    revoke_project(tmp_path, agent_dir=tmp_path, files=Watching())
    assert seen == [False, False]


def test_no_descriptor_is_left_open_whatever_the_name_stands_for(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"{}")
    os.mkfifo(tmp_path / "pipe")
    before = descriptors()
    for name in ("folder", "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            read_configuration_file(tmp_path / name)
    assert read_configuration_file(tmp_path / "file") == b"{}"
    assert descriptors() == before


def test_reading_is_bounded_and_absence_is_no_error(tmp_path: Path) -> None:
    assert read_configuration_file(tmp_path / "gone") is None
    (tmp_path / "file").write_bytes(b"x" * (MAX_BYTES + 5))
    assert read_configuration_file(tmp_path / "file" / "below a file") is None
    data = read_configuration_file(tmp_path / "file")
    assert data is not None
    assert len(data) == MAX_BYTES + 1


def test_names_are_where_the_design_puts_them(tmp_path: Path) -> None:
    assert project_file(Path("/p")) == Path("/p/.pi/fabric.json")
    assert real_project(tmp_path / "a" / ".." / "b") == tmp_path / "b"
