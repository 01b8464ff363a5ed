"""``python -m toolfabric`` is the ``fabric`` command."""

from __future__ import annotations

from toolfabric.cli.main import entry

if __name__ == "__main__":
    entry()
