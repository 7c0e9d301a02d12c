"""The document header: typed as YAML 1.2, bounded, round-trips, and has a profile that is either understood or refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import ParseHeaderError
from renderer.frames import Transcript
from renderer.ocml import document_header
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
    ("word", "value"),
    [
        ("yes", "yes"),
        ("true", True),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-0.0", 0.0),
        ("2025-08-08", "2025-08-08"),
        ("=", "="),
        ('"\\u00e9"', "é"),
    ],
)
def test_a_plain_word_is_typed_as_yaml_1_2_has_it(word: str, value: object) -> None:
    read = document_header.read(f"version: 2.2\na: {word}\n").extra["a"]
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize("version", ["2.2", '"2.2"', "'2.2'", "2.20", "1.0", "2.9999"])
def test_a_version_is_text(version: str) -> None:
    assert document_header.read(f"version: {version}\n").version == version.strip("\"'")


@pytest.mark.parametrize("version", ["2", "2.2.2", "v2.2", "02.2", "0.1", "", "[2.2]", "2.2-rc", "2.12345"])
def test_an_invalid_version_is_refused(version: str) -> None:
    with pytest.raises(ParseHeaderError):
        document_header.read(f"version: {version}\n")


@pytest.mark.parametrize("version", ["3.0", "10.0"])
def test_a_future_version_has_an_error_of_its_own(version: str) -> None:
    with pytest.raises(FutureVersionError):
        document_header.read(f"version: {version}\n")


def test_the_header_of_a_transcript_is_the_one_that_would_be_read_from_its_text() -> None:
    transcript = Transcript(
        (), "2.1", "gpt-oss", {"temperature": 1}, {"profiles": {"harmony": {"enabled": True, "builtins_in": "analysis"}}}
    )
    header = document_header.of_transcript(transcript)
    assert header == document_header.read(document_header.write(transcript))
    assert (header.model, header.settings, header.profile.builtins_in) == ("gpt-oss", {"temperature": 1}, frozenset({"analysis"}))


@pytest.mark.parametrize(
    "line", ["model: [a]", "model: {a: 1}", "generation_settings: 5", "generation_settings: [a]", "generation_settings: a"]
)
def test_a_known_key_with_a_value_of_another_type_is_refused(line: str) -> None:
    with pytest.raises(ParseHeaderError):
        document_header.read(f"version: 2.2\n{line}\n")


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


def test_the_limit_of_a_document_header_is_the_last_length_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript((), model="m" * 20)
    text = document_header.write(transcript)
    monkeypatch.setattr(document_header, "DOCUMENT_HEADER_LIMIT", len(text))
    assert document_header.read(document_header.write(transcript)).model == transcript.model
    monkeypatch.setattr(document_header, "DOCUMENT_HEADER_LIMIT", len(text) - 1)
    for refused in (lambda: document_header.write(transcript), lambda: document_header.read(text)):
        with pytest.raises(ParseHeaderError, match="too long"):
            refused()


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
        "",
        "enabled: false, require_channels: 5",
        "require_channels: [final]",
        "enabled: true",
        "enabled: null",
        "enabled: true, require_channels: null, tool_calls_in: false, builtins_in: []",
    ],
)
def test_a_profile_that_is_not_enabled_or_empty_requires_nothing(rules: str) -> None:
    assert profile(rules) == Profile()


@pytest.mark.parametrize(
    "rules",
    [
        "enabled: 1",
        "enabled: 'true'",
        "enabled: true, require_channels: 5",
        "enabled: true, require_channels: true",
        "enabled: true, require_channels: [[final]]",
        "enabled: true, tool_calls_in: {final: 1}",
        "enabled: true, tool_calls_in: [final, 1]",
        "enabled: true, builtins_in: [x]",
        "enabled: true, builtins_in: final2",
    ],
)
def test_a_profile_that_is_not_understood_is_refused(rules: str) -> None:
    with pytest.raises(ParseHeaderError):
        profile(rules)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 30_000,
        "a: " * 9000,
        "- " * 30_000,
        "{a: " * 9000,
        "'" * 60_001,
        "? " * 30_000,
        "\t" * 60_000,
        "x\n---" + " " * 60_000 + "x: y",
    ],
)
def test_hostile_headers_are_refused_without_recursion(text: str) -> None:
    with pytest.raises(ParseHeaderError):
        document_header.read("version: 2.2\na: " + text)
