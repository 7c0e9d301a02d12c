"""Tool calls and replies parsed from frames: their content, and their errors (section 14 of the specification)."""

from __future__ import annotations

import pytest

from renderer.errors import Code
from renderer.frames import Frame, Header, Terminator
from renderer.ocml import calls
from renderer.ocml.document import read_leniently
from renderer.ocml.document_header import STRICTEST, DocumentHeader, Profile
from tests.renderer.refusing import refused


def call(body: str, *, to: str | None = "functions.x", call_id: str | None = "c1", constrain: str | None = "json") -> Frame:
    return Frame(Header("assistant", "commentary", to, call_id, constrain=constrain), body, Terminator.CALL)


def reply(body: str) -> Frame:
    return Frame(Header("tool", "commentary", "assistant", "c1", "functions.x"), body)


def test_the_deadline_is_taken_out_of_the_arguments() -> None:
    assert calls.read_call(call('{"a": 1, "deadline_ms": 5000}')) == calls.Call("functions.x", "c1", {"a": 1}, 5000)
    assert calls.read_call(call('{"a": 1}')).deadline_ms is None


@pytest.mark.parametrize(("written", "deadline"), [("1", 1), ("86400000", 86_400_000), ("1000.0", 1000), ("1e3", 1000)])
def test_a_deadline_may_be_any_whole_number_from_one_to_a_day(written: str, deadline: int) -> None:
    found = calls.read_call(call(f'{{"deadline_ms": {written}}}'))
    assert found.deadline_ms == deadline and type(found.deadline_ms) is int and found.arguments == {}


@pytest.mark.parametrize("tool", ["f", "f" * 64, "functions.a-b_c.D9", "python"])
def test_a_tool_has_a_name_of_at_most_64_letters_digits_and_signs(tool: str) -> None:
    assert calls.read_call(call("{}", to=tool)).tool == tool


@pytest.mark.parametrize(
    ("to", "constrain", "content_type", "arguments"),
    [
        ("python", "json", None, {"a": 1}),
        ("python", "JSON", None, {"a": 1}),
        ("python", None, "json", {"a": 1}),
        ("python", None, "text", '{"a": 1}'),
        ("python", None, "JSON", '{"a": 1}'),
        ("python", "text", "json", '{"a": 1}'),
        ("functions.x", None, None, {"a": 1}),
        ("functions.x", "text", None, '{"a": 1}'),
        ("functionsx", None, None, '{"a": 1}'),
    ],
)
def test_arguments_are_json_if_the_header_says_so_or_else_if_a_function_is_called(
    to: str, constrain: str | None, content_type: str | None, arguments: object
) -> None:
    header = Header("assistant", "commentary", to, "c1", content_type=content_type, constrain=constrain)
    assert calls.read_call(Frame(header, '{"a": 1}', Terminator.CALL)).arguments == arguments


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


@pytest.mark.parametrize(
    ("document", "to", "channel", "error"),
    [
        (DocumentHeader(version="1.0"), "functions.x", "commentary", Code.CALL_SCHEMA),
        (DocumentHeader(profile=Profile(tool_calls_in=frozenset({"analysis"}))), "functions.x", "commentary", Code.CALL_SCHEMA),
        (DocumentHeader(profile=Profile(tool_calls_in=frozenset({"analysis"}))), "functions.x", "analysis", None),
        (DocumentHeader(profile=Profile(builtins_in=frozenset({"analysis"}))), "python", "commentary", Code.CALL_SCHEMA),
        (DocumentHeader(profile=Profile(builtins_in=frozenset({"analysis"}))), "python", "analysis", None),
        (DocumentHeader(profile=STRICTEST), "python", None, Code.PARSE_CHANNEL_MISSING),
    ],
)
def test_a_call_is_carried_out_as_its_document_allows(document: DocumentHeader, to: str, channel: str | None, error: Code | None) -> None:
    frame = Frame(Header("assistant", channel, to, "c1"), "{}", Terminator.CALL)
    if error is None:
        assert calls.read_call(frame, document).tool == to
        return
    with refused(error):
        calls.read_call(frame, document)


def faults(header: Header, profile: Profile | None = None) -> list[tuple[str, bool, bool]]:
    """The faults of a frame with this header, each with whether it hides the frame and whether a strict reader refuses it."""
    return [(fault.code, fault.hides, fault.is_refused) for fault in calls.Pairing(profile or Profile()).opened(header)]


FLAGGED, REFUSED, HIDDEN = (Code.CALL_SCHEMA, False, False), (Code.CALL_SCHEMA, False, True), (Code.PARSE_HEADER, True, True)
ANALYSIS_ONLY = frozenset({"analysis"})


