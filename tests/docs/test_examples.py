"""Every program under ``examples`` does what it says, and the provider passes as a real package."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from toolfabric.testing.provider_suite import ProviderCase, check_provider_contract
from toolfabric.values import Json, JsonObject

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

Shell = Callable[..., "subprocess.CompletedProcess[str]"]

RUNS: Mapping[str, tuple[tuple[str, ...], Json]] = {
    "count_todos.py": ((), {"total": 2, "files": {"src/main.py": 1, "src/words.py": 1}}),
    "longest_files.py": (
        ("--payload", "pattern=src/**/*.py", "--payload", "top=1"),
        {"files": 2, "longest": [{"path": "src/main.py", "lines": 6}]},
    ),
    "replace_word.py": (
        ("--payload", "old=first line", "--payload", "new=line one", "--yes", "write"),
        {"changed": ["notes.txt"], "left": []},
    ),
    "run_checks.py": (("--yes", "execute"), {"passed": 2, "failed": ["has a licence"]}),
}


def answer(done: subprocess.CompletedProcess[str]) -> JsonObject:
    """What ``--json`` printed."""
    form: JsonObject = json.loads(done.stdout)
    return form


def test_every_program_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_program_returns_what_it_promises(name: str, shell: Shell) -> None:
    options, value = RUNS[name]
    done = shell("fabric", "exec", f"examples/{name}", "--json", *options)
    assert done.returncode == 0, done.stderr
    assert answer(done)["value"] == value


def test_the_words_are_replaced_in_the_file(shell: Shell, workspace: Path) -> None:
    options, _value = RUNS["replace_word.py"]
    shell("fabric", "exec", "examples/replace_word.py", *options)
    assert (workspace / "notes.txt").read_text(encoding="utf-8") == "line one\nsecond line\n"


def test_nothing_is_replaced_without_leave(shell: Shell, workspace: Path) -> None:
    options, _value = RUNS["replace_word.py"]
    done = shell("fabric", "exec", "examples/replace_word.py", *options[:-2])
    assert done.returncode == 1
    assert "--yes write" in done.stderr
    assert (workspace / "notes.txt").read_text(encoding="utf-8") == "first line\nsecond line\n"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example provider, built as a wheel and unpacked: a folder to put on the path."""
    made, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    code = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(made)],
        cwd=EXAMPLES / "words-provider",
        capture_output=True,
        text=True,
        check=True,
    )
    with zipfile.ZipFile(made / done.stdout.split()[-1]) as wheel:
        wheel.extractall(folder)
    return folder


def test_an_installed_provider_is_found_and_called(installed: Path, shell: Shell) -> None:
    program = 'return await words.frequent(text="a b a", limit=1)'
    done = shell("env", f"PYTHONPATH={installed}", "fabric", "exec", "-", "--json", given=program)
    assert done.returncode == 0, done.stderr
    assert answer(done)["value"] == [{"word": "a", "count": 2}]


@pytest.mark.anyio
async def test_the_provider_holds_to_the_contract(installed: Path, tmp_path: Path) -> None:
    found = importlib.util.spec_from_file_location("fabric_words", installed / "fabric_words.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    cases = [
        ProviderCase("count", {"text": "one two"}, again=True),
        ProviderCase("frequent", {"text": "a b a", "top": 1}),
        ProviderCase("frequent", {"text": "a b a", "limit": 2}),
    ]
    assert await check_provider_contract(module.WordsProvider, cases, cwd=tmp_path) == []


def test_an_old_argument_of_the_provider_is_understood(installed: Path, shell: Shell) -> None:
    command = ("fabric", "tools", "call", "words.frequent", "text=a b a", "top:=1", "--json")
    done = shell("env", f"PYTHONPATH={installed}", *command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"word": "a", "count": 2}]
