"""Where an error is: its place in the text, the beginning of its message in JSON, or the beginning of the document."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from renderer.errors import Location, OpenChatMLError, ParseHeaderError
from renderer.frames import Frame, Header, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import document, document_header, interchange
from renderer.ocml.document_header import STRICTEST, FutureVersionError
from renderer.ocml.frame_header import spelled
from renderer.ocml.plain_values import DEPTH_LIMIT
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


HEADER = '{"header": {"version": "2.2"}, "messages": '
NO_DOCUMENT = "the document must be an object with a header and a list of messages"
NO_VERSION = "the version is not major.minor"


@for_each(
    [
        HEADER + '[{"role":"user"},{"role":"robot"}]}',
        HEADER + '[ {"role": "user"} , {"role": "robot"} ] }',
        HEADER + '[\n  {"role": "user", "content": "é"},\n  {"role": "robot"}\n]}',
        HEADER + '[{"role": "user", "content": "é\\n"},\r\n\t{"role": "robot"}]}',
        '{"messages":[{"role":"user"},{"role":"robot"}],"header":{"version":"2.2"}}',
        '{"header":{"version":"2.2"},"messages":[{"role":"user","content":"é"},{"role":"robot"}]}',
        '\n { "header"\n:\n{"version": "2.2", "messages": [1, {"role": "user"}]}\n , "messages" : [{"role":"user"}\n,{"role":"robot"}]}\n',
        '{"header": {"version": "2.2", "a": [1.5, -2, 1e3, null, true]}, "messages": [\n\n{},{"role": "robot"}]}',
    ]
)
def test_a_problem_of_a_message_is_where_its_message_begins(text: str) -> None:
    at = text.index('{"role":"robot"' if '{"role":"robot"' in text else '{"role": "robot"')
    before = text[:at]
    place = Location(len(before.encode()), before.count("\n") + 1, len(before) - before.rfind("\n"), 1)
    for given in (text, text.encode()):
        assert interchange.read_leniently(given).problems[-1].location == place


@for_each(
    [
        ("[", BEGINNING.offset + 1),
        (HEADER + "[}", len(HEADER) + 1),
        ('{"a": "é"\n} x', 12),
        (HEADER + "[NaN]}", 0),
        ('{"header": {"a": 1, "a": 2}}', 0),
    ]
)
def test_what_is_not_json_has_one_problem_and_no_frames(text: str, position: int) -> None:
    before = text[:position]
    place = Location(len(before.encode()), before.count("\n") + 1, len(before) - before.rfind("\n"))
    reading = interchange.read_leniently(text)
    assert [problem.location for problem in reading.problems] == [place]
    assert (reading.finished, reading.document.profile) == ((), STRICTEST)


@for_each(
    [
        ("[]", [NO_DOCUMENT, NO_VERSION]),
        ("5", [NO_DOCUMENT, NO_VERSION]),
        ("null", [NO_DOCUMENT, NO_VERSION]),
        ("{}", [NO_DOCUMENT, NO_VERSION]),
        ('{"header": 5, "messages": []}', [NO_DOCUMENT, NO_VERSION]),
        ('{"header": {}, "messages": []}', [NO_VERSION]),
        (HEADER + "5}", [NO_DOCUMENT]),
        (HEADER + "{}}", [NO_DOCUMENT]),
        (HEADER + "null}", [NO_DOCUMENT]),
        (HEADER + '[], "more": 1}', [NO_DOCUMENT]),
    ]
)
def test_what_is_json_but_no_document_is_reported_once_at_its_beginning(text: str, hints: list[str]) -> None:
    reading = interchange.read_leniently(text)
    assert [(problem.hint, problem.location) for problem in reading.problems] == [(hint, BEGINNING) for hint in hints]
    assert reading.finished == ()
    with pytest.raises(ParseHeaderError) as caught:
        interchange.parse_json(text)
    assert caught.value.problem == reading.problems[0]


def test_bytes_that_are_not_utf_8_are_replaced_in_a_lenient_reading_of_json() -> None:
    data = HEADER.encode() + b'[{"role": "user", "content": "\xc3\xa9\xff"}]}'
    reading = interchange.read_leniently(data)
    assert [done.frame for done in reading.finished] == [Frame(Header("user"), "é\ufffd")]
    offset = data.index(b"\xff")
    assert [problem.location for problem in reading.problems] == [Location(offset, 1, offset)], "é is two bytes, one column"


def test_a_byte_order_mark_before_json_is_accepted() -> None:
    text = "\ufeff" + HEADER + '[{"role": "user", "content": "\ufeffHi"}]}'
    for given in (text, text.encode()):
        for read in (interchange.read_strictly, interchange.read_leniently):
            reading = read(given)
            assert [done.frame.body for done in reading.finished] == ["\ufeffHi"] and not reading.problems
    for broken in (text.replace("Hi", "\ud800"), text.encode().replace(b"Hi", b"\xff")):
        assert [done.frame.body for done in interchange.read_leniently(broken).finished] == ["\ufeff\ufffd"]


@for_each(
    [
        (HEADER + "[", "]"),
        (HEADER, '[{"role": "robot"}]}'),
        (HEADER + "[{},\n", '{"role": "robot"}]}'),
        (HEADER + '[{"content": "é', '\ud800"}]}'),
        (HEADER + '[\n"', '\ud800"}]}'),
    ]
)
def test_a_byte_order_mark_before_json_counts_as_three_bytes_and_as_no_column(before: str, rest: str) -> None:
    texts = [before + rest, f"\ufeff{before}{rest}"]
    given: list[str | bytes] = [*texts, *(text.encode("utf-8", "surrogatepass") for text in texts)]
    plain, marked, *of_bytes = [interchange.read_leniently(each).problems[-1 if "robot" in rest else 0].location for each in given]
    assert plain and marked == replace(plain, offset=plain.offset + 3)
    assert of_bytes == [plain, marked]


@for_each(
    [
        ({"role": "user", "name": "ada to=assistant"}, "user intent=debug"),
        ({"role": "assistant", "name": "x<|channel|>final"}, "assistant intent=debug"),
        ({"role": "assistant<|channel|>final"}, "assistant intent=debug<|channel|>analysis"),
        ({"role": "assistant", "channel": "final to=user"}, "assistant intent=debug"),
        ({"role": "assistant", "channel": "analysis", "intent": "status<|constrain|>json"}, "assistant intent=debug<|channel|>analysis"),
        ({"role": "assistant", "channel": "final", "to": "user intent=status"}, "assistant intent=debug<|channel|>final"),
        ({"role": "tool", "call_id": "c1 to=user", "name": "functions.y"}, "tool name=functions.y intent=debug"),
    ]
)
def test_a_value_of_a_message_sets_no_other_attribute_and_hides_the_frame(message: dict[str, str], header: str) -> None:
    text = json.dumps({"header": {"version": "2.2"}, "messages": [{**message, "content": "x"}]})
    with pytest.raises(ParseHeaderError, match="not allowed in a header"):
        interchange.parse_json(text)
    (done,) = interchange.read_leniently(text).finished
    assert spelled(done.frame.header) == header and not may_see(done.frame.header, Audience.END_USER)


@for_each(["", [], 0, True, ["id"], "x"])
def test_a_call_that_is_no_object_hides_its_frame(call: object) -> None:
    text = json.dumps({"header": {"version": "2.2"}, "messages": [{"role": "assistant", "channel": "final", "tool_call": call}]})
    with pytest.raises(OpenChatMLError) as caught:
        interchange.parse_json(text)
    assert caught.value.code == "E-CALL-SCHEMA"
    (done,) = interchange.read_leniently(text).finished
    assert done.frame.body == json.dumps(call) and not may_see(done.frame.header, Audience.END_USER)


def test_a_call_without_arguments_has_an_empty_body() -> None:
    call = {"id": "c1", "recipient": "python"}
    text = json.dumps({"header": {"version": "2.2"}, "messages": [{"role": "assistant", "channel": "commentary", "tool_call": call}]})
    assert [frame.body for frame in interchange.parse_json(text).frames] == [""]


def test_a_header_in_json_has_only_what_is_set() -> None:
    assert interchange.to_values(Transcript(())) == {"header": {"version": "2.2"}, "messages": []}
    full = Transcript((), "2.1", "m", {"temperature": 1}, {"b": [1, {"c": None}], "a": True})
    header = {"version": "2.1", "model": "m", "generation_settings": {"temperature": 1}, "b": [1, {"c": None}], "a": True}
    assert interchange.to_values(full) == {"header": header, "messages": []}
