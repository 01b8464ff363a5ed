from __future__ import annotations

from pathlib import Path

from toolfabric.config.records import Source, SourceKind
from toolfabric.config.rules import integer, text
from toolfabric.config.sections import DEFAULT, Layer, Report, Section
from toolfabric.values import Json, JsonObject

WEAK = Source(kind=SourceKind.GLOBAL, path=Path("/weak"))
STRONG = Source(kind=SourceKind.PROJECT, path=Path("/strong"))
NUMBER = integer(1, 9)
NAMES = "letters, digits, '-' and '_', at most 64, beginning with a letter or digit"


def top(*contents: JsonObject) -> tuple[Section, Report]:
    report = Report()
    sources = (WEAK, STRONG)
    layers = [
        Layer(source=source, content=content) for source, content in zip(sources, contents, strict=False)
    ]
    return Section(report, "", layers), report


def said(report: Report) -> tuple[list[str], list[str]]:
    problems = [f"{one.source.path}: {one.path} {one.message}" for one in report.problems]
    warnings = [f"{one.source.path}: {one.path} {one.message}" for one in report.warnings]
    return problems, warnings


def leaves(report: Report) -> list[tuple[str, Json, Source]]:
    return [(leaf.path, leaf.value, leaf.source) for leaf in report.leaves]


def number_in(item: Section) -> int:
    return item.required("n", 0, NUMBER)


def shown(value: int) -> Json:
    return {"n": value}


def test_the_strongest_layer_wins_and_the_leaf_says_so() -> None:
    section, report = top({"a": 1, "b": 2}, {"b": 3})
    assert [section.setting(key, 9, NUMBER) for key in "abc"] == [1, 3, 9]
    assert leaves(report) == [("a", 1, WEAK), ("b", 3, STRONG), ("c", 9, DEFAULT)]
    assert said(report) == ([], [])
    assert {leaf.allowed for leaf in report.leaves} == {"an integer from 1 to 9"}


def test_a_hidden_value_is_judged_too() -> None:
    section, report = top({"a": "x"}, {"a": 2})
    assert section.setting("a", 9, NUMBER) == 2
    assert said(report) == (["/weak: a is a string; allowed: an integer from 1 to 9"], [])


def test_in_a_lenient_section_an_unfit_value_is_ignored_with_a_remark() -> None:
    section, report = top({"s": {"a": 5}}, {"s": {"a": "x", "b": None}})
    inner = section.section("s", lenient=True)
    assert inner.setting("a", 9, NUMBER) == 5
    assert inner.setting("b", 9, NUMBER) == 9
    assert said(report) == (
        [],
        [
            "/strong: s.a is a string; allowed: an integer from 1 to 9; it is ignored",
            "/strong: s.b is null; allowed: an integer from 1 to 9; it is ignored",
        ],
    )


def test_a_section_that_is_no_object_is_reported_and_the_other_layer_still_counts() -> None:
    section, report = top({"s": {"a": 5}}, {"s": [1]})
    assert section.section("s").setting("a", 9, NUMBER) == 5
    assert said(report)[0] == ["/strong: s is an array; allowed: an object"]
    section, report = top({"s": 1})
    assert section.section("s", lenient=True).setting("a", 9, NUMBER) == 9
    assert said(report) == ([], ["/weak: s is a number; allowed: an object; it is ignored"])


def test_unknown_keys_are_remarked_on_with_the_nearest_known_one() -> None:
    section, report = top({"alpha": 1, "alhpa": 1, "zzz": 1, "$schema": 1, "\x1b": 1})
    section.setting("alpha", 9, NUMBER)
    section.close("$schema")
    assert said(report)[1] == [
        "/weak: alhpa is not a known key and has no effect; did you mean 'alpha'?",
        "/weak: zzz is not a known key and has no effect; known are alpha",
        '/weak: "\\u001b" is not a known key and has no effect; known are alpha',
    ]


