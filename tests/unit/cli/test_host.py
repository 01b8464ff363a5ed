"""The command line as a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.cli import host
from toolfabric.cli.live import Watch
from toolfabric.errors import ResolveError
from toolfabric.policy.approvers import NobodyToAsk
from toolfabric.runtime import Fabric
from toolfabric.values import Json, Risk


@pytest.fixture(autouse=True)
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_AGENT_DIR", str(tmp_path / "agent"))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ()),
        (("write",), (Risk.WRITE,)),
        (("write,execute", "write"), (Risk.WRITE, Risk.EXECUTE)),
        (("all",), tuple(Risk)),
    ],
)
def test_risks_are_read_as_people_write_them(words: tuple[str, ...], found: tuple[Risk, ...]) -> None:
    assert host.risks(words) == found


def test_an_unknown_risk_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="read, write, execute, network, agent or all"):
        host.risks(("danger",))


def test_allowed_risks_become_an_override_and_none_change_nothing() -> None:
    assert host.approvals((Risk.WRITE,)) == {"approvals": {"write": "allow"}}
    assert host.approvals(()) == {}


def test_work_is_done_in_an_open_host_and_its_errors_come_out(tmp_path: Path) -> None:
    async def good(fabric: Fabric) -> Json:
        return len(fabric.providers())

    async def bad(fabric: Fabric) -> Json:
        return await fabric.call("pi.nothing")

    assert host.in_fabric(good, cwd=tmp_path, options=host.unrecorded()) == 1
    with pytest.raises(ResolveError):
        host.in_fabric(bad, cwd=tmp_path, options=host.unrecorded())


def test_without_a_terminal_nobody_is_asked() -> None:
    assert isinstance(host.chosen_approver(Watch()), NobodyToAsk)


def test_the_folder_is_without_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert host.folder(str(tmp_path / "link")) == (tmp_path / "real").resolve()


def test_what_turned_up_while_working_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The compiled normal forms cannot be kept, which shows only after the host was opened."""
    agent = tmp_path / "agent"
    (agent / "fabric").mkdir(parents=True)
    (agent / "fabric" / "entropy").write_text("in the way", encoding="utf-8")

    async def compiled(fabric: Fabric) -> Json:
        await fabric.compiled()
        return None

    host.in_fabric(compiled, cwd=tmp_path, options=host.unrecorded())
    told = capsys.readouterr().err
    assert told.count("entropy") >= 1
    assert len(told.splitlines()) == len(set(told.splitlines()))
