"""Run every benchmark, print one table, and keep the numbers as JSON.

Usage: ``python benchmarks/run.py [NAME…]``. Each row has its baseline from the same run: compare the
ratios, not the times, between machines.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from pathlib import Path

from measure import Row, spelled

BENCHMARKS = ("start", "host_call", "mesh")


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(
            f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}",
            file=sys.stderr,
        )
        return 2
    rows: list[Row] = []
    for name in names or BENCHMARKS:
        rows += import_module(name).run()
    print("| what | takes | baseline | takes | ratio |\n|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.what} | {spelled(row.seconds)} "
            f"| {row.baseline} | {spelled(row.baseline_seconds)} | {row.ratio:.2f} |"
        )
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    kept = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "rows": [
            {
                "what": r.what,
                "seconds": r.seconds,
                "baseline": r.baseline,
                "baselineSeconds": r.baseline_seconds,
            }
            for r in rows
        ],
    }
    (folder / "latest.json").write_text(json.dumps(kept, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
