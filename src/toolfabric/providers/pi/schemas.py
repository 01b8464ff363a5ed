"""What the actions of ``pi`` are called, take and return.

Names and meaning of the arguments are those of Pi's own built-in tools, so that what a model knows of
them holds here. All inputs are closed objects without unions at the top, so that a normal form can be
derived from each.
"""

from __future__ import annotations

from typing import Final

from toolfabric._base.declare import closed_object, count, flag, text
from toolfabric.values import ActionSpec, Json, JsonObject, Risk

__all__ = ["SPECS"]


def _list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


_PATH: Final = text("The file, relative to the workspace or absolute inside it")
_FOLDER: Final = text("Where to look, relative to the workspace; the workspace itself by default")
_TRUNCATED: Final = flag("Whether something was left out")
_NOTE: Final = text("What was left out, or is special, in words")
_OLD: Final = text("The exact text to replace; it must occur exactly once")
_NEW: Final = text("What to put in its place")


def _changed(**details: Json) -> JsonObject:
    """The answer of an action that changes something: ``{ok, output, details}``."""
    return closed_object(
        {
            "ok": flag("Whether it was done"),
            "output": text("What was done, or printed, in words"),
            "details": {"type": "object", "properties": {**details}},
        },
        "ok",
        "output",
        "details",
    )


_READ: Final = ActionSpec(
    name="read",
    description=(
        "Read a text file. Line ends are kept as they are. Images and other binary files come back as a note "
        "without content."
    ),
    risk=Risk.READ,
    input_schema=closed_object(
        {
            "path": _PATH,
            "offset": count("The line to start at, from 1"),
            "limit": count("How many lines at most; 10000 by default", 1),
        },
        "path",
    ),
    output_schema=closed_object(
        {
            "path": text("The file, relative to the workspace, links resolved"),
            "kind": {"type": "string", "enum": ["text", "binary", "image"]},
            "text": text("The lines; empty when the file is not text"),
            "lines": count("How many lines are in text"),
            "totalLines": count("How many the file has; left out for very large files"),
            "bytes": count("The file's size"),
            "truncated": flag("Whether lines follow, or a long line was cut"),
            "nextOffset": count("The offset to go on with, when lines follow"),
            "note": _NOTE,
        },
        "path",
        "kind",
        "text",
        "lines",
        "bytes",
        "truncated",
    ),
)

_GREP: Final = ActionSpec(
    name="grep",
    description=(
        "Search the lines of files. Respects .gitignore and .ignore; skips .git, binary files and links. "
        "The pattern is a regular expression in RE2 syntax: no look-around and no back-references."
    ),
    risk=Risk.READ,
    input_schema=closed_object(
        {
            "pattern": text("A regular expression, or plain text with literal"),
            "path": _FOLDER,
            "glob": text(
                "Only files that match, e.g. '*.ts', 'src/**/*.{js,ts}', or '!*.min.js' for all others"
            ),
            "ignoreCase": flag("Ignore upper and lower case"),
            "literal": flag("Take the pattern as plain text"),
            "context": {
                **count("Lines to show before and after each match; none by default"),
                "maximum": 50,
            },
            "limit": count("How many matching lines at most; 1000 by default and at most", 1),
        },
        "pattern",
    ),
    output_schema=closed_object(
        {
            "matches": _list(
                closed_object(
                    {
                        "path": text("The file, relative to the workspace"),
                        "line": count("The line's number, from 1", 1),
                        "text": text("The line without its end; long ones are cut around the match"),
                        "before": _list({"type": "string"}),
                        "after": _list({"type": "string"}),
                    },
                    "path",
                    "line",
                    "text",
                )
            ),
            "files": count("How many files were searched"),
            "truncated": _TRUNCATED,
            "note": _NOTE,
        },
        "matches",
        "files",
        "truncated",
    ),
)

