"""Tool calls and replies parsed from frames: their content, and their errors (section 14 of the specification)."""

from __future__ import annotations

import pytest

from renderer.errors import BodyConstraintError, CallSchemaError, OpenChatMLError, ParseHeaderError, ToolCancelledError, ToolTimeoutError
from renderer.frames import Frame, Header, Terminator
from renderer.ocml import calls


def call(body: str, *, to: str | None = "functions.x", call_id: str | None = "c1", constrain: str | None = "json") -> Frame:
    return Frame(Header("assistant", "commentary", to, call_id, constrain=constrain), body, Terminator.CALL)


def reply(body: str) -> Frame:
    return Frame(Header("tool", "commentary", "assistant", "c1", "functions.x"), body)


def test_the_deadline_is_taken_out_of_the_arguments() -> None:
    assert calls.read_call(call('{"a": 1, "deadline_ms": 5000}')) == calls.Call("functions.x", "c1", {"a": 1}, 5000)
    assert calls.read_call(call('{"a": 1}')).deadline_ms is None


def test_the_body_of_a_call_without_json_is_the_argument() -> None:
    assert calls.read_call(call("print(1)", to="python", constrain=None)).arguments == "print(1)"


def test_a_call_shows_no_arguments_in_its_repr() -> None:
    assert "secret" not in repr(calls.read_call(call('{"a": "secret"}'))) + repr(
        calls.read_reply(reply('{"ok": true, "content": "secret"}'))
    )


@pytest.mark.parametrize(
    "frame",
    [
        Frame(call("{}").header, "{}"),
        call("[1]"),
        call("null"),
        call("", constrain=None),
        call('{"deadline_ms": "soon"}'),
        call('{"deadline_ms": 0}'),
        call('{"deadline_ms": true}'),
        call('{"deadline_ms": 1.5}'),
        call('{"deadline_ms": 99999999999}'),
        call('{"tool_calls": []}'),
        call("{}", to="user"),
        call("{}", to="functions/x"),
        call("{}", to="f" * 65),
    ],
)
def test_e_call_schema(frame: Frame) -> None:
    with pytest.raises(CallSchemaError):
        calls.read_call(frame)


def test_e_body_constraint_violation() -> None:
    with pytest.raises(BodyConstraintError):
        calls.read_call(call("{"))


@pytest.mark.parametrize("frame", [call("{}", to=None), call("{}", call_id=None)])
def test_e_parse_header(frame: Frame) -> None:
    with pytest.raises(ParseHeaderError):
        calls.read_call(frame)


@pytest.mark.parametrize("value", ['"{}"', '{{"code": "{}", "message": "x"}}'])
@pytest.mark.parametrize(("code", "error"), [("E-TOOL-TIMEOUT", ToolTimeoutError), ("E-TOOL-CANCELLED", ToolCancelledError)])
def test_e_tool_timeout_and_e_tool_cancelled(value: str, code: str, error: type[OpenChatMLError]) -> None:
    found = calls.read_reply(reply(f'{{"ok": false, "error": {value.format(code)}}}'))
    with pytest.raises(error) as caught:
        found.raise_for_error()
    assert caught.value.code == code == found.error


@pytest.mark.parametrize(
    "body",
    [
        "E-TOOL-TIMEOUT",
        '{"ok": true, "error": "E-TOOL-TIMEOUT"}',
        '{"error": "E-TOOL-TIMEOUT"}',
        '{"ok": false, "error": "E-X-BUSY"}',
        '{"ok": false, "error": ["E-TOOL-TIMEOUT"]}',
        '{"ok": false',
        "[]",
        "",
    ],
)
def test_a_reply_with_neither_error_raises_nothing(body: str) -> None:
    found = calls.read_reply(reply(body))
    found.raise_for_error()
    assert found.error is None
    assert (found.tool, found.call_id) == ("functions.x", "c1")
