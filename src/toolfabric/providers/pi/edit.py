"""``pi.edit`` and ``pi.write``: change exact bytes, and put a whole file in place.

Editing works on bytes: the texts are encoded as UTF-8 and looked for in the file as it is, so bytes that are
not UTF-8, a byte order mark, a missing last line end and the mode all survive. One thing is forgiven,
because models cannot see it: in a file whose every line ends with CRLF, texts that hold no CR mean CRLF
where they say LF.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Final

from toolfabric.durable.confine import Place
from toolfabric.durable.pathnames import shown
from toolfabric.errors import InvokeError
from toolfabric.providers.pi.arguments import text_argument
from toolfabric.providers.pi.diffs import first_difference, short_diff
from toolfabric.providers.pi.workspace import Workspace
from toolfabric.values import Json, JsonObject

__all__ = ["edit_action", "edited", "read_whole", "write_action"]

_DIFF_CHARS: Final = 8_000
_NAMED_LINES: Final = 5
_COUNTED: Final = 1_000
_COMPARED_LINES: Final = 1_000
_COMPARED_CHARS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """One replacement, as bytes. ``label`` names it in messages."""

    label: str
    old: bytes
    new: bytes


def edit_action(workspace: Workspace, args: JsonObject) -> Json:
    """Replace exact text in a file, all of it or none.

    Raises:
        PathError: The path may not be used, or is protected.
        InvokeError: A text does not occur exactly once, or the file was changed meanwhile.
        StorageError: The file could not be replaced; it is as it was.
        OSError: The file is missing or may not be changed.
    """
    with workspace.changes, workspace.confined.place(text_argument(args, "path"), writable=True) as place:
        name = workspace.name_of(place.parts)
        old, found = read_whole(place, workspace.limits.changed_bytes)
        new, count = edited(old, args, name)
        _require_room(len(new), workspace)
        _require_writable(place)
        place.replace(
            new,
            files=workspace.files,
            mode=stat.S_IMODE(found.st_mode),
            check=lambda: _require_unchanged(place, found),
        )
    details: JsonObject = {
        "path": name,
        "replacements": count,
        "firstChangedLine": first_difference(old, new),
        "diff": short_diff(old, new, shown(name), limit=_DIFF_CHARS),
    }
    pieces = "1 piece" if count == 1 else f"{count} pieces"
    return {"ok": True, "output": f"Replaced {pieces} of text in {shown(name)}.", "details": details}


def write_action(workspace: Workspace, args: JsonObject) -> Json:
    """Write a whole file, making the folders that are missing.

    Raises:
        PathError: The path may not be used, or is protected.
        StorageError: The file could not be written; what was there is as it was.
        OSError: A folder on the way cannot be entered, or the file may not be changed.
    """
    content = _encoded(text_argument(args, "content"), "content")
    _require_room(len(content), workspace)
    path = text_argument(args, "path")
    with (
        workspace.changes,
        workspace.confined.place(path, writable=True, make=workspace.files) as place,
    ):
        found = place.stat()
        if found is not None:
            _require_writable(place)
        mode = None if found is None else stat.S_IMODE(found.st_mode)
        place.replace(content, files=workspace.files, mode=mode)
        name = workspace.name_of(place.parts)
    details: JsonObject = {"path": name, "bytes": len(content)}
    if found is None:
        details["created"] = True
    verb = "Created" if found is None else "Replaced"
    return {"ok": True, "output": f"{verb} {shown(name)} ({len(content)} bytes).", "details": details}


def read_whole(place: Place, limit: int) -> tuple[bytes, os.stat_result]:
    """All bytes of a file that is to be changed, with what it was when it was opened.

    Raises:
        PathError: It is no regular file.
        InvokeError: It is larger than the limit.
        OSError: It cannot be read.
    """
    with os.fdopen(place.open_file(), "rb") as file:
        found = os.fstat(file.fileno())
        data = file.read(limit + 1)
    if len(data) > limit:
        msg = f"{shown(place.path)} is larger than {limit} bytes; change it with pi.bash"
        raise InvokeError(msg)
    return data, found


def edited(data: bytes, args: JsonObject, name: str) -> tuple[bytes, int]:
    """The content after all edits, and how many there were. Nothing is written.

    Raises:
        InvokeError: A text does not occur exactly once, two overlap, or nothing would change.
    """
    edits = [_as_in_file(edit, data) for edit in _edits(args)]
    spans = _spans(data, edits, name)
    pieces: list[bytes] = []
    end = 0
    for at, edit in spans:
        pieces += [data[end:at], edit.new]
        end = at + len(edit.old)
    changed = b"".join([*pieces, data[end:]])
    if changed == data:
        msg = f"nothing would change in {shown(name)}: newText equals oldText"
        raise InvokeError(msg)
    return changed, len(edits)


def _spans(data: bytes, edits: list[_Edit], name: str) -> list[tuple[int, _Edit]]:
    spans = sorted(((_only_place(data, edit, name), edit) for edit in edits), key=lambda one: one[0])
    for (at, edit), (next_at, next_edit) in pairwise(spans):
        if at + len(edit.old) > next_at:
            msg = f"{edit.label} and {next_edit.label} overlap in {shown(name)}; make them one edit"
            raise InvokeError(msg)
    return spans


def _edits(args: JsonObject) -> list[_Edit]:
    pairs = args.get("edits")
    if not isinstance(pairs, list):
        return [_edit(args, "")]
    if "oldText" in args:
        pairs = [*pairs, {"oldText": args["oldText"], "newText": args["newText"]}]
    return [_edit(pair, f"edits[{at}].") for at, pair in enumerate(pairs) if isinstance(pair, dict)]


def _edit(pair: JsonObject, where: str) -> _Edit:
    old = _encoded(text_argument(pair, "oldText"), f"{where}oldText")
    if not old:
        msg = f"{where}oldText is empty; to write a whole file use pi.write"
        raise InvokeError(msg)
    return _Edit(
        label=f"{where}oldText", old=old, new=_encoded(text_argument(pair, "newText"), f"{where}newText")
    )


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        msg = f"{name} holds half of a surrogate pair at character {error.start}, which no file can hold"
        raise InvokeError(msg) from error


def _as_in_file(edit: _Edit, data: bytes) -> _Edit:
    """Say CRLF where an edit says LF, if the file knows nothing else and the edit no CR."""
    if b"\r" in edit.old or b"\r" in edit.new or b"\n" not in edit.old + edit.new:
        return edit
    ends = data.count(b"\r\n")
    if not ends or ends != data.count(b"\n"):
        return edit
    return _Edit(label=edit.label, old=edit.old.replace(b"\n", b"\r\n"), new=edit.new.replace(b"\n", b"\r\n"))


def _only_place(data: bytes, edit: _Edit, name: str) -> int:
    """Where the old text is.

    Raises:
        InvokeError: It is nowhere, or in several places, also where these overlap.
    """
    places: list[int] = []
    at = data.find(edit.old)
    while at >= 0 and len(places) < _COUNTED:
        places.append(at)
        at = data.find(edit.old, at + 1)
    if len(places) == 1:
        return places[0]
    if not places:
        msg = f"{edit.label} does not occur in {shown(name)} (0 times){_nearest(data, edit.old)}"
        raise InvokeError(msg)
    lines = [str(data.count(b"\n", 0, one) + 1) for one in places[:_NAMED_LINES]]
    count = f"{len(places)}" if at < 0 else f"more than {_COUNTED}"
    more = ", …" if len(places) > _NAMED_LINES else ""
    msg = (
        f"{edit.label} occurs {count} times in {shown(name)}, at lines {', '.join(lines)}{more}; "
        "it must occur once: add lines around it"
    )
    raise InvokeError(msg)


def _nearest(data: bytes, old: bytes) -> str:
    """What in the file comes nearest to the first line of a text that is not there."""
    wanted = next((line.strip() for line in old.decode().splitlines() if line.strip()), "")
    if not wanted:
        return "; read the file again"
    lines = data.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip() == wanted:
            return f"; line {number} begins it, but white space or what follows differs; read it again"
    stripped = [line.strip()[:_COMPARED_CHARS] for line in lines[:_COMPARED_LINES]]
    near = get_close_matches(wanted[:_COMPARED_CHARS], stripped, n=1)
    if not near:
        return "; read the file again"
    return f"; the nearest is line {stripped.index(near[0]) + 1}: '{shown(near[0])}'"


def _require_room(size: int, workspace: Workspace) -> None:
    if size > workspace.limits.changed_bytes:
        msg = f"the content has {size} bytes; at most {workspace.limits.changed_bytes} are written at once"
        raise InvokeError(msg)


def _require_writable(place: Place) -> None:
    """Renaming over a file needs no right to write to it; whoever took that right away meant something.

    Raises:
        PermissionError: The file is read-only.
    """
    effective = os.access in os.supports_effective_ids
    if not os.access(place.name, os.W_OK, dir_fd=place.folder, effective_ids=effective):
        raise PermissionError(errno.EACCES, "the file is read-only")


def _require_unchanged(place: Place, found: os.stat_result) -> None:
    now = place.stat()
    if now is None or _version(now) != _version(found):
        msg = f"{shown(place.path)} was changed by somebody else meanwhile; read it again"
        raise InvokeError(msg)


def _version(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
