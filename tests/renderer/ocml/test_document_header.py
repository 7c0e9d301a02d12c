"""The document header: typed as YAML 1.2, bounded, round-trips, and has a profile that is either understood or refused.

Its capabilities are compared with the known ones, and extended when frames are added.
"""

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import Code, ParseHeaderError
from renderer.frames import HEADER_VALUE, Channel, Frame, Header, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import document, document_header
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT, FutureVersionError, Profile
from renderer.tokens import TOKEN_RUN
from tests.renderer.examples import header_values


@given(st.dictionaries(st.text(max_size=30), header_values, max_size=4))
def test_a_document_header_round_trips(values: dict[str, object]) -> None:
    text = document_header.write(Transcript((), settings=values))
    assert document_header.read(text).settings == values
    assert text.isascii() and not TOKEN_RUN.search(text)


@given(st.text(max_size=30).filter(str.isprintable))
def test_readers_of_yaml_1_1_see_the_same_words(word: str) -> None:
    text = document_header.write(Transcript((), extra={"word": word}))
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
        assert document_header.read(header).extra == {"a": value}
        return
    with pytest.raises(ParseHeaderError):
        document_header.read(header)


@pytest.mark.parametrize("version", ["2.2", '"2.2"', "'2.2'", "2.20", "1.0", "2.9999"])
def test_a_version_is_text(version: str) -> None:
    assert document_header.read(f"version: {version}\n").version == version.strip("\"'")


@pytest.mark.parametrize(
    ("written", "model"),
    [("4.10", "4.10"), ("1e3", "1e3"), ("true", "true"), ("0x10", "0x10"), ('"~"', "~"), ("~", None), ("null", None), ("", None)],
)
def test_a_model_is_a_name_even_if_it_looks_like_another_value(written: str, model: str | None) -> None:
    assert document_header.read(f"version: 2.2\nmodel: {written}\n").model == model


def test_the_header_of_a_transcript_is_the_one_that_would_be_read_from_its_text() -> None:
    transcript = Transcript(
        (), "2.1", "gpt-oss", {"temperature": 1}, {"profiles": {"harmony": {"enabled": True, "builtins_in": "analysis"}}}
    )
    header = document_header.of_transcript(transcript)
    assert header == document_header.read(document_header.write(transcript))
    assert (header.model, header.settings, header.profile.builtins_in) == ("gpt-oss", {"temperature": 1}, frozenset({"analysis"}))


@pytest.mark.parametrize("version", ["3.0", "0.1", "2", "21.0", "2.2.2", "2.2\nmodel: x", ""])
def test_a_version_that_would_be_refused_is_not_written(version: str) -> None:
    with pytest.raises(ParseHeaderError):
        document_header.write(Transcript((), version=version))


def test_a_document_header_may_have_64_kib_and_no_more() -> None:
    begin = len(document_header.write(Transcript((), model="m")))
    longest = Transcript((), model="m" * (DOCUMENT_HEADER_LIMIT - begin + 1))
    text = document_header.write(longest)
    assert len(text) == DOCUMENT_HEADER_LIMIT and document_header.read(text).model == longest.model
    with pytest.raises(ParseHeaderError):
        document_header.write(replace(longest, model=f"{longest.model}m"))
    for more in (text + " ", text[:-2] + "é\n"):
        with pytest.raises(ParseHeaderError, match="too long"):
            document_header.read(more)


def test_an_error_points_into_the_header() -> None:
    with pytest.raises(ParseHeaderError) as caught:
        document_header.read("---\nversion: 2.2\nmodel: é\nb: &anchor x\n")
    location = caught.value.location
    assert location is not None
    assert (location.offset, location.line, location.column) == (30, 4, 4)


def profile(rules: str) -> Profile:
    return document_header.read(f"version: 2.2\nprofiles: {{harmony: {{{rules}}}}}\n").profile


def test_a_profile_lists_its_requirements() -> None:
    assert profile("enabled: true, require_channels: [analysis, final], tool_calls_in: commentary, builtins_in: [analysis]") == Profile(
        frozenset({"analysis", "final"}), frozenset({"commentary"}), frozenset({"analysis"})
    )


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
        profile(rules)


