"""Tool calls and replies parsed from frames: their content, and their errors (section 14 of the specification)."""

import pytest

from renderer.errors import Code
from renderer.frames import Frame, Header, Terminator
from renderer.ocml import calls
from renderer.ocml.document import read_leniently
from tests.renderer.refusing import refused


def call(body: str, *, to: str | None = "functions.x", call_id: str | None = "c1", constrain: str | None = "json") -> Frame:
    return Frame(Header("assistant", "commentary", to, call_id, constrain=constrain), body, Terminator.CALL)


def reply(body: str) -> Frame:
    return Frame(Header("tool", "commentary", "assistant", "c1", "functions.x"), body)


REFUSED_HERE = [
    "assistant to=functions.x call_id=c1 colour=red<|channel|>commentary",
    "assistant to=functions.x to=functions.y call_id=c1<|channel|>commentary",
    "assistant to=functions.x call_id=c1<|channel|>commentary<|channel|>analysis",
    "assistant to=functions.x call_id=c1 intent=debug<|channel|>commentary",
    "assistant to=functions.x call_id=c1 intent=mystery<|channel|>commentary",
    "assistant to=functions.x call_id=c1<|channel|>analysis",
    "assistant to=functions.x call_id=c1<|channel|>final",
    "assistant to=functions.x call_id=c1",
]


@pytest.mark.parametrize("header", REFUSED_HERE)
def test_a_call_that_a_document_keeps_with_a_fault_is_not_carried_out(header: str) -> None:
    (found,) = read_leniently(f"version: 2.2\n\n<|start|>{header}<|message|>{{}}<|call|>").finished
    assert found.frame.terminator is Terminator.CALL
    with refused(Code.CALL_SCHEMA):
        calls.read_call(found.frame)


PROFILE = "version: 2.2\nprofiles: {{harmony: {{enabled: true, {}: analysis}}}}\n"


@pytest.mark.parametrize(
    ("document", "to", "channel", "error"),
    [
        ("version: 1.0\n", "functions.x", "commentary", Code.CALL_SCHEMA),
        (PROFILE.format("tool_calls_in"), "functions.x", "commentary", Code.CALL_SCHEMA),
        (PROFILE.format("tool_calls_in"), "functions.x", "analysis", None),
        (PROFILE.format("builtins_in"), "python", "commentary", Code.CALL_SCHEMA),
        (PROFILE.format("builtins_in"), "python", "analysis", None),
        ("version: unreadable\n", "python", None, Code.PARSE_CHANNEL_MISSING),
    ],
)
def test_a_call_is_carried_out_as_its_document_allows(document: str, to: str, channel: str | None, error: Code | None) -> None:
    frame = Frame(Header("assistant", channel, to, "c1"), "{}", Terminator.CALL)
    header = read_leniently(document).document
    if error is None:
        assert calls.read_call(frame, header).tool == to
        return
    with refused(error):
        calls.read_call(frame, header)


def test_a_call_shows_no_arguments_in_its_repr() -> None:
    assert "secret" not in repr(calls.read_call(call('{"a": "secret"}'))) + repr(
        calls.read_reply(reply('{"ok": true, "content": "secret"}'))
    )


@pytest.mark.parametrize(
    "frame",
    [
        Frame(call("{}").header, "{}"),
        call("[1]"),
        call("", constrain=None),
        call('{"deadline_ms": "soon"}'),
        call('{"deadline_ms": 0}'),
        call('{"deadline_ms": true}'),
        call('{"deadline_ms": 1.5}'),
        call("{}", to="user"),
        call("{}", to="functions/x"),
        call("{}", to="f" * 65),
        call("{}", to=""),
        call('{"deadline_ms": 86400001}'),
        call('{"tool_calls": null}'),
        call('{"a": 1, "a": 2}'),
        call('{"a": 1e999}'),
    ],
)
def test_e_call_schema(frame: Frame) -> None:
    with refused(Code.CALL_SCHEMA):
        calls.read_call(frame)


def test_e_body_constraint_violation() -> None:
    with refused(Code.BODY_CONSTRAINT_VIOLATION):
        calls.read_call(call("{"))


@pytest.mark.parametrize("frame", [call("{}", to=None), call("{}", call_id=None)])
def test_e_parse_header(frame: Frame) -> None:
    with refused(Code.PARSE_HEADER):
        calls.read_call(frame)


@pytest.mark.parametrize("value", ['"{}"', '{{"code": "{}", "message": "x"}}'])
@pytest.mark.parametrize(("code", "error"), [("E-TOOL-TIMEOUT", Code.TOOL_TIMEOUT), ("E-TOOL-CANCELLED", Code.TOOL_CANCELLED)])
def test_e_tool_timeout_and_e_tool_cancelled(value: str, code: str, error: Code) -> None:
    found = calls.read_reply(reply(f'{{"ok": false, "error": {value.format(code)}}}'))
    with refused(error) as caught:
        found.raise_for_error()
    assert caught.value.code == code == found.error