@pytest.mark.parametrize(
    ("to", "channel", "profile", "expected"),
    [
        ("functions.x", "commentary", Profile(), []),
        ("functions.x", "analysis", Profile(), [FLAGGED]),
        ("functions.x", None, Profile(), [FLAGGED]),
        ("functions.x", "analysis", Profile(tool_calls_in=ANALYSIS_ONLY), []),
        ("functions.x", "commentary", Profile(tool_calls_in=ANALYSIS_ONLY), [REFUSED]),
        ("functionsx", "analysis", Profile(), []),
        ("python", "commentary", Profile(), []),
        ("python", "commentary", Profile(builtins_in=ANALYSIS_ONLY), [REFUSED]),
        ("browser", "commentary", Profile(builtins_in=ANALYSIS_ONLY), [REFUSED]),
        ("browser.search", "commentary", Profile(builtins_in=ANALYSIS_ONLY), [REFUSED]),
        ("browser.search", "analysis", Profile(builtins_in=ANALYSIS_ONLY), []),
        ("browsers", "commentary", Profile(builtins_in=ANALYSIS_ONLY), []),
        ("functions.python", "commentary", Profile(builtins_in=ANALYSIS_ONLY), []),
        ("all", "final", Profile(builtins_in=ANALYSIS_ONLY, tool_calls_in=ANALYSIS_ONLY), []),
        ("user", "final", Profile(builtins_in=ANALYSIS_ONLY, tool_calls_in=ANALYSIS_ONLY), []),
        ("assistant", "final", Profile(builtins_in=ANALYSIS_ONLY, tool_calls_in=ANALYSIS_ONLY), []),
        (None, "final", Profile(builtins_in=ANALYSIS_ONLY, tool_calls_in=ANALYSIS_ONLY), []),
        (None, None, Profile(require_channels=ANALYSIS_ONLY), [(Code.PARSE_CHANNEL_MISSING, True, True)]),
        (None, "final", Profile(require_channels=ANALYSIS_ONLY), [HIDDEN]),
        (None, "analysis", Profile(require_channels=ANALYSIS_ONLY), []),
        ("functions.x", None, Profile(require_channels=ANALYSIS_ONLY), [(Code.PARSE_CHANNEL_MISSING, True, True), FLAGGED]),
    ],
)
def test_a_call_belongs_on_the_channels_of_the_profile(
    to: str | None, channel: str | None, profile: Profile, expected: list[tuple[str, bool, bool]]
) -> None:
    assert faults(Header("assistant", channel, to, "c1"), profile) == expected
    assert faults(Header("user", channel, to, "c1"), profile) == [], "the rules are for assistants"


@pytest.mark.parametrize(
    ("call_id", "name", "is_flagged"),
    [
        ("c1", "functions.x.y", False),
        ("c1", "functions", False),
        ("c1", "functions.x", False),
        ("c1", "functions.x.", True),
        ("c1", "function", True),
        ("c1", "functions.z", True),
        ("c1", None, True),
        ("c2", "functions.x.y", True),
        (None, "functions.x.y", True),
    ],
)
def test_a_reply_comes_from_the_tool_that_was_called_or_from_what_contains_it(
    call_id: str | None, name: str | None, is_flagged: bool
) -> None:
    pairing = calls.Pairing(Profile())
    assert pairing.closed(Header("assistant", "commentary", "functions.x.y", "c1"), Terminator.CALL) is None
    reply_header = Header("tool", "commentary", "assistant", call_id, name)
    found = [(fault.code, fault.hides, fault.is_refused) for fault in pairing.opened(reply_header)]
    assert found == ([FLAGGED] if is_flagged else [])
    again = list(pairing.opened(Header("tool", "commentary", "assistant", "c1", "functions.x.y")))
    assert len(again) == (call_id == "c1"), "a second reply"


def test_only_a_call_takes_its_id() -> None:
    pairing, header = calls.Pairing(Profile()), Header("assistant", "commentary", "functions.x", "c1")
    assert pairing.closed(header, Terminator.END) is None and pairing.closed(header, Terminator.RETURN) is None
    for wrong in (Header("user", "commentary", "functions.x", "c1"), Header("assistant", "commentary", "user", "c1")):
        refused = pairing.closed(wrong, Terminator.CALL)
        assert refused is not None and refused.is_refused and refused.code is Code.CALL_SCHEMA
    assert pairing.closed(header, Terminator.CALL) is None
    second = pairing.closed(header, Terminator.CALL)
    assert second is not None and second.is_refused and second.code is Code.CALL_SCHEMA


