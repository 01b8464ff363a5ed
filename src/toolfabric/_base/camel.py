"""The base of every record that is kept or sent: snake_case here, camelCase outside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Self, cast

import msgspec

from toolfabric.errors import RecordError

if TYPE_CHECKING:
    from toolfabric.values import Json, JsonObject

__all__ = ["Record"]

_INVALID_WORD: Final = re.compile(r"Invalid enum value .*?(?= - at |$)", re.DOTALL)


class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A frozen record with an exact JSON form; decoding what was encoded gives an equal record.

    An optional field is typed ``T | UnsetType = UNSET``: it is then left out of the JSON, and
    ``null`` in its place is refused. Indexing by wire name reads the JSON form, so that a record
    can stand wherever a plain dictionary of the same shape does.
    """

    def to_json(self) -> JsonObject:
        """A new dictionary of JSON values."""
        form: JsonObject = _with_lists(msgspec.to_builtins(self))
        return form

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a JSON value of this record's form.

        Raises:
            RecordError: A field is missing, unknown or of another type. The message names the
                path and the expectation, never the value.
        """
        try:
            return msgspec.convert(value, cls, strict=True)
        except msgspec.ValidationError as error:
            # msgspec quotes a word that an enumeration has not; the quoted part is the value.
            told = _INVALID_WORD.sub("an unknown word", str(error))
            raise RecordError(f"not a valid {cls.__name__} record: {told}") from error
        except RecursionError as error:
            raise RecordError(f"not a valid {cls.__name__} record: it is nested too deep") from error
        except UnicodeEncodeError as error:
            # The decoder looks names up in UTF-8, which a lone surrogate does not have.
            msg = f"not a valid {cls.__name__} record: a text in it is no Unicode"
            raise RecordError(msg) from error

    def __getitem__(self, name: str) -> Json:
        """Read one field of the JSON form.

        Raises:
            KeyError: The field is not in the JSON form.
        """
        return self.to_json()[name]

    def __contains__(self, name: object) -> bool:
        """Whether the JSON form has that field."""
        return name in self.to_json()

    def get(self, name: str, default: Any = None) -> Any:
        """Read one field of the JSON form, or ``default``."""
        return self.to_json().get(name, default)


def _with_lists(value: Any) -> Any:
    # A frozen record holds tuples, and msgspec leaves them so; JSON has only lists.
    match value:
        case dict():
            return {key: _with_lists(inner) for key, inner in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_with_lists(inner) for inner in cast("list[Any]", value)]
        case _:
            return value
