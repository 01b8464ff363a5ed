"""Several processes save compiled surfaces into one agent directory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolfabric.entropy import compile_entropy_surface, load_compiled_surface
from toolfabric.entropy.artifact import compiled_surface_path
from toolfabric.entropy.probes import SCHEMA, surface

WRITER = """
import sys
from pathlib import Path
from toolfabric.entropy import compile_entropy_surface, load_compiled_surface, save_compiled_surface
from toolfabric.entropy.probes import SCHEMA, surface
folder, first, times = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
artifacts = [compile_entropy_surface([], surface(**{f"a{at}": SCHEMA})).artifact for at in range(5)]
sys.stdout.write("ready\\n"); sys.stdout.flush()
sys.stdin.readline()
for number in range(times):
    save_compiled_surface(folder, artifacts[(first + number) % 5])
    assert load_compiled_surface(folder) in artifacts
"""


def write_together(folder: Path, writers: int, times: int) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(first), str(times)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for first in range(writers)
    ]
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
    for one in started:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.flush()
    for one in started:
        one.communicate()
    assert [one.returncode for one in started] == [0] * writers
    expected = [compile_entropy_surface([], surface(**{f"a{at}": SCHEMA})).artifact for at in range(5)]
    assert load_compiled_surface(folder) in expected
    parent = compiled_surface_path(folder).parent
    assert {path.name for path in parent.iterdir()} == {"compiled.json", "compiled.json.lock"}
    json.loads(compiled_surface_path(folder).read_bytes())


def test_the_file_is_whole_whoever_reads_it_whenever(tmp_path: Path) -> None:
    write_together(tmp_path, writers=3, times=10)


@pytest.mark.slow
def test_the_file_stays_whole_over_many_turns(tmp_path: Path) -> None:
    write_together(tmp_path, writers=6, times=200)