@pytest.mark.parametrize(
    ("role", "body", "code"),
    [
        ("tool", '{"ok": false, "error": "E-TOOL-TIMEOUT"}', Code.TOOL_TIMEOUT),
        ("tool", ' {"ok": false, "error": "E\\u002dTOOL-TIMEOUT"}', Code.TOOL_TIMEOUT),
        ("tool", '{"ok": false, "error": "\\u0045-TOOL-CANCELLED"}', Code.TOOL_CANCELLED),
        ("tool", '{"ok": true, "error": "E-TOOL-TIMEOUT"}', None),
        ("assistant", '{"ok": false, "error": "E-TOOL-TIMEOUT"}', None),
    ],
)
def test_a_tools_error_is_flagged_however_it_is_spelled(role: str, body: str, code: Code | None) -> None:
    found = [(fault.code, fault.hides, fault.is_refused) for fault in calls.body_faults(Frame(Header(role, name="x"), body))]
    assert found == ([] if code is None else [(code, False, False)])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{}", []),
        ("[]", [(Code.CALL_SCHEMA, False)]),
        ("{", []),
        ('{"a": 1, "a": 1}', [(Code.CALL_SCHEMA, True)]),
        ('{"a": {"b": 1, "b": 2}}', [(Code.CALL_SCHEMA, True)]),
        ('{"tool_calls": null}', [(Code.CALL_SCHEMA, True)]),
        ('{"deadline_ms": 0}', [(Code.CALL_SCHEMA, False)]),
        ('{"tool_calls": 1, "deadline_ms": "1"}', [(Code.CALL_SCHEMA, True), (Code.CALL_SCHEMA, False)]),
    ],
)
def test_the_faults_of_arguments_are_refused_if_programs_could_read_them_differently(body: str, expected: list[tuple[Code, bool]]) -> None:
    assert [(fault.code, fault.is_refused) for fault in calls.body_faults(call(body))] == expected


def test_the_envelope_of_a_reply_is_an_object_with_ok() -> None:
    envelope = {"ok": True, "content": 1}
    assert calls.read_reply(reply(' \n{"ok": true, "content": 1}')).envelope == envelope
    for body in ('{"content": 1}', '["ok"]', '"ok"', '{"ok": true', "{}", ""):
        assert calls.read_reply(reply(body)).envelope is None


def test_the_body_of_a_call_without_json_is_the_argument() -> None:
    assert calls.read_call(call("print(1)", to="python", constrain=None)).arguments == "print(1)"
    body = ' {"deadline_ms": 5, "tool_calls": [], "a": 1, "a": 2}\n'
    assert calls.read_call(call(body, constrain="text")) == calls.Call("functions.x", "c1", body, None), "nothing in it has a meaning"


@pytest.mark.parametrize(
    ("frame", "error", "hint"),
    [
        (Frame(call("{", to=None).header, "{"), Code.CALL_SCHEMA, "not a call"),
        (call("{", to=None), Code.PARSE_HEADER, "without to="),
        (call("{", to="user"), Code.CALL_SCHEMA, "the recipient must be a tool"),
        (call("{", to="a/b"), Code.BODY_CONSTRAINT_VIOLATION, "not valid JSON"),
        (call("[]", to="a/b"), Code.CALL_SCHEMA, "the tool name"),
        (call("[]"), Code.CALL_SCHEMA, "not a JSON object"),
        (call('{"tool_calls": 1, "deadline_ms": 0}'), Code.CALL_SCHEMA, "tool_calls"),
        (call('{"a": 1, "a": 1, "tool_calls": 1}'), Code.CALL_SCHEMA, "duplicate key"),
    ],
)
def test_of_several_errors_of_a_call_the_first_is_raised(frame: Frame, error: Code, hint: str) -> None:
    with refused(error, match=hint):
        calls.read_call(frame)


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
        call("{}", to="f:g"),
        call("{}", to=""),
        call('{"deadline_ms": 86400001}'),
        call('{"deadline_ms": -1}'),
        call('{"deadline_ms": null}'),
        call('{"deadline_ms": 0.5}'),
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


@pytest.mark.parametrize(
    "body",
    [
        "E-TOOL-TIMEOUT",
        '{"ok": true, "error": "E-TOOL-TIMEOUT"}',
        '{"error": "E-TOOL-TIMEOUT"}',
        '{"ok": 0, "error": "E-TOOL-TIMEOUT"}',
        '{"ok": null, "error": "E-TOOL-TIMEOUT"}',
        '{"ok": "false", "error": "E-TOOL-TIMEOUT"}',
        '{"ok": false}',
        '{"ok": false, "error": {"message": "E-TOOL-TIMEOUT"}}',
        '{"ok": false, "error": {"code": ["E-TOOL-TIMEOUT"]}}',
        '{"ok": false, "error": "E-CALL-SCHEMA"}',
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
