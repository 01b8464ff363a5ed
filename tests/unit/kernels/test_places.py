"""Places come out as lines and columns of the program's own text."""

from __future__ import annotations

import pytest
from pydantic_monty import SourceRange

from toolfabric.kernels.places import Places

CODE = "first\né𝄞 = x\nlast"


def at(part: str, *, file: str = "<python-input-1>") -> SourceRange:
    start = CODE.encode().index(part.encode())
    return SourceRange(filename=file, start=start, end=start + 1)


@pytest.mark.parametrize(("part", "place"), [("first", (1, 1)), ("x", (2, 6)), ("last", (3, 1))])
def test_a_byte_offset_becomes_a_line_and_a_column_in_characters(part: str, place: tuple[int, int]) -> None:
    places = Places(CODE, 1)
    places.at(at(part))
    assert places.last() == place
    assert places.place(places.mark) == place


def test_places_in_other_texts_are_not_the_programs() -> None:
    places = Places(CODE, 1)
    assert places.last() == (None, None)
    places.at(at("last"))
    places.at(at("x", file="<string>"))
    places.at(at("x", file="<python-input-0>"))
    assert places.last() == (3, 1)


def test_no_frames_have_no_place() -> None:
    assert Places(CODE, 0).innermost([]) == (None, None)
    assert Places(CODE, 0).parsed([]) == (None, None)
