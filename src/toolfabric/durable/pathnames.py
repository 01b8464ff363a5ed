"""Paths and names that somebody else wrote, as text: what they say, and how to show them.

Pure: the file system is not looked at. ``confine`` walks what is parsed here.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn
from urllib.parse import unquote

from toolfabric.errors import PathError

__all__ = ["DEPTH", "ParsedPath", "folded", "is_reserved", "parse_path", "refuse_path", "shown"]

PATH_BYTES: Final = 4_096
PART_BYTES: Final = 255
DEPTH: Final = 256

_RESERVED: Final = frozenset({".git", ".pi"})
_SHORT_NAME: Final = re.compile(r"^(?:git|pi)~[0-9]+$")
_URL: Final = re.compile(
    r"^(?:(?:[a-z][a-z0-9+.-]*:)+[/\\]|(?:file|https?|ftp|data|javascript):)", re.IGNORECASE
)
_EXPANSION: Final = re.compile(r"^(?:~[\w.-]*|\$\{?[A-Z_][A-Z0-9_]*\}?|%[A-Z_]+%)(?:[/\\]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPath:
    """A path as text says it: nothing was looked up, and ``..`` parts are still there.

    ``folder`` says that the text can only mean a folder, because it ends with a slash.
    """

    absolute: bool
    parts: tuple[str, ...]
    folder: bool


def shown(text: str, limit: int = 160) -> str:
    """Make foreign text safe to print: one line, no control, format or undecodable character.

    Args:
        text: A file name, a path, or a piece of a command.
        limit: How many characters of the result to keep; the middle is cut.
    """
    if len(text) > 2 * limit:
        text = f"{text[:limit]}…{text[-limit:]}"
    plain = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    if len(plain) <= limit:
        return plain
    half = (limit - 1) // 2
    return f"{plain[:half]}…{plain[-half:]}"


def parse_path(text: str) -> ParsedPath:
    """Read a path, or refuse it for what it is; the file system is not looked at.

    Refused are: empty or overlong text, NUL, URLs and drive letters, ``~`` and variables (nothing is
    expanded here), and parts that only pretend not to be ``..``.

    Raises:
        PathError: The message says what was wrong and what to write instead.
    """
    if not text:
        refuse_path(text, "is empty; write '.' for the folder itself")
    if "\0" in text:
        refuse_path(text, "holds a NUL character, which no file name has")
    try:
        size = len(os.fsencode(text))
    except UnicodeEncodeError:
        refuse_path(text, "holds half of a surrogate pair, which no file name has")
    if size > PATH_BYTES:
        refuse_path(text, f"is longer than {PATH_BYTES} bytes")
    _refuse_other_notations(text)
    parts = tuple(part for part in text.split("/") if part not in {"", "."})
    if len(parts) > DEPTH:
        refuse_path(text, f"has more than {DEPTH} parts")
    for part in parts:
        _refuse_part(text, part)
    return ParsedPath(absolute=text.startswith("/"), parts=parts, folder=text.endswith(("/", "/.", "/..")))


def is_reserved(part: str) -> bool:
    """Whether a file name is ``.git`` or ``.pi``, or one that some file system takes for it.

    Both hold what later runs with the user's rights: Git's hooks, and the next session's trusted
    commands. Case, Unicode forms, ignorable characters, trailing dots and spaces, streams and short names
    make no difference, as in Git's own check of tree entries.
    """
    plain = _plain(part).split(":", 1)[0].rstrip(". ").casefold()
    return plain in _RESERVED or _SHORT_NAME.match(plain) is not None


def folded(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The one spelling under which a forgiving file system would find a path."""
    return tuple(unicodedata.normalize("NFC", part).casefold() for part in parts)


def refuse_path(text: str, reason: str) -> NoReturn:
    """Say what is wrong with a path.

    Raises:
        PathError: Always.
    """
    msg = f"the path '{shown(text)}' {reason}"
    raise PathError(msg)


def _refuse_other_notations(text: str) -> None:
    for form in _readings(text):
        if _URL.match(form):
            refuse_path(text, "is a URL or begins with a drive; write a plain path with slashes")
        if form.startswith("\\\\"):
            refuse_path(text, "is a network path; write a plain path with slashes")
    if _EXPANSION.match(text):
        refuse_path(text, "begins with something a shell would expand; write the path itself")


def _refuse_part(text: str, part: str) -> None:
    if len(os.fsencode(part)) > PART_BYTES:
        refuse_path(text, f"has a part longer than {PART_BYTES} bytes")
    if part == "..":
        return
    for form in _readings(part):
        if any(_plain(piece).strip() == ".." for piece in re.split(r"[/\\]", _plain(form))):
            refuse_path(text, "holds '..' in disguise; write a plain path")


def _readings(text: str) -> Iterator[str]:
    """The text, and what it says when percent signs are decoded once and twice."""
    yield text
    if "%" in text:
        once = unquote(text)
        yield once
        yield unquote(once)


def _plain(text: str) -> str:
    """The text as a forgiving file system may take it: compatibility forms, nothing ignorable."""
    if text.isascii():
        return text
    return "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
