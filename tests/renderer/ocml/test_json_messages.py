"""Messages in JSON: what a lenient reading makes of each kind, who may see it, what is reported, and how frames are written as messages."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from renderer.errors import Code
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import interchange
from renderer.ocml.document import Reading
from renderer.ocml.document_header import STRICTEST
from renderer.ocml.frame_header import HEADER_LIMIT, spelled
from tests.renderer.refusing import refused
from tests.support.cases import for_each

Line = tuple[str, str, str]
"""The header, body and terminator of a frame."""

CALL = {"id": "1", "recipient": "functions.x", "content_type": "json", "arguments": "{}"}
END, RETURN, CALLED = (terminator.value for terminator in (Terminator.END, Terminator.RETURN, Terminator.CALL))
FINAL, HIDDEN = "assistant<|channel|>final", "assistant intent=debug<|channel|>final"
JSON_CALL = "<|channel|>commentary<|constrain|>json"
PARSE, SCHEMA = Code.PARSE_HEADER, Code.CALL_SCHEMA


def read(message: Any, **header: Any) -> Reading:
    return interchange.read_leniently(json.dumps({"header": {"version": "2.2", **header}, "messages": [message]}))


def lines(reading: Reading) -> list[Line]:
    return [(spelled(done.frame.header), done.frame.body, done.frame.terminator.value) for done in reading.finished]


@pytest.mark.parametrize(
    ("message", "expected", "code"),
    [
        ({"content": "Hi", "terminator": "return"}, [(FINAL, "Hi", RETURN)], None),
        ({"content": "Hi", "terminator": "end"}, [(FINAL, "Hi", END)], None),
        ({"content": "Hi", "terminator": "call"}, [(FINAL, "Hi", END)], SCHEMA),
        ({"content": "Hi", "terminator": "stop"}, [(HIDDEN, "Hi", END)], PARSE),
        ({"content": None}, [(FINAL, "", END)], None),
        ({"content": 5}, [(HIDDEN, "5", END)], PARSE),
        ({"content": "Hi", "name": ""}, [(HIDDEN, "Hi", END)], PARSE),
        ({"content": "Hi", "name": 5}, [(HIDDEN, "Hi", END)], PARSE),
        ({"content": "Hi", "intent": "a b"}, [(HIDDEN, "Hi", END)], PARSE),
        ({"content": "Hi", "colour": "red"}, [(HIDDEN, "Hi", END)], PARSE),
        ({"content": "Hi", "tool_calls": [], "colour": "red"}, [(HIDDEN, "Hi", END)], SCHEMA),
        ({"content": "Hi", "role": None}, [("assistant intent=debug<|channel|>analysis", "Hi", END)], PARSE),
        ({"thinking": "hm"}, [("assistant<|channel|>analysis", "hm", END), (FINAL, "", END)], None),
        ({"thinking": "", "content": "Hi"}, [(FINAL, "Hi", END)], None),
        (
            {"role": "user", "thinking": "hm", "content": "Hi"},
            [("assistant intent=debug<|channel|>analysis", "hm", END), ("user intent=debug<|channel|>final", "Hi", END)],
            PARSE,
        ),
        (
            {
                "to": "functions.x",
                "call_id": "1",
                "intent": "preamble",
                "content_type": "markdown",
                "constrain": "json",
                "content": "Hi",
                "tool_call": {"arguments": "{}"},
            },
            [
                ("assistant intent=preamble content_type=markdown<|channel|>final", "Hi", END),
                (f"assistant to=functions.x call_id=1{JSON_CALL}", "{}", CALLED),
            ],
            None,
        ),
        ({"channel": "commentary", "tool_call": CALL}, [(f"assistant to=functions.x call_id=1{JSON_CALL}", "{}", CALLED)], None),
        (
            {"channel": "commentary", "content": "", "tool_call": CALL, "terminator": "call"},
            [(f"assistant to=functions.x call_id=1{JSON_CALL}", "{}", CALLED)],
            None,
        ),
        (
            {"channel": "commentary", "intent": "status", "content_type": "text", "tool_call": CALL},
            [(f"assistant to=functions.x call_id=1 intent=status content_type=text{JSON_CALL}", "{}", CALLED)],
            None,
        ),
        (
            {"channel": "commentary", "to": "functions.y", "tool_call": CALL},
            [(f"assistant to=functions.y call_id=1 intent=debug{JSON_CALL}", "{}", CALLED)],
            SCHEMA,
        ),
        (
            {"channel": "commentary", "call_id": "2", "tool_call": CALL},
            [(f"assistant to=functions.x call_id=2 intent=debug{JSON_CALL}", "{}", CALLED)],
            SCHEMA,
        ),
        (
            {"channel": "commentary", "constrain": "text", "tool_call": CALL},
            [("assistant to=functions.x call_id=1 intent=debug<|channel|>commentary<|constrain|>text", "{}", CALLED)],
            SCHEMA,
        ),
        (
            {"tool_call": {**CALL, "recipient": "user"}},
            [("assistant to=user call_id=1 intent=debug<|channel|>final<|constrain|>json", "{}", END)],
            SCHEMA,
        ),
        ({"tool_call": {"arguments": "{}"}}, [(HIDDEN, "{}", END)], PARSE),
        (
            {"content": "Hi", "tool_call": {**CALL, "recipient": "assistant"}},
            [(FINAL, "Hi", END), (f"assistant to=assistant call_id=1{JSON_CALL}", "{}", CALLED)],
            None,
        ),
        (
            {"content": "Hi", "tool_call": {**CALL, "more": 1}},
            [(HIDDEN, "Hi", END), (f"assistant to=functions.x call_id=1 intent=debug{JSON_CALL}", "{}", CALLED)],
            SCHEMA,
        ),
        (
            {"content": "Hi", "tool_call": {**CALL, "id": None}},
            [(HIDDEN, "Hi", END), (f"assistant to=functions.x{JSON_CALL}", "{}", END)],
            PARSE,
        ),
        (
            {"content": "Hi", "tool_call": {**CALL, "arguments": '{"tool_calls": []}'}},
            [(HIDDEN, "Hi", END), (f"assistant to=functions.x call_id=1{JSON_CALL}", '{"tool_calls": []}', CALLED)],
            SCHEMA,
        ),
        (
            {"role": None, "content": "Hi", "tool_call": CALL},
            [("assistant intent=debug<|channel|>analysis", "Hi", END), ("assistant intent=debug<|channel|>analysis", "{}", END)],
            PARSE,
        ),
        (
            {"content": "Hi", "terminator": "end", "tool_call": CALL},
            [(HIDDEN, "Hi", END), (f"assistant to=functions.x call_id=1 intent=debug{JSON_CALL}", "{}", CALLED)],
            SCHEMA,
        ),
    ],
)
def test_a_message_becomes_these_frames(message: dict[str, Any], expected: list[Line], code: Code | None) -> None:
    reading = read({"role": "assistant", "channel": "final", **message})
    assert lines(reading) == expected
    assert [(problem.code, problem.is_refused) for problem in reading.problems] == ([(code, True)] if code else [])
    shown = {spelled(done.frame.header) for done in reading.finished if may_see(done.frame.header, Audience.END_USER)}
    assert shown <= {FINAL, "assistant intent=preamble content_type=markdown<|channel|>final"}


def test_a_header_may_be_as_long_in_json_as_in_text() -> None:
    longest = "n" * (HEADER_LIMIT - len("user name="))
    assert read({"role": "user", "name": longest, "content": "Hi"}).problems == ()
    too_long = read({"role": "user", "name": f"{longest}n", "content": "Hi"})
    assert lines(too_long) == [("assistant intent=debug<|channel|>analysis", "Hi", END)]
    assert [problem.code for problem in too_long.problems] == [PARSE]


def test_each_frame_has_the_first_problem_found_up_to_its_end() -> None:
    reading = read({"role": "assistant", "channel": "final", "content": "Hi", "tool_call": {**CALL, "arguments": "{"}})
    assert [done.error for done in reading.finished] == [None, Code.BODY_CONSTRAINT_VIOLATION]
    both = read({"role": "robot", "channel": "final", "constrain": "json", "content": "{"})
    assert [done.error for done in both.finished] == [PARSE]
    assert [problem.code for problem in both.problems] == [PARSE, Code.BODY_CONSTRAINT_VIOLATION]


@pytest.mark.parametrize("header", [{"version": "x"}, {"profiles": {"harmony": {"enabled": 1}}}, {"model": 5}, {"generation_settings": []}])
def test_a_document_header_that_cannot_be_read_requires_channels(header: dict[str, Any]) -> None:
    reading = read({"role": "assistant", "content": "Hi"}, **header)
    assert reading.document.profile == STRICTEST
    assert lines(reading) == [("assistant intent=debug", "Hi", END)]
    assert [problem.code for problem in reading.problems] == [PARSE, Code.PARSE_CHANNEL_MISSING]


@pytest.mark.parametrize("text", ["[", "[]", '{"header": {}, "header": {}, "messages": []}', '{"messages": [], "more": 1}'])
def test_what_is_not_a_document_has_one_problem_and_the_strictest_header(text: str) -> None:
    reading = interchange.read_leniently(text)
    assert (reading.finished, reading.document.profile) == ((), STRICTEST)
    assert reading.problems[0].is_refused
    with refused(Code.PARSE_HEADER) as caught:
        interchange.parse_json(text)
    assert caught.value.problem == reading.problems[0]


THOUGHT = Frame(Header("assistant", "analysis"), "Hm.")
OTHER = Frame(Header("assistant", "analysis"), "Hm!")
ANSWER = Frame(Header("assistant", "final"), "4.", Terminator.RETURN)
CALL_FRAME = Frame(Header("assistant", "commentary", "functions.x", "c1", constrain="json"), "{}", Terminator.CALL)
USER, PLAIN = Frame(Header("user"), "x"), Frame(Header("assistant"), "x")
SILENT = Frame(Header("assistant", "analysis", intent="debug"), "x")
REPLY = Frame(Header("tool", "commentary", "assistant", "c1", "functions.x"), "{}")


@for_each(
    [
        (USER, {"role": "user", "content": "x"}),
        (Frame(Header("user"), ""), {"role": "user", "content": ""}),
        (ANSWER, {"role": "assistant", "channel": "final", "content": "4.", "terminator": "return"}),
        (REPLY, {"role": "tool", "channel": "commentary", "to": "assistant", "call_id": "c1", "name": "functions.x", "content": "{}"}),
        (Frame(Header("functions.x"), "{}"), {"role": "tool", "name": "functions.x", "content": "{}"}),
        (
            Frame(Header("assistant", "final", "user", "1", "n", "status", "text", "json"), "{}"),
            {
                "role": "assistant",
                "channel": "final",
                "to": "user",
                "call_id": "1",
                "name": "n",
                "intent": "status",
                "content_type": "text",
                "constrain": "json",
                "content": "{}",
            },
        ),
        (
            Frame(Header("assistant", "commentary", "x", "1", "n", "status", "text", "json"), "{}", Terminator.CALL),
            {
                "role": "assistant",
                "channel": "commentary",
                "name": "n",
                "intent": "status",
                "content_type": "text",
                "tool_call": {"id": "1", "recipient": "x", "content_type": "json", "arguments": "{}"},
            },
        ),
        (
            Frame(Header("assistant", None, "x", "1"), "", Terminator.CALL),
            {"role": "assistant", "tool_call": {"id": "1", "recipient": "x", "arguments": ""}},
        ),
    ]
)
def test_a_message_has_the_values_of_its_header_in_their_order(frame: Frame, expected: dict[str, Any]) -> None:
    message = interchange.message_of(frame)
    assert json.dumps(message) == json.dumps(expected)
    read = interchange.parse_json(json.dumps({"header": {"version": "2.2"}, "messages": [message]})).frames
    assert [interchange.message_of(each) for each in read] == [message]


@for_each(
    [
        ((THOUGHT, ANSWER), ["4. Hm."]),
        ((THOUGHT, CALL_FRAME), ["call Hm."]),
        ((THOUGHT, PLAIN), ["x Hm."]),
        ((THOUGHT, Frame(Header("assistant", "commentary", intent="preamble"), "x"), ANSWER), ["x Hm.", "4."]),
        ((THOUGHT, SILENT, ANSWER), ["Hm.", "x", "4."]),
        ((SILENT, ANSWER), ["x", "4."]),
        ((THOUGHT, USER, ANSWER), ["Hm.", "x", "4."]),
        ((CALL_FRAME, THOUGHT, REPLY, ANSWER), ["call", "Hm.", "{}", "4."]),
        ((THOUGHT, OTHER, ANSWER), ["Hm.", "4. Hm!"]),
        ((THOUGHT, OTHER), ["Hm.", "Hm!"]),
        ((ANSWER, THOUGHT), ["4.", "Hm."]),
        ((THOUGHT, ANSWER, OTHER, CALL_FRAME, ANSWER), ["4. Hm.", "call Hm!", "4."]),
        ((Frame(Header("assistant", "analysis", name="n"), "Hm."), ANSWER), ["Hm.", "4."]),
        ((Frame(Header("assistant", "analysis"), "Hm.", Terminator.RETURN), ANSWER), ["Hm.", "4."]),
        ((Frame(Header("assistant", "analysis"), ""), ANSWER), ["", "4."]),
        ((), []),
    ]
)
def test_a_thought_is_folded_into_the_assistants_next_message_and_into_no_other(frames: tuple[Frame, ...], expected: list[str]) -> None:
    transcript = Transcript(frames)
    messages: Any = interchange.to_values(transcript, fold_thinking=True)["messages"]
    found = [f"{message.get('content', 'call')} {message.get('thinking', '')}".rstrip() for message in messages]
    assert found == expected
    assert interchange.parse_json(interchange.dump_json(transcript, fold_thinking=True)) == transcript
    apart: Any = interchange.to_values(transcript)["messages"]
    assert len(apart) == len(frames) and not any("thinking" in message for message in apart)


def test_the_header_is_copied_into_plain_values() -> None:
    inner = MappingProxyType({"b": [1, MappingProxyType({"c": None}), 0.5, "x", True]})
    transcript = Transcript((), "2.2", None, MappingProxyType({"t": inner}), MappingProxyType({"a": inner}))
    values: Any = interchange.to_values(transcript)
    plain = {"b": [1, {"c": None}, 0.5, "x", True]}
    assert values == {"header": {"version": "2.2", "generation_settings": {"t": plain}, "a": plain}, "messages": []}
    assert json.loads(interchange.dump_json(transcript)) == values
    assert values["header"]["a"]["b"] is not inner["b"]


@for_each(
    [
        (Frame(Header("assistant", "commentary", "user", "c1"), "{}", Terminator.CALL), Code.CALL_SCHEMA),
        (Frame(Header("user", "commentary", "functions.x", "c1"), "{}", Terminator.CALL), Code.CALL_SCHEMA),
        (Frame(Header("assistant", "commentary", "functions.x"), "{}", Terminator.CALL), Code.PARSE_HEADER),
        (Frame(Header("robot"), "x"), Code.PARSE_HEADER),
    ]
)
def test_a_frame_that_is_refused_as_text_is_refused_as_a_message(frame: Frame, error: Code) -> None:
    with refused(error):
        interchange.message_of(frame)
    with refused(error):
        interchange.dump_json(Transcript((frame,)))