def test_entries_of_both_layers_are_joined_by_name_and_replaced_whole() -> None:
    section, report = top({"e": {"a": {"n": 1}, "b": {"n": 2}}}, {"e": {"b": {"n": 3}, "c": {"n": 4}}})
    assert section.named("e", number_in, show=shown, each="number") == {"a": 1, "b": 3, "c": 4}
    assert leaves(report) == [
        ("e.a", {"n": 1}, WEAK),
        ("e.b", {"n": 3}, STRONG),
        ("e.c", {"n": 4}, STRONG),
    ]


def test_no_entries_are_one_empty_leaf() -> None:
    section, report = top({"e": {}})
    assert section.named("e", number_in, show=shown, each="number") == {}
    assert leaves(report) == [("e", {}, DEFAULT)]
    assert report.leaves[0].allowed == "an object whose values are number objects"


def test_an_unfit_entry_is_a_problem_with_its_path() -> None:
    section, report = top({"e": {"a": {"n": 0}, "b": 5, "c d": {"n": 1}, "f": {}, "g": {"n": 1, "m": 1}}})
    assert section.named("e", number_in, show=shown, each="number") == {"g": 1}
    assert said(report) == (
        [
            "/weak: e.a.n is a number out of range; allowed: an integer from 1 to 9",
            "/weak: e.b is a number; allowed: an object",
            f'/weak: e."c d" has an unfit name; allowed: {NAMES}',
            "/weak: e.f has no 'n'; allowed: 'n' as an integer from 1 to 9",
        ],
        ["/weak: e.g.m is not a known key and has no effect; known are n"],
    )


def test_in_a_lenient_section_an_unfit_entry_goes_and_takes_the_weaker_one_with_it() -> None:
    section, report = top(
        {"s": {"e": {"a": {"n": 1}, "b": {"n": 2}}}}, {"s": {"e": {"a": {"n": "x"}, "b": 1}}}
    )
    inner = section.section("s", lenient=True)
    assert inner.named("e", number_in, show=shown, each="number") == {}
    assert said(report) == (
        [],
        [
            "/strong: s.e.a.n is a string; allowed: an integer from 1 to 9",
            "/strong: s.e.a is left out because of that",
            "/strong: s.e.b is a number; allowed: an object; it is ignored",
        ],
    )


def test_collections_of_another_type_or_size_are_reported() -> None:
    section, report = top({"e": [], "r": {}, "many": {f"k{n}": {"n": 1} for n in range(1_001)}})
    assert section.named("e", number_in, show=shown, each="number") == {}
    assert section.rows("r", number_in, show=shown, each="number") == ()
    assert section.named("many", number_in, show=shown, each="number") == {}
    assert said(report)[0] == [
        "/weak: e is an array; allowed: an object whose values are number objects",
        "/weak: r is an object; allowed: an array of number objects",
        "/weak: many is too long; allowed: at most 1000 entries",
    ]


def test_rows_come_from_the_strongest_layer_alone() -> None:
    section, report = top({"r": [{"n": 1}, {"n": 2}]}, {"r": [{"n": 3}, {"n": 0}, 7]})
    assert section.rows("r", number_in, show=shown, each="number") == (3,)
    assert leaves(report) == [("r", [{"n": 3}], STRONG)]
    assert [one.path for one in report.problems] == ["r[1].n", "r[2]"]


def test_an_open_entry_keeps_all_its_keys() -> None:
    def whole(item: Section) -> JsonObject:
        item.accept_all()
        return item.content()

    section, report = top({"e": {"a": {"x": 1, "y": [2]}}})
    assert section.named("e", whole, show=lambda one: one, each="open") == {"a": {"x": 1, "y": [2]}}
    assert said(report) == ([], [])
    assert Section(Report(), "", []).content() == {}


def test_reports_are_bounded() -> None:
    section, report = top({f"k{n}": 1 for n in range(500)})
    for number in range(300):
        section.setting(f"k{number}", "", text())
    section.close()
    assert len(report.problems) == len(report.warnings) == 100
