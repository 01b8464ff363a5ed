from __future__ import annotations

from pathlib import Path

import pytest

from toolfabric.config.document import MAX_BYTES, Document, parse_document
from toolfabric.config.records import Source, SourceKind

SOURCE = Source(kind=SourceKind.GLOBAL, path=Path("/a/fabric.json"))


def problem_of(data: bytes) -> str:
    document = parse_document(data, SOURCE)
    assert document.content == {}
    (problem,) = document.problems
    assert problem.source == SOURCE
    return problem.message


def test_an_object_is_read_as_plain_values() -> None:
    data = b'{"a": {"b": [1, 2.5, true, null, "\\u00e9", {"c": {}}]}}'
    document = parse_document(data, SOURCE)
    assert document == Document(content={"a": {"b": [1, 2.5, True, None, "é", {"c": {}}]}})
    assert type(document.content["a"]) is dict


def test_a_byte_order_mark_and_any_white_space_are_taken() -> None:
    assert parse_document(b"\xef\xbb\xbf \r\n{}\n\n", SOURCE) == Document(content={})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1, column 1: not JSON: expecting value"),
        (b'{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: not JSON: expecting ',' delimiter"),
        (b'{"a": 1} x', "line 1, column 10: not JSON: extra data"),
        (b"// no comments\n{}", "line 1, column 1: not JSON: expecting value"),
        (b'{"a": "\x01"}', "line 1, column 8: not JSON: invalid control character at"),
        (b"\xff\xfe", "is not UTF-8: byte 0 is wrong"),
        (b"[]", "is an array; allowed: one JSON object"),
        (b"null", "is null; allowed: one JSON object"),
        (b'{"a": NaN}', "has NaN in it, which is not JSON"),
        (b'{"a": [-Infinity]}', "has -Infinity in it, which is not JSON"),
        (b'{"a": 1e999}', "has a number in it that is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "has a number in it that is too large"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "is nested more than 64 levels deep"),
        (b'{"a":' + b"[" * 70 + b"]" * 70 + b"}", "is nested more than 64 levels deep"),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "is nested too deeply"),
        (b" " * MAX_BYTES + b"{}", "is larger than 1048576 bytes"),
    ],
)
def test_what_is_no_configuration_says_why_and_where(data: bytes, message: str) -> None:
    assert problem_of(data) == message


def test_a_file_of_the_greatest_size_is_read() -> None:
    assert parse_document(b"{}" + b" " * (MAX_BYTES - 2), SOURCE) == Document(content={})


def test_large_numbers_keep_their_size() -> None:
    document = parse_document(b'{"a": 123456789012345678, "b": 1234567890123456789, "c": 1e20}', SOURCE)
    assert document.content == {"a": 123456789012345678, "b": 1234567890123456789.0, "c": 1e20}


def test_a_key_that_is_given_again_is_remarked_on_and_the_last_one_counts() -> None:
    data = b'{"a": 1, "b": [{"c": 1, "c": 2, "c": 3}], "a": {"\\u001b": 1, "\\u001b": 2}}'
    document = parse_document(data, SOURCE)
    assert document.content == {"a": {"\x1b": 2}, "b": [{"c": 3}]}
    assert [one.path for one in document.warnings] == ["a", 'a."\\u001b"', "b[0].c"]
    assert {one.message for one in document.warnings} == {"is given more than once; the last one counts"}


def test_remarks_are_bounded() -> None:
    data = b"{" + b",".join(b'"k%d": 1, "k%d": 1' % (n, n) for n in range(500)) + b"}"
    assert len(parse_document(data, SOURCE).warnings) == 100
