"""The document header: typed as YAML 1.2, bounded, round-trips, and has a profile that is either understood or refused.

It is read and written as the beginning of a document without frames.
"""

import json
import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import Code, ParseHeaderError
from renderer.frames import HEADER_VALUE, Channel, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import document
from renderer.tokens import TOKEN_RUN
from tests.renderer.examples import header_values
from tests.renderer.refusing import refused as refused_with
from tests.support.cases import for_each

LIMIT = 64 * 1024
"""The longest header that is read, in bytes."""


@given(st.dictionaries(st.text(max_size=30), header_values, max_size=4))
def test_a_document_header_round_trips(values: dict[str, object]) -> None:
    text = document.dump(Transcript((), settings=values))
    assert document.parse(text).settings == values
    assert text.isascii() and not TOKEN_RUN.search(text)


@given(st.text(max_size=30).filter(str.isprintable))
def test_readers_of_yaml_1_1_see_the_same_words(word: str) -> None:
    text = document.dump(Transcript((), extra={"word": word}))
    assert yaml.safe_load(text)["word"] == word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a:\tb", "b"),
        ("a: b\tc", "b\tc"),
        ("a:\n-\tb", ["b"]),
        ('a: {"b"\t:\t1}', {"b": 1}),
        ("a: [\n b]", ["b"]),
        ("a: 'b\x85c'", "b\x85c"),
        ("a: |\n b\u2029c\n", "b\u2029c\n"),
        ('a: "\\u2028\\U0010FFFD"', "\u2028\U0010fffd"),
        ("# c\u2028: d: e\na: b", "b"),
        ("a:\n\tb: c", None),
        ("a:\n-\tb: c", None),
        ("a: [\nb]", None),
        ("a: [\n\tb]", None),
    ],
)
def test_a_header_is_scanned_as_yaml_1_2_has_it(text: str, value: object) -> None:
    header = f"version: 2.2\n{text}\n"
    if value is not None:
        assert document.parse(header).extra == {"a": value}
        return
    with pytest.raises(ParseHeaderError):
        document.parse(header)


@pytest.mark.parametrize("version", ["2.2", '"2.2"', "'2.2'", "2.20", "1.0", "2.9999"])
def test_a_version_is_text(version: str) -> None:
    assert document.parse(f"version: {version}\n").version == version.strip("\"'")


@pytest.mark.parametrize(
    ("written", "model"),
    [("4.10", "4.10"), ("1e3", "1e3"), ("true", "true"), ("0x10", "0x10"), ('"~"', "~"), ("~", None), ("null", None), ("", None)],
)
def test_a_model_is_a_name_even_if_it_looks_like_another_value(written: str, model: str | None) -> None:
    assert document.parse(f"version: 2.2\nmodel: {written}\n").model == model


@pytest.mark.parametrize("version", ["3.0", "0.1", "2", "21.0", "2.2.2", "2.2\nmodel: x", ""])
def test_a_version_that_would_be_refused_is_not_written(version: str) -> None:
    with pytest.raises(ParseHeaderError):
        document.dump(Transcript((), version=version))


def test_a_document_header_may_have_64_kib_and_no_more() -> None:
    begin = len(document.dump(Transcript((), model="m")))
    longest = Transcript((), model="m" * (LIMIT - begin + 1))
    text = document.dump(longest)
    assert len(text) == LIMIT and document.parse(text).model == longest.model
    with pytest.raises(ParseHeaderError):
        document.dump(replace(longest, model=f"{longest.model}m"))
    for more in (text + " ", text[:-2] + "é\n"):
        with pytest.raises(ParseHeaderError, match="too long"):
            document.parse(more)


def test_an_error_points_into_the_header() -> None:
    with pytest.raises(ParseHeaderError) as caught:
        document.parse("---\nversion: 2.2\nmodel: é\nb: &anchor x\n")
    location = caught.value.location
    assert location is not None
    assert (location.offset, location.line, location.column) == (30, 4, 4)


def under(rules: str) -> str:
    """The header of a document with this profile."""
    return f"version: 2.2\nprofiles: {{harmony: {{{rules}}}}}\n"


