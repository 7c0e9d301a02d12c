"""Where an error in a document header is: the place in the text if it is one line's, otherwise the beginning of the document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderer.errors import Location, ParseHeaderError
from renderer.frames import Transcript
from renderer.ocml import document, document_header, interchange
from renderer.ocml.document_header import FutureVersionError
from renderer.ocml.yaml_values import DEPTH_LIMIT
from tests.support.cases import for_each

BEGINNING = Location(0, 1, 1)
FRAME = "<|start|>user<|message|>x<|end|>"
TOO_MANY_DIGITS = "1" + "0" * 4000


def refusal(text: str) -> ParseHeaderError:
    with pytest.raises(ParseHeaderError) as caught:
        document_header.read(text)
    return caught.value


@for_each(
    [
        ("a: .inf", 2, 4),
        ("a: -.INF", 2, 4),
        ("a: +.Inf", 2, 4),
        ("a: .nan", 2, 4),
        ("a: .NaN", 2, 4),
        ("a: 1e999", 2, 4),
        ("a: 1e-999", 2, 4),
        ("a: é\nb: &x 1", 3, 4),
        ("a: é\nb: *x", 3, 4),
        ("a: é\nb: !x 1", 3, 4),
        ("a: é\na: 2", 3, 1),
        ("é: {b: 1, b: 1}", 2, 11),
        ("2: a", 2, 1),
        ("a: " + "[" * 32 + "]" * 32, 2, 35),
    ]
)
def test_a_line_of_a_header_that_is_not_supported_is_named(line: str, number: int, column: int) -> None:
    text = f"version: 2.2\n{line}\n"
    location = refusal(text).location
    before = "".join(text.splitlines(keepends=True)[: number - 1]) + text.splitlines()[number - 1][: column - 1]
    assert location == Location(len(before.encode()), number, column)
    assert document.check(f"{text}{FRAME}").problems[0].location == location


@for_each(["\n", "  \r\n\n", "\n---\n", "# é\n", "  \n# a\n\n"])
def test_what_stands_before_a_header_counts_for_its_places(before: str) -> None:
    text = f"{before}version: 2.2\na: &x 1\n"
    for whole in (text, f"{text}\n{FRAME}"):
        for pieces in (whole, list(whole), [whole[: len(before)], whole[len(before) :]], [whole[:-1], whole[-1]]):
            (problem,) = document.check(pieces).problems
            assert problem.location == Location(len(text.encode()) - len("&x 1\n"), before.count("\n") + 2, 4)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("model: x", "has no version"),
        ("version:", "has no version"),
        ("version: [2.2]", "has no version"),
        ("version: 2", "not major.minor"),
        ("version: 2.2\nmodel: [a]", "not a name"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_the_version_or_the_model(text: str, hint: str) -> None:
    assert hint in refusal(text).hint


@for_each(
    [
        "- a",
        "version",
        "model: x",
        "version: [2]",
        "version: null",
        "version: 2",
        "version: 0.1",
        "version: 3.0",
        "version: 2.2\nmodel: [a]",
        "version: 2.2\ngeneration_settings: 5",
        "version: 2.2\nprofiles: {harmony: {enabled: 1}}",
        "version: 2.2\nprofiles: {harmony: {enabled: true, builtins_in: [x]}}",
        f"version: 2.2\na: {TOO_MANY_DIGITS}",
        f"version: 2.2\na: {'9' * 5000}",
        "version: 2.2\na: \x01",
        "version: 2.2\na: " + "b" * document_header.DOCUMENT_HEADER_LIMIT,
    ]
)
def test_an_error_of_the_whole_header_is_at_its_beginning(text: str) -> None:
    assert refusal(text).location == BEGINNING
    report = document.check(f"{text}\n{FRAME}")
    assert [problem.location for problem in report.problems] == [BEGINNING]


@for_each(
    [
        {"version": "3.0"},
        {"version": 2},
        {"version": "2.2", "model": 5},
        {"version": "2.2", "generation_settings": []},
        {"version": "2.2", "a": int(TOO_MANY_DIGITS)},
        {"version": "2.2", "a": "\ud800"},
        {"version": "2.2", "profiles": {"harmony": {"enabled": 1}}},
    ]
)
def test_an_error_of_a_header_in_json_is_at_the_beginning_of_the_document(header: dict[str, Any]) -> None:
    text = json.dumps({"header": header, "messages": []})
    with pytest.raises(ParseHeaderError) as caught:
        interchange.parse_json(text)
    assert caught.value.location == BEGINNING
    if isinstance(caught.value, FutureVersionError):
        with pytest.raises(FutureVersionError):
            interchange.read_leniently(text)
    else:
        assert [problem.location for problem in interchange.read_leniently(text).problems] == [BEGINNING]


def nested(depth: int) -> object:
    """A value with a list at each level: itself at the second level of the header, the innermost at ``depth``."""
    value: object = []
    for _ in range(depth - 2):
        value = [value]
    return value


def test_the_deepest_nesting_that_is_written_is_the_deepest_that_is_read() -> None:
    deepest = Transcript((), extra={"a": nested(DEPTH_LIMIT)})
    assert document_header.read(document_header.write(deepest)).extra == deepest.extra
    assert interchange.parse_json(interchange.dump_json(deepest)) == deepest
    with pytest.raises(ParseHeaderError, match="nested too deeply"):
        document_header.write(Transcript((), extra={"a": nested(DEPTH_LIMIT + 1)}))
    refusal(f"version: 2.2\na: {nested(DEPTH_LIMIT + 1)}\n")


def test_mappings_count_as_levels_as_lists_do() -> None:
    innermost: dict[str, object] = {}
    for _ in range(DEPTH_LIMIT - 2):
        innermost = {"a": innermost}
    assert document_header.read(document_header.write(Transcript((), extra={"a": innermost}))).extra == {"a": innermost}
    with pytest.raises(ParseHeaderError):
        document_header.write(Transcript((), extra={"a": {"a": innermost}}))


def test_a_future_version_is_the_error_of_a_strict_and_of_a_lenient_reading() -> None:
    for read in (document.parse, document.read_leniently):
        for text in ("version: 3.0\n", f"version: 3.0\n{FRAME}"):
            with pytest.raises(FutureVersionError) as caught:
                read(text)
            assert caught.value.location == BEGINNING


@for_each(["version: 2.2\na: \ud800\n", "version: 2.2\na: &x 1\nb: \udfff\n", "\udc00"])
def test_half_a_surrogate_pair_in_a_header_is_refused_as_any_character_that_yaml_cannot_contain(text: str) -> None:
    error = refusal(text)
    assert (error.code, error.location) == ("E-PARSE-HEADER", BEGINNING)