_FIND: Final = ActionSpec(
    name="find",
    description=(
        "Find files and folders by a glob pattern. A pattern without a slash matches names at any depth. "
        "Respects .gitignore and .ignore, skips .git, and does not go through links."
    ),
    risk=Risk.READ,
    input_schema=closed_object(
        {
            "pattern": text("A glob pattern, e.g. '*.ts', '**/*.json', 'src/**/*.spec.{js,ts}'"),
            "path": _FOLDER,
            "limit": count("How many paths at most; 10000 by default and at most", 1),
        },
        "pattern",
    ),
    output_schema=closed_object(
        {
            "paths": _list(text("A path relative to the workspace; folders end with a slash")),
            "truncated": _TRUNCATED,
            "note": _NOTE,
        },
        "paths",
        "truncated",
    ),
)

_LS: Final = ActionSpec(
    name="ls",
    description="List a folder, hidden entries included, sorted by name.",
    risk=Risk.READ,
    input_schema=closed_object(
        {
            "path": _FOLDER,
            "limit": count("How many entries at most; 10000 by default and at most", 1),
        }
    ),
    output_schema=closed_object(
        {
            "path": text("The folder, relative to the workspace"),
            "entries": _list(
                closed_object(
                    {
                        "name": text("The entry's name; folders end with a slash"),
                        "type": {"type": "string", "enum": ["file", "directory", "link", "other"]},
                        "bytes": count("The size of a file"),
                        "target": text("Where a link points"),
                    },
                    "name",
                    "type",
                )
            ),
            "truncated": _TRUNCATED,
            "note": _NOTE,
        },
        "path",
        "entries",
        "truncated",
    ),
)

_EDIT: Final = ActionSpec(
    name="edit",
    description=(
        "Replace exact text in a file. Give oldText and newText, or several pairs in edits. Each oldText "
        "must occur exactly once in the file as it is now, and no two may overlap. All are done or none. "
        "Every other byte, the line ends and the mode stay as they are."
    ),
    risk=Risk.WRITE,
    effect="Changes text in one file.",
    input_schema=closed_object(
        {
            "path": _PATH,
            "oldText": _OLD,
            "newText": _NEW,
            "edits": {
                "type": "array",
                "minItems": 1,
                "items": closed_object({"oldText": _OLD, "newText": _NEW}, "oldText", "newText"),
                "description": "Several replacements in one file",
            },
        },
        "path",
        minProperties=2,
        dependentRequired={"oldText": ["newText"], "newText": ["oldText"]},
    ),
    output_schema=_changed(
        path=text("The file, relative to the workspace, links resolved"),
        replacements=count("How many pieces of text were replaced"),
        firstChangedLine=count("The first line that changed, from 1", 1),
        diff=text("What changed, as a unified diff; cut when long"),
    ),
)

_WRITE: Final = ActionSpec(
    name="write",
    description=(
        "Write a whole file. Missing folders are made. An existing file is replaced in one step and keeps "
        "its mode."
    ),
    risk=Risk.WRITE,
    effect="Creates or replaces one file.",
    input_schema=closed_object({"path": _PATH, "content": text("The whole content")}, "path", "content"),
    output_schema=_changed(
        path=text("The file, relative to the workspace, links resolved"),
        bytes=count("The size of the new content"),
        created=flag("True when there was no such file before; left out otherwise"),
    ),
)

_BASH: Final = ActionSpec(
    name="bash",
    description=(
        "Run a shell command in the workspace. Standard output and error come back together; of long output "
        "both ends. Background processes are ended with the command. A command that fails, or runs out of "
        "time, is an error, unless settle is true."
    ),
    risk=Risk.EXECUTE,
    effect="Runs a program with the rights of the user; it can do all that the user can.",
    input_schema=closed_object(
        {
            "command": text("The command, for bash, or sh where there is no bash"),
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "Seconds after which the command is killed; none by default",
            },
            "settle": flag("Return a failed command as ok: false instead of raising"),
        },
        "command",
    ),
    output_schema=_changed(
        exitCode={"type": ["integer", "null"], "description": "Null when the command ran out of time"},
        signal=text("The signal that ended the shell itself"),
        timedOut=flag("True when the command ran out of time; left out otherwise"),
        omittedBytes=count("How much output was left out of the middle"),
    ),
)

SPECS: Final = (_READ, _GREP, _FIND, _LS, _EDIT, _WRITE, _BASH)
"""Every action, in the order in which it is listed."""