def said(channel: str) -> str:
    return f"<|start|>assistant{channel and '<|channel|>'}{channel}<|message|>x<|end|>"


def called(recipient: str, channel: str) -> str:
    return f"<|start|>assistant to={recipient} call_id=c<|channel|>{channel}<|constrain|>json<|message|>{{}}<|call|>"


@pytest.mark.parametrize(
    ("rules", "frame", "refused"),
    [
        ("require_channels: [analysis, final]", said("final"), None),
        ("require_channels: [analysis, final]", said("commentary"), Code.PARSE_HEADER),
        ("require_channels: [analysis, final]", said(""), Code.PARSE_CHANNEL_MISSING),
        ("require_channels: []", said(""), None),
        ("require_channels: false", said(""), None),
        ("tool_calls_in: final", called("functions.x", "final"), None),
        ("tool_calls_in: final", called("functions.x", "commentary"), Code.CALL_SCHEMA),
        ("tool_calls_in: ~", called("functions.x", "commentary"), None),
        ("builtins_in: [analysis]", called("browser.search", "analysis"), None),
        ("builtins_in: [analysis]", called("browser.search", "commentary"), Code.CALL_SCHEMA),
        ("builtins_in: [analysis]", called("functions.x", "commentary"), None),
    ],
)
def test_a_profile_says_which_channels_a_message_may_have(rules: str, frame: str, refused: Code | None) -> None:
    for enabled in ("true", "false"):
        report = document.check(under(f"enabled: {enabled}, {rules}") + frame)
        found = [problem.code for problem in report.problems if problem.is_refused]
        assert found == ([refused] if refused and enabled == "true" else [])
    free = document.parse(under(f"enabled: false, {rules}") + frame)
    held = replace(free, extra=document.parse(under(f"enabled: true, {rules}")).extra)
    document.dump(free)
    with refused_with(refused) if refused else nullcontext():
        document.dump(held)  # what would be refused is not written


@pytest.mark.parametrize(
    "rules",
    [
        "enabled: 1",
        "enabled: true, require_channels: 5",
        "enabled: true, require_channels: [[final]]",
        "enabled: true, tool_calls_in: {final: 1}",
        "enabled: true, tool_calls_in: [final, 1]",
        "enabled: true, builtins_in: [x]",
    ],
)
def test_a_profile_that_is_not_understood_is_refused(rules: str) -> None:
    with pytest.raises(ParseHeaderError):
        document.parse(under(rules))


@pytest.mark.parametrize(
    "text",
    ["[" * 30_000, "a: " * 9000, "- " * 30_000, "? " * 30_000, "x\n---" + " " * 60_000 + "x: y"],
)
def test_hostile_headers_are_refused_without_recursion(text: str) -> None:
    with pytest.raises(ParseHeaderError):
        document.parse("version: 2.2\na: " + text)


@pytest.mark.parametrize(
    ("version", "is_future"), [("9999.9999", True), ("3.0", True), ("12345.1", False), ("0.1", False), ("9.12345", False)]
)
def test_only_a_version_of_a_document_can_be_a_future_one(version: str, is_future: bool) -> None:
    text = f"version: {version}\n"
    with pytest.raises(ParseHeaderError):
        document.parse(text)
    assert (document.check(text).document is None) is is_future, "of a future one, nothing is read"


def test_keys_are_written_in_their_order_each_on_one_line() -> None:
    values = {"b": "word " * 60 + "end", "a": {"d": 1, "c": "<|end|>"}}
    text = document.dump(Transcript((), model="m", settings={"t": 1}, extra=values))
    assert [line.split(":")[0].strip() for line in text.splitlines()] == [
        "version",
        "model",
        "generation_settings",
        "t",
        "b",
        "a",
        "d",
        "c",
        "",
    ]
    assert "<|end|>" not in text and document.parse(text).extra == values


@pytest.mark.parametrize(
    "values",
    [
        {"a": "\ud800"},
        {1: "a"},
        {"a": float("inf")},
        {"a": 10**4000},
        {"a": b"x"},
        {"version": "2.2"},
        {"generation_settings": {}},
        {"profiles": {"harmony": {"enabled": 1}}},
    ],
)
def test_a_value_that_would_not_come_back_is_not_written(values: dict[str, object]) -> None:
    with pytest.raises(ParseHeaderError):
        document.dump(Transcript((), extra=values))


