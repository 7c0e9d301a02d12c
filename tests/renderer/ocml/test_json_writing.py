"""Frames written as JSON messages: which keys a message has, and which thoughts are folded into the next message."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from renderer.errors import CallSchemaError, ParseHeaderError
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.ocml import interchange
from tests.support.cases import for_each

THOUGHT = Frame(Header("assistant", "analysis"), "Hm.")
OTHER = Frame(Header("assistant", "analysis"), "Hm!")
ANSWER = Frame(Header("assistant", "final"), "4.", Terminator.RETURN)
CALL = Frame(Header("assistant", "commentary", "functions.x", "c1", constrain="json"), "{}", Terminator.CALL)
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
        ((THOUGHT, CALL), ["call Hm."]),
        ((THOUGHT, PLAIN), ["x Hm."]),
        ((THOUGHT, Frame(Header("assistant", "commentary", intent="preamble"), "x"), ANSWER), ["x Hm.", "4."]),
        ((THOUGHT, SILENT, ANSWER), ["Hm.", "x", "4."]),
        ((SILENT, ANSWER), ["x", "4."]),
        ((THOUGHT, USER, ANSWER), ["Hm.", "x", "4."]),
        ((CALL, THOUGHT, REPLY, ANSWER), ["call", "Hm.", "{}", "4."]),
        ((THOUGHT, OTHER, ANSWER), ["Hm.", "4. Hm!"]),
        ((THOUGHT, OTHER), ["Hm.", "Hm!"]),
        ((ANSWER, THOUGHT), ["4.", "Hm."]),
        ((THOUGHT, ANSWER, OTHER, CALL, ANSWER), ["4. Hm.", "call Hm!", "4."]),
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
        (Frame(Header("assistant", "commentary", "user", "c1"), "{}", Terminator.CALL), CallSchemaError),
        (Frame(Header("user", "commentary", "functions.x", "c1"), "{}", Terminator.CALL), CallSchemaError),
        (Frame(Header("assistant", "commentary", "functions.x"), "{}", Terminator.CALL), ParseHeaderError),
        (Frame(Header("robot"), "x"), ParseHeaderError),
    ]
)
def test_a_frame_that_is_refused_as_text_is_refused_as_a_message(frame: Frame, error: type[Exception]) -> None:
    with pytest.raises(error):
        interchange.message_of(frame)
    with pytest.raises(error):
        interchange.dump_json(Transcript((frame,)))
