"""Where the problems of a document in JSON are: at the beginning of their message, or where the text stops being JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from renderer.errors import Location, OpenChatMLError, ParseHeaderError
from renderer.frames import Frame, Header, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import interchange
from renderer.ocml.document_header import STRICTEST
from renderer.ocml.frame_header import spelled
from tests.support.cases import for_each

HEADER = '{"header": {"version": "2.2"}, "messages": '
BEGINNING = Location(0, 1, 1)
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