def test_the_largest_number_comes_back() -> None:
    for value in (10**4000 - 1, -(10**4000) + 1, 1.7976931348623157e308, 5e-324, True, None):
        assert document.parse(document.dump(Transcript((), extra={"a": value}))).extra == {"a": value}


@pytest.mark.parametrize(
    "line",
    [
        "a: &x 1",
        "a: *x",
        "a: !!str 1",
        "a: 1\na: 2",
        "a: {b: 1, b: 1}",
        "[a]: 1",
        "2: a",
        "a: -.INF",
        "a: .nan",
        "a: 1e999",
        "a: 1e-999",
        "a: " + "9" * 5000,
        "version: 2.3",
    ],
)
def test_a_line_that_programs_could_read_differently_is_refused(line: str) -> None:
    with pytest.raises(ParseHeaderError):
        document.parse(f"version: 2.2\n{line}\n")


def test_a_merge_key_is_an_ordinary_one() -> None:
    assert document.parse('version: 2.2\n"<<": {a: 1}\n<<<: 2\n').extra == {"<<": {"a": 1}, "<<<": 2}


@pytest.mark.parametrize("begin", ["version: x\n", "version: [\n", "\u00a0\n", "\x0b\n", f"a: {'b' * LIMIT}\n"])
def test_a_header_that_cannot_be_read_requires_one_of_the_channels(begin: str) -> None:
    channels = "".join(f"<|start|>assistant<|channel|>{channel}<|message|>x<|end|>\n" for channel in Channel)
    reading = document.read_leniently(f"{begin}<|start|>assistant<|message|>x<|end|>\n{channels}")
    assert [problem.code for problem in reading.problems] == [Code.PARSE_HEADER, Code.PARSE_CHANNEL_MISSING]
    seen = [may_see(done.frame.header, Audience.END_USER) for done in reading.finished]
    assert seen == [False, False, False, True], "without a channel, analysis, commentary, final"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", True), ("a.b_c:d-E9", True), ("a" * 128, True), ("a" * 129, False), ("", False), ("a/b", False), ("a b", False), ("é", False)],
)
def test_a_value_that_the_product_writes_is_short_and_plain(value: str, expected: bool) -> None:
    assert (HEADER_VALUE.fullmatch(value) is not None) is expected


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
    with pytest.raises(ParseHeaderError) as caught:
        document.parse(text)
    assert hint in caught.value.hint


# Values: words that a parser could take for something else, and what may be nested in what.


def written(values: Mapping[str, object]) -> str:
    return document.dump(Transcript((), extra=values))


def values(text: str) -> Mapping[str, object]:
    return document.parse(f"version: 2.2\n{text}").extra


# Without quotes, each would be another type or another text to a parser of YAML 1.1 or 1.2.
TYPED = ["~", "null", "Null", "NULL", "", "true", "True", "FALSE", "yes", "No", "on", "OFF", "y", "n", "2025-08-08", "2025-08-08 10:00:00"]
NUMBERS = ["0", "-1", "+1", "010", "0o10", "0x1F", "0b1", "1_000", "1:30", "1.", ".5", "1e3", "1E-3", "-1.5e+3", ".inf", "-.INF", ".nan"]
MARKS = ["=", "<<", "-", "- a", "a: b", "a #b", "#a", "&a", "*a", "!a", "[a]", "{a}", "|", ">", "%a", "@a", "`a", "---", "...", "?", ":"]
SIGNS = ["'", '"', "a'b", " a", "a ", "a\nb", "a\n", "\n", "\t", "\r", "\x00", "\x85", "\u2028", "\ufeff", "é", "😀", "\ud7ff", "\ue000"]


@for_each([*TYPED, *NUMBERS, *MARKS, *SIGNS])
def test_every_word_comes_back_as_the_same_text_from_parsers_of_both_versions(word: str) -> None:
    shapes: list[dict[str, Any]] = [{"a": word}, {"a": [word]}, {word: "a"}, {"a": {word: word}}]
    for shape in shapes:
        text = written(shape)
        assert document.parse(text).extra == shape and text.isascii()
        assert yaml.safe_load(text) == {"version": 2.2, **shape}


