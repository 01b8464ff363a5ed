"""The ``mesh`` provider: what the hosts of one project share, as actions.

Descriptors and mapping only: what is kept and promised is in ``toolfabric.mesh``. Programs read everything
and write nothing of the host's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import msgspec
from msgspec import UNSET

from toolfabric._base.declare import closed_object, count, flag, text
from toolfabric.errors import InvokeError, StorageError
from toolfabric.mesh.members import MemberScope, Membership
from toolfabric.mesh.program import MAX_WAIT_SECONDS, ProgramMesh
from toolfabric.mesh.records import MAX_NAME_CHARS, Entry, Swap
from toolfabric.mesh.store import MeshStore
from toolfabric.protocols import CallContext
from toolfabric.values import ActionSpec, Json, JsonObject, Risk

__all__ = ["MeshProvider"]

_MAX_WAIT_MS: Final = int(MAX_WAIT_SECONDS * 1_000)


def _name(description: str) -> JsonObject:
    return {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS, "description": description}


def _list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


_TOPIC: Final = _name("Words joined by dots, such as 'build.results'; 'fabric' and below is the host's")
_KEY: Final = _name("Names joined by '/', such as 'plan/step-1'; the host's prefixes can only be read")
_IF_VERSION: Final = count("Only if the key is at this version; 0: only if it is not there. Left out: always")
_SWAPPED: Final = closed_object(
    {
        "ok": flag("Whether it was done"),
        "key": text("The key"),
        "version": count("The new version; if not done, the one that stood in the way, 0 for no such key"),
    },
    "ok",
    "key",
    "version",
)
_EVENT: Final = closed_object(
    {
        "sequence": count("Its number in the topic, from 1", 1),
        "id": text("A name of its own"),
        "time": text("When it was written, by the writer's clock"),
        "topic": text("The topic"),
        "kind": text("What kind of event it is"),
        "from": text("The host that wrote it"),
        "to": text("Whom it is meant for"),
        "text": text("Words"),
        "data": {"description": "Anything else"},
    },
    "sequence",
    "id",
    "time",
    "topic",
    "kind",
    "from",
)
_MEMBER_FIELDS: Final[JsonObject] = {
    "id": text("The host's name on the mesh"),
    "kind": text("What kind of host it is"),
    "machine": text("The computer it runs on"),
    "pid": count("Its process"),
    "cwd": text("Its workspace"),
    "session": text("Its session"),
    "name": text("A name for people"),
    "joinedAt": text("When it joined"),
    "renewedAt": text("When it last renewed its lease"),
    "expiresAt": text("When its lease runs out"),
}
_MEMBER_REQUIRED: Final = ("id", "kind", "machine", "pid", "cwd", "joinedAt", "renewedAt", "expiresAt")

_SPECS: Final = (
    ActionSpec(
        name="self",
        description="Who this host is on the mesh.",
        risk=Risk.READ,
        input_schema=closed_object({}),
        output_schema=closed_object(_MEMBER_FIELDS, *_MEMBER_REQUIRED),
    ),
    ActionSpec(
        name="publish",
        description="Add an event to the end of a topic.",
        risk=Risk.WRITE,
        effect="Adds an event that all hosts of the project can read",
        input_schema=closed_object(
            {
                "topic": _TOPIC,
                "kind": _name("One word for what kind of event it is"),
                "to": _name("One word for whom it is meant; everybody can read it all the same"),
                "text": text("Words for people"),
                "data": {"description": "Any JSON"},
            },
            "topic",
            "kind",
        ),
        output_schema=_EVENT,
    ),
    ActionSpec(
        name="read",
        description=(
            "Read a topic's events after a cursor, oldest first. With waitMs, wait for the first one if "
            "there is none yet."
        ),
        risk=Risk.READ,
        input_schema=closed_object(
            {
                "topic": _TOPIC,
                "cursor": count("The last sequence that was seen: 'cursor' of the last answer. 0 by default"),
                "limit": count("How many events at most", 1),
                "waitMs": {
                    **count("How long to wait for an event, in milliseconds"),
                    "maximum": _MAX_WAIT_MS,
                },
            },
            "topic",
        ),
        output_schema=closed_object(
            {
                "topic": text("The topic"),
                "events": _list(_EVENT),
                "cursor": count("What to read after next"),
                "latest": count("The newest sequence of the topic"),
                "missed": count("How many events after the given cursor are no longer kept"),
            },
            "topic",
            "events",
            "cursor",
            "latest",
            "missed",
        ),
    ),
    ActionSpec(
        name="members",
        description="Which hosts are on the mesh, in the order in which they joined.",
        risk=Risk.READ,
        input_schema=closed_object(
            {
                "scope": {
                    "type": "string",
                    "enum": [str(scope) for scope in MemberScope],
                    "description": "All of the project's mesh, or those of this machine, or of this session",
                },
                "includeStale": flag("Also those whose lease ran out; false by default"),
            }
        ),
        output_schema=closed_object(
            {
                "members": _list(
                    closed_object(
                        {
                            **_MEMBER_FIELDS,
                            "stale": flag("Whether its lease has run out"),
                            "self": flag("Whether it is this host"),
                        },
                        *_MEMBER_REQUIRED,
                        "stale",
                        "self",
                    )
                )
            },
            "members",
        ),
    ),
    ActionSpec(
        name="get",
        description="Read the value of a key and its version.",
        risk=Risk.READ,
        input_schema=closed_object({"key": _KEY}, "key"),
        output_schema=closed_object(
            {
                "found": flag("Whether the key is there"),
                "key": text("The key"),
                "version": count("Its version; 0 when it is not there"),
                "value": {"description": "Its value"},
                "updatedAt": text("When it was last changed"),
            },
            "found",
            "key",
            "version",
        ),
    ),
    ActionSpec(
        name="put",
        description="Set the value of a key, always or only if it is at a version.",
        risk=Risk.WRITE,
        effect="Changes a value that all hosts of the project share",
        input_schema=closed_object(
            {"key": _KEY, "value": {"description": "Any JSON"}, "ifVersion": _IF_VERSION}, "key", "value"
        ),
        output_schema=_SWAPPED,
    ),
    ActionSpec(
        name="delete",
        description="Remove a key, always or only if it is at a version. The key remembers its version.",
        risk=Risk.WRITE,
        effect="Removes a value that all hosts of the project share",
        input_schema=closed_object({"key": _KEY, "ifVersion": _IF_VERSION}, "key"),
        output_schema=_SWAPPED,
    ),
    ActionSpec(
        name="list",
        description="List keys in order, by how they begin.",
        risk=Risk.READ,
        input_schema=closed_object(
            {
                "prefix": text("How the keys begin, such as 'plan/'; all keys by default"),
                "cursor": text("Go on after this key: 'cursor' of the last answer"),
                "limit": count("How many keys at most", 1),
                "values": flag("Also the values; false by default"),
            }
        ),
        output_schema=closed_object(
            {
                "entries": _list(
                    closed_object(
                        {
                            "key": text("The key"),
                            "version": count("Its version", 1),
                            "updatedAt": text("When it was last changed"),
                            "value": {"description": "Its value, if asked for"},
                        },
                        "key",
                        "version",
                        "updatedAt",
                    )
                ),
                "cursor": text("What to go on after; left out when this was all"),
            },
            "entries",
        ),
    ),
)
_BY_NAME: Final = {spec.name: spec for spec in _SPECS}


class MeshProvider:
    """``self publish read members get put delete list``.

    Args:
        store: The mesh. It belongs to the host, which closes it.
        membership: This host on the mesh; its id stands as ``from`` in what programs publish.
    """

    def __init__(self, store: MeshStore, membership: Membership) -> None:
        self._mesh = ProgramMesh(store, sender=membership.identity.id)
        self._membership = membership

    @property
    def name(self) -> str:
        """The first part of every ref."""
        return "mesh"

    @property
    def description(self) -> str:
        """For a reader who looks for a tool."""
        return "Share events and versioned values with the other hosts and agents that work on this project."

    def list(self) -> Sequence[ActionSpec]:
        """All eight actions."""
        return _SPECS

    def describe(self, name: str) -> ActionSpec | None:
        """One action by its name."""
        return _BY_NAME.get(name)

    def preview(self, name: str, args: JsonObject) -> str | None:
        """What a change would do."""
        match name:
            case "publish":
                rest = {key: value for key, value in args.items() if key not in {"topic", "kind"}}
                return f"Publish {args['kind']!r} on topic {args['topic']!r}:\n{_spelled(rest)}"
            case "put":
                return f"Set key {args['key']!r}{_condition(args)} to:\n{_spelled(args['value'])}"
            case "delete":
                return f"Remove key {args['key']!r}{_condition(args)}"
            case _:
                return None

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Run one action.

        Raises:
            InvokeError: A name is malformed or the host's, something is too large, or the mesh failed.
        """
        del context
        try:
            return await self._run(name, args)
        except (ValueError, StorageError) as error:
            raise InvokeError(str(error)) from error

    async def _run(self, name: str, args: JsonObject) -> Json:
        match name:
            case "self" | "members":
                return self._membership.record.to_json() if name == "self" else await self._members(args)
            case "publish":
                return await self._publish(args)
            case "read":
                return await self._read(args)
            case "get":
                return _found(_string(args, "key"), await self._mesh.get(_string(args, "key")))
            case "list":
                return await self._list(args)
            case _:
                return await self._change(name, args)

    async def _publish(self, args: JsonObject) -> Json:
        event = await self._mesh.publish(
            _string(args, "topic"),
            _string(args, "kind"),
            to=cast("str | None", args.get("to")),
            text=cast("str | None", args.get("text")),
            data=args.get("data", UNSET),
        )
        return event.to_json()

    async def _read(self, args: JsonObject) -> Json:
        page = await self._mesh.read(
            _string(args, "topic"),
            cursor=int(cast("int", args.get("cursor", 0))),
            limit=_optional_int(args, "limit"),
            wait_seconds=(_optional_int(args, "waitMs") or 0) / 1_000,
        )
        return page.to_json()

    async def _members(self, args: JsonObject) -> Json:
        found = await self._membership.members(
            MemberScope(_string(args, "scope", MemberScope.MESH)),
            include_stale=args.get("includeStale") is True,
        )
        members: list[Json] = [{**one.member.to_json(), "stale": one.stale, "self": one.me} for one in found]
        return {"members": members}

    async def _list(self, args: JsonObject) -> Json:
        listing = await self._mesh.list(
            _string(args, "prefix", ""),
            cursor=_string(args, "cursor", ""),
            limit=_optional_int(args, "limit"),
        )
        entries: list[Json] = [
            entry.to_json() if args.get("values") is True else _without_value(entry)
            for entry in listing.entries
        ]
        answer: JsonObject = {"entries": entries}
        if listing.cursor is not UNSET:
            answer["cursor"] = listing.cursor
        return answer

    async def _change(self, name: str, args: JsonObject) -> Json:
        if_version = _optional_int(args, "ifVersion")
        match name:
            case "put":
                swap = await self._mesh.put(_string(args, "key"), args["value"], if_version=if_version)
            case "delete":
                swap = await self._mesh.delete(_string(args, "key"), if_version=if_version)
            case _:
                msg = f"mesh has no action {name!r}"
                raise InvokeError(msg)
        return _swapped(swap)


def _string(args: JsonObject, name: str, default: str | None = None) -> str:
    return str(args[name] if default is None else args.get(name, default))


def _optional_int(args: JsonObject, name: str) -> int | None:
    # A whole number may come as 2.0: JSON Schema takes it for an integer.
    value = args.get(name)
    return None if value is None else int(cast("float", value))


def _found(key: str, entry: Entry | None) -> Json:
    if entry is None:
        return {"found": False, "key": key, "version": 0}
    return {"found": True, **entry.to_json()}


def _without_value(entry: Entry) -> Json:
    return {"key": entry.key, "version": entry.version, "updatedAt": entry.updated_at}


def _swapped(swap: Swap) -> Json:
    return {"ok": swap.done, "key": swap.key, "version": swap.version}


def _condition(args: JsonObject) -> str:
    version = _optional_int(args, "ifVersion")
    if version is None:
        return ""
    return " if it is not there" if version == 0 else f" if it is at version {version}"


def _spelled(value: Json) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
