"""``pi.find`` and ``pi.ls``: what is there, by pattern and by folder."""

from __future__ import annotations

import contextlib
import os
from typing import Final

from toolfabric.providers.pi.arguments import integer_argument, text_argument
from toolfabric.providers.pi.patterns import Globs
from toolfabric.providers.pi.walk import Walker, entry_type, sorted_entries
from toolfabric.providers.pi.workspace import PiLimits, Stopped, Workspace, json_name
from toolfabric.values import Json, JsonObject

__all__ = ["find_action", "list_action"]

_UNDECODABLE: Final = "names that are not UTF-8 are shown with \\x escapes; use pi.bash for them"


def find_action(workspace: Workspace, args: JsonObject, stopped: Stopped) -> Json:
    """Find paths by a glob pattern.

    Raises:
        PathError: The folder's path may not be used.
        InvokeError: The pattern is not valid, or the call was cancelled.
        OSError: The folder is missing or cannot be listed.
    """
    globs = Globs([text_argument(args, "pattern")])
    most = workspace.limits.found_paths
    limit = min(integer_argument(args, "limit", most), most)
    walker = Walker(workspace=workspace, stopped=stopped)
    paths: list[Json] = []
    more = False
    with workspace.confined.place(text_argument(args, "path", ".")) as place:
        folder = place.open_folder()
        try:
            for entry in walker.walk(folder, place.parts):
                is_folder = entry.type == "directory"
                if not globs.accepts(json_name(entry.path), folder=is_folder):
                    continue
                if len(paths) == limit:
                    more = True
                    break
                parts = (*place.parts, *entry.path.split("/"))
                paths.append(workspace.name_of(parts) + ("/" if is_folder else ""))
        finally:
            os.close(folder)
    answer: JsonObject = {"paths": paths, "truncated": more or walker.full}
    notes = walker.notes() + ([f"there are more than {limit}"] if more else [])
    return {**answer, "note": "; ".join(notes)} if notes else answer


def list_action(workspace: Workspace, args: JsonObject, stopped: Stopped) -> Json:
    """List one folder.

    Raises:
        PathError: The path may not be used, or is no folder.
        OSError: The folder is missing or cannot be listed.
    """
    del stopped  # one folder is listed at once
    most = workspace.limits.listed_entries
    limit = min(integer_argument(args, "limit", most), most)
    with workspace.confined.place(text_argument(args, "path", ".")) as place:
        folder = place.open_folder()
        try:
            found = sorted_entries(folder, workspace.limits)
            entries: list[Json] = [_described(folder, entry) for entry in found[:limit]]
        finally:
            os.close(folder)
        answer: JsonObject = {"path": workspace.name_of(place.parts), "entries": entries}
    answer["truncated"] = len(found) > limit
    notes = _notes(found, limit, workspace.limits)
    return {**answer, "note": "; ".join(notes)} if notes else answer


def _described(folder: int, entry: os.DirEntry[str]) -> JsonObject:
    kind = entry_type(entry)
    described: JsonObject = {
        "name": json_name(entry.name) + ("/" if kind == "directory" else ""),
        "type": kind,
    }
    with contextlib.suppress(OSError):  # it went away meanwhile: its name was there
        if kind == "file":
            described["bytes"] = entry.stat(follow_symlinks=False).st_size
        elif kind == "link":
            described["target"] = json_name(os.readlink(entry.name, dir_fd=folder))
    return described


def _notes(found: list[os.DirEntry[str]], limit: int, limits: PiLimits) -> list[str]:
    notes: list[str] = []
    if len(found) > limit:
        total = "more" if len(found) > limits.walked_entries else str(len(found))
        notes.append(f"{limit} of {total} entries")
    if any(json_name(entry.name) != entry.name for entry in found[:limit]):
        notes.append(_UNDECODABLE)
    return notes
