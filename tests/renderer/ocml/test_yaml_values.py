"""The values of a document header as YAML: words that a parser could take for something else, and what may be nested in what."""

import math
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from renderer.errors import ParseHeaderError
from renderer.ocml.plain_values import DEPTH_LIMIT, plain_mapping
from renderer.ocml.yaml_values import dump, load
from tests.support.cases import for_each


def values(text: str) -> dict[str, Any]:
    return load(text, text)[0]


# Without quotes, each would be another type or another text to a parser of YAML 1.1 or 1.2.
TYPED = ["~", "null", "Null", "NULL", "", "true", "True", "FALSE", "yes", "No", "on", "OFF", "y", "n", "2025-08-08", "2025-08-08 10:00:00"]
NUMBERS = ["0", "-1", "+1", "010", "0o10", "0x1F", "0b1", "1_000", "1:30", "1.", ".5", "1e3", "1E-3", "-1.5e+3", ".inf", "-.INF", ".nan"]
MARKS = ["=", "<<", "-", "- a", "a: b", "a #b", "#a", "&a", "*a", "!a", "[a]", "{a}", "|", ">", "%a", "@a", "`a", "---", "...", "?", ":"]
SIGNS = ["'", '"', "a'b", " a", "a ", "a\nb", "a\n", "\n", "\t", "\r", "\x00", "\x85", "\u2028", "\ufeff", "é", "😀", "\ud7ff", "\ue000"]


@for_each([*TYPED, *NUMBERS, *MARKS, *SIGNS])
def test_every_word_comes_back_as_the_same_text_from_parsers_of_both_versions(word: str) -> None:
    shapes: list[dict[str, Any]] = [{"a": word}, {"a": [word]}, {word: "a"}, {"a": {word: word}}]
    for written in shapes:
        text = dump(written)
        assert values(text) == written and text.isascii()
        assert yaml.safe_load(text) == written


@for_each([("<|end|>", "\\x3C|end|>"), ("a<<|start|>b", "a\\x3C\\x3C|start|>b"), ("<|end|><|x|>", "\\x3C|end|><|x|>")])
def test_a_control_token_is_written_so_that_no_reader_finds_it(word: str, written: str) -> None:
    for whole in ({"a": word}, {word: 1}):
        assert written in dump(whole) and values(dump(whole)) == whole


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
    for read in (values(f"a: {word}\n")["a"], values(f"a: [{word}]\n")["a"][0]):
        assert read == value and type(read) is type(value)


def test_the_characters_of_version_and_model_are_kept() -> None:
    assert load("version: 2.20\nmodel: 1e3\na: 1e3\n", "") == (
        {"version": 2.2, "model": 1000.0, "a": 1000.0},
        {"version": "2.20", "model": "1e3"},
    )
    assert load("version: ~\nmodel:\n", "")[1] == {}, "a null is no name"
    assert load("version: [2.2]\nmodel: {a: b}\n", "")[1] == {}
    assert load("a: {version: 2.20, model: 1e3}\n", "")[1] == {}, "only of the header itself"
    assert load('"version": "2.20"\n', "")[1] == {"version": "2.20"}


def nested(depth: int, *, of_mappings: bool) -> Any:
    """A value with ``depth`` levels, the innermost of which is empty."""
    value: Any = {} if of_mappings else []
    for _ in range(depth - 1):
        value = {"a": value} if of_mappings else [value]
    return value


@pytest.mark.parametrize("of_mappings", [True, False])
def test_the_depth_is_limited_in_reading_and_in_writing(of_mappings: bool) -> None:
    deepest = {"a": nested(DEPTH_LIMIT - 1, of_mappings=of_mappings)}
    assert values(dump(plain_mapping(deepest))) == deepest
    siblings = {"a": [1] * 100, **{f"b{number}": [number] for number in range(50)}}
    assert values(dump(plain_mapping(siblings))) == siblings, "only nesting counts"
    deeper = {"a": nested(DEPTH_LIMIT, of_mappings=of_mappings)}
    with pytest.raises(ParseHeaderError, match="nested too deeply"):
        plain_mapping(deeper)
    with pytest.raises(ParseHeaderError, match="not supported YAML"):
        load(dump(deeper), "")


def test_values_are_copied_into_plain_containers() -> None:
    inner = MappingProxyType({"b": [True, None, 1, 0.5, "x"]})
    found = plain_mapping(MappingProxyType({"a": inner}))
    assert found == {"a": {"b": [True, None, 1, 0.5, "x"]}}
    assert type(found) is dict and type(found["a"]) is dict and found["a"]["b"] is not inner["b"]


@for_each([math.inf, -math.inf, math.nan, 10**4000, -(10**4000), "\ud800", "a\udfff", b"a", {1}, ((1,),), {1: 2}, {"\ud800": 1}, object()])
def test_what_is_not_json_is_refused_at_any_level(value: object) -> None:
    for whole in ({"a": value}, {"a": [value]}, {"a": {"b": [1, {"c": value}]}}):
        with pytest.raises(ParseHeaderError) as caught:
            plain_mapping(whole)
        assert caught.value.code == "E-PARSE-HEADER"