@pytest.mark.parametrize(
    "text",
    ["[" * 30_000, "a: " * 9000, "- " * 30_000, "? " * 30_000, "x\n---" + " " * 60_000 + "x: y"],
)
def test_hostile_headers_are_refused_without_recursion(text: str) -> None:
    with pytest.raises(ParseHeaderError):
        document_header.read("version: 2.2\na: " + text)


@pytest.mark.parametrize(
    ("version", "is_future"), [("9999.9999", True), ("3.0", True), ("12345.1", False), ("0.1", False), ("9.12345", False)]
)
def test_only_a_version_of_a_document_can_be_a_future_one(version: str, is_future: bool) -> None:
    with pytest.raises(ParseHeaderError) as caught:
        document_header.read(f"version: {version}\n")
    assert isinstance(caught.value, FutureVersionError) is is_future


def test_keys_are_written_in_their_order_each_on_one_line() -> None:
    values = {"b": "word " * 60 + "end", "a": {"d": 1, "c": "<|end|>"}}
    text = document_header.write(Transcript((), model="m", settings={"t": 1}, extra=values))
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
    assert "<|end|>" not in text and document_header.read(text).extra == values


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
        document_header.write(Transcript((), extra=values))


def test_the_largest_number_comes_back() -> None:
    for value in (10**4000 - 1, -(10**4000) + 1, 1.7976931348623157e308, 5e-324, True, None):
        assert document_header.read(document_header.write(Transcript((), extra={"a": value}))).extra == {"a": value}


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
        document_header.read(f"version: 2.2\n{line}\n")


def test_a_merge_key_is_an_ordinary_one() -> None:
    assert document_header.read('version: 2.2\n"<<": {a: 1}\n<<<: 2\n').extra == {"<<": {"a": 1}, "<<<": 2}


@pytest.mark.parametrize("begin", ["version: x\n", "version: [\n", "\u00a0\n", "\x0b\n", f"a: {'b' * DOCUMENT_HEADER_LIMIT}\n"])
def test_a_header_that_cannot_be_read_requires_one_of_the_channels(begin: str) -> None:
    channels = "".join(f"<|start|>assistant<|channel|>{channel}<|message|>x<|end|>\n" for channel in Channel)
    reading = document.read_leniently(f"{begin}<|start|>assistant<|message|>x<|end|>\n{channels}")
    assert reading.document == document_header.UNREADABLE
    assert [problem.code for problem in reading.problems] == [Code.PARSE_HEADER, Code.PARSE_CHANNEL_MISSING]
    seen = [may_see(done.frame.header, Audience.END_USER) for done in reading.finished]
    assert seen == [False, False, False, True], "without a channel, analysis, commentary, final"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", True), ("a.b_c:d-E9", True), ("a" * 128, True), ("a" * 129, False), ("", False), ("a/b", False), ("a b", False), ("é", False)],
)
def test_a_value_that_the_product_writes_is_short_and_plain(value: str, expected: bool) -> None:
    assert (HEADER_VALUE.fullmatch(value) is not None) is expected


def test_lists_are_extended_by_what_frames_use() -> None:
    header = {"x": 1, "capabilities": {"roles": ["functions.*", "user"], "channels": ["final"], "tokens": ["<|start|>"]}}
    frames = [Frame(Header("user"), ""), Frame(Header("assistant", "analysis"), ""), Frame(Header("assistant", "final"), "")]
    assert document_header.with_used_names(header, frames) == {
        "x": 1,
        "capabilities": {"roles": ["functions.*", "user", "assistant"], "channels": ["final", "analysis"], "tokens": ["<|start|>"]},
    }
    assert header["capabilities"] == {"roles": ["functions.*", "user"], "channels": ["final"], "tokens": ["<|start|>"]}, "a new header"
    others: tuple[dict[str, object], ...] = ({}, {"capabilities": "all"}, {"capabilities": {"roles": "user"}}, {"capabilities": {}})
    for other in others:
        assert document_header.with_used_names(other, frames) == other


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
        document_header.read(text)
    assert hint in caught.value.hint
