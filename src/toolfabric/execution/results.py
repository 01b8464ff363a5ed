"""The text of an answer: one spelling, a ceiling, both ends kept, the whole set aside.

A value longer than the ceiling is written whole to a private file, and the text names it.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from toolfabric.durable.atomic import make_folders, replace_file
from toolfabric.errors import StorageError
from toolfabric.execution.records import ResultFormat
from toolfabric.protocols import FileOps
from toolfabric.values import Json

__all__ = ["FAILURE_CHARS", "RESULT_CHARS", "Bounded", "OutputFolder", "bounded_text", "render"]

RESULT_CHARS: Final = 50_000
FAILURE_CHARS: Final = 20_000
_FOLDED: Final = re.compile("[\x85\u2028\u2029\ufeff]")


def render(value: Json, form: ResultFormat) -> str:
    """Spell a JSON value as text. ``auto``: strings as they are, everything else as JSON."""
    match form:
        case ResultFormat.AUTO:
            return value if isinstance(value, str) else _json(value)
        case ResultFormat.JSON:
            return _json(value)
        case ResultFormat.YAML:
            return _yaml(value)
        case ResultFormat.TEXT:
            return _plain(value)
        case _:
            assert_never(form)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A text within its ceiling, and the file that holds the whole where it was cut."""

    text: str
    file: Path | None = None


class OutputFolder:
    """Keeps whole outputs in files of this user alone, under the agent folder."""

    def __init__(self, folder: Path, *, files: FileOps) -> None:
        self._folder = folder
        self._files = files

    def keep(self, name: str, text: str) -> Path:
        """Write one output.

        Raises:
            StorageError: It could not be written.
        """
        make_folders(self._folder, files=self._files)
        path = self._folder / f"{name}.txt"
        replace_file(path, text.encode("utf-8", "surrogatepass"), files=self._files, durable=False)
        return path


def bounded_text(text: str, ceiling: int, *, folder: OutputFolder, name: str) -> Bounded:
    """Cut a text to its ceiling in characters, keeping both ends and setting the whole aside."""
    if len(text) <= ceiling:
        return Bounded(text=text)
    path: Path | None = None
    where = "the whole could not be kept"
    with suppress(StorageError):
        path = folder.keep(name, text)
        where = f"the whole is in {path}"
    mark = f"\n… {len(text) - ceiling:,} characters or more are left out here; {where} …\n"
    room = max(ceiling - len(mark), 0)
    head = room - room // 3
    return Bounded(text=text[:head] + mark + text[len(text) - (room - head) :], file=path)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) else None)


def _yaml(value: Json) -> str:
    import yaml

    # PyYAML folds these line ends where it may write Unicode, and they come back as blanks.
    readable = _FOLDED.search(json.dumps(value, ensure_ascii=False)) is None
    text: str = yaml.safe_dump(value, allow_unicode=readable, sort_keys=False, default_flow_style=False)
    return text.removesuffix("...\n").rstrip("\n")


def _plain(value: Json) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case list() if all(isinstance(item, str) for item in value):
            return "\n".join(str(item) for item in value)
        case _:
            return _json(value)