@for_each([("<|end|>", "\\x3C|end|>"), ("a<<|start|>b", "a\\x3C\\x3C|start|>b"), ("<|end|><|x|>", "\\x3C|end|><|x|>")])
def test_a_control_token_is_written_so_that_no_reader_finds_it(word: str, escaped: str) -> None:
    for whole in ({"a": word}, {word: 1}):
        assert escaped in written(whole) and document.parse(written(whole)).extra == whole


@for_each(
    [
        ("+5", 5),
        ("-010", -10),
        ("0x1f", 31),
        ("-0x1F", "-0x1F"),
        ("0o18", "0o18"),
        ("0b1", "0b1"),
        ("5.", 5.0),
        ("+.5e-1", 0.05),
        ("-1E2", -100.0),
        ("0.0e-999", 0.0),
        ("inf", "inf"),
        (".Nan", ".Nan"),
        (".", "."),
        ("Null", None),
        ("nULL", "nULL"),
        ("TRUE", True),
        ("no", "no"),
        ("'1'", "1"),
        ('"true"', "true"),
    ]
)
def test_an_unquoted_word_has_the_type_that_yaml_1_2_gives_it(word: str, value: object) -> None:
    in_list = values(f"a: [{word}]\n")["a"]
    assert isinstance(in_list, list)
    for read in (values(f"a: {word}\n")["a"], in_list[0]):
        assert read == value and type(read) is type(value)


def test_only_the_version_and_the_model_of_the_document_itself_are_names() -> None:
    read = document.parse("version: 2.20\nmodel: 1e3\na: 1e3\nb: {version: 2.20, model: 1e3}\n")
    assert (read.version, read.model, read.extra) == ("2.20", "1e3", {"a": 1000.0, "b": {"version": 2.2, "model": 1000.0}})
    assert document.parse('"version": "2.20"\n').version == "2.20"
    for odd in ("version:\n", "version: [2.2]\n", "version: 2.2\nmodel: {a: b}\n"):
        with pytest.raises(ParseHeaderError):
            document.parse(odd)


DEPTH = 32
"""Levels of a header, itself included, as docs/openchatml.md says."""


def nested(depth: int, *, of_mappings: bool) -> Any:
    """A value with ``depth`` levels, the innermost of which is empty."""
    value: Any = {} if of_mappings else []
    for _ in range(depth - 1):
        value = {"a": value} if of_mappings else [value]
    return value


@pytest.mark.parametrize("of_mappings", [True, False])
def test_the_depth_is_limited_in_reading_and_in_writing(of_mappings: bool) -> None:
    deepest = {"a": nested(DEPTH - 1, of_mappings=of_mappings)}
    assert document.parse(written(deepest)).extra == deepest
    siblings = {"a": [1] * 100, **{f"b{number}": [number] for number in range(50)}}
    assert document.parse(written(siblings)).extra == siblings, "only nesting counts"
    deeper = nested(DEPTH, of_mappings=of_mappings)
    with pytest.raises(ParseHeaderError, match="nested too deeply"):
        written({"a": deeper})
    with pytest.raises(ParseHeaderError, match="not supported YAML"):
        values(f"a: {json.dumps(deeper)}\n")


def test_values_of_any_mapping_are_written() -> None:
    inner = MappingProxyType({"b": [True, None, 1, 0.5, "x"]})
    assert document.parse(written(MappingProxyType({"a": inner}))).extra == {"a": {"b": [True, None, 1, 0.5, "x"]}}


@for_each([math.inf, -math.inf, math.nan, 10**4000, -(10**4000), "\ud800", "a\udfff", b"a", {1}, ((1,),), {1: 2}, {"\ud800": 1}, object()])
def test_what_is_not_json_is_refused_at_any_level(value: object) -> None:
    for whole in ({"a": value}, {"a": [value]}, {"a": {"b": [1, {"c": value}]}}):
        with pytest.raises(ParseHeaderError) as caught:
            written(whole)
        assert caught.value.code == "E-PARSE-HEADER"
