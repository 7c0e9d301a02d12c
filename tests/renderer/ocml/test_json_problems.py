"""Messages in JSON with several problems, or with one that depends on others: their frames, who sees them, and what is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from renderer.errors import Code, OpenChatMLError
from renderer.gate import Audience, may_see
from renderer.ocml import interchange
from renderer.ocml.document import Reading
from renderer.ocml.document_header import STRICTEST
from renderer.ocml.frame_header import spelled
from tests.support.cases import for_each

TOOL_CALL = {"id": "1", "recipient": "functions.x", "arguments": "{}"}
CALL = {"role": "assistant", "channel": "commentary", "tool_call": TOOL_CALL}
REPLY = {"role": "tool", "channel": "commentary", "to": "assistant", "call_id": "1", "name": "functions.x", "content": "{}"}
ANSWER = {"role": "assistant", "channel": "final", "content": "Hi"}
CALLED = "assistant to=functions.x call_id=1<|channel|>commentary '{}' <|call|>"
REPLIED = "tool to=assistant call_id=1 name=functions.x<|channel|>commentary '{}' <|end|>"
ANSWERED = "SEEN assistant<|channel|>final 'Hi' <|end|>"
UNANSWERED = "assistant intent=debug<|channel|>final 'Hi' <|end|>"
BROKEN = "assistant intent=debug<|channel|>analysis"
PARSE, SCHEMA, BODY = Code.PARSE_HEADER, Code.CALL_SCHEMA, Code.BODY_CONSTRAINT_VIOLATION


def document(*messages: Any, **header: Any) -> str:
    return json.dumps({"header": {"version": "2.2", **header}, "messages": messages})


def frames(reading: Reading) -> list[str]:
    """Each frame with its header, body and end, and with SEEN if an end user may see it."""
    return [
        f"{'SEEN ' * may_see(done.frame.header, Audience.END_USER)}{spelled(done.frame.header)} {done.frame.body!r} {done.frame.terminator}"
        for done in reading.finished
    ]


def check(messages: list[Any], expected: list[str], problems: list[tuple[int, Code, str]], **header: Any) -> None:
    text = document(*messages, **header)
    reading = interchange.read_leniently(text)
    assert frames(reading) == expected
    found = [(problem.location and problem.location.frame, problem.code, problem.hint) for problem in reading.problems]
    assert found == problems
    refused = [problem for problem in reading.problems if problem.is_refused]
    if refused:
        with pytest.raises(OpenChatMLError) as caught:
            interchange.parse_json(text)
        assert caught.value.problem == refused[0]
    else:
        assert interchange.read_strictly(text) == reading


NO_TEXT, NO_ROLE = (0, PARSE, "a value is not a string"), (0, PARSE, "a message without a role")
NO_ID = (0, PARSE, "a call without to= or call_id=")
NO_CALL = (0, SCHEMA, "tool_call must be an object with id, recipient, content_type and arguments")


@for_each(
    [
        ({"terminator": 5}, ["assistant intent=debug<|channel|>final 'Hi' <|end|>"], [NO_TEXT]),
        ({"role": 5}, [f"{BROKEN} 'Hi' <|end|>"], [NO_TEXT, NO_ROLE]),
        (
            {"role": "", "colour": 1},
            [f"{BROKEN} 'Hi' <|end|>"],
            [(0, PARSE, "a message has an unknown key"), (0, PARSE, "a value that is not allowed in a header"), NO_ROLE],
        ),
        ({"thinking": 5}, [f"{BROKEN} '5' <|end|>", "assistant intent=debug<|channel|>final 'Hi' <|end|>"], [NO_TEXT]),
        (
            {"thinking": "Hm", "content": {}},
            ["assistant intent=debug<|channel|>analysis 'Hm' <|end|>", "assistant intent=debug<|channel|>final '{}' <|end|>"],
            [NO_TEXT],
        ),
        (
            {"role": "robot", "channel": "finale"},
            ["robot intent=debug<|channel|>finale 'Hi' <|end|>"],
            [(0, PARSE, "an unknown role"), (0, PARSE, "an unknown channel")],
        ),
        (
            {"role": "tool", "content": "{}"},
            ["tool intent=debug<|channel|>final '{}' <|end|>"],
            [(0, PARSE, "a tool reply without a name"), (0, SCHEMA, "a reply that does not say which call it answers")],
        ),
        (
            {"role": "functions.x", "name": "y"},
            ["tool name=functions.x intent=debug<|channel|>final 'Hi' <|end|>"],
            [
                (0, PARSE, "an attribute appears twice with different values"),
                (0, SCHEMA, "a reply that does not say which call it answers"),
            ],
        ),
        (
            {"tool_calls": None},
            ["assistant intent=debug<|channel|>final 'Hi' <|end|>"],
            [(0, SCHEMA, "tool_calls is not part of the format; use tool_call")],
        ),
        (
            {"constrain": "json"},
            ["SEEN assistant<|channel|>final<|constrain|>json 'Hi' <|end|>"],
            [(0, BODY, "the body does not match its constraint")],
        ),
        ({"constrain": "json", "content": "[1]"}, ["SEEN assistant<|channel|>final<|constrain|>json '[1]' <|end|>"], []),
        ({"tool_call": None}, [ANSWERED], []),
        (
            {"tool_call": {**TOOL_CALL, "id": 5}},
            [UNANSWERED, "assistant to=functions.x intent=debug<|channel|>commentary '{}' <|end|>"],
            [NO_TEXT, NO_ID],
        ),
        (
            {"tool_call": {**TOOL_CALL, "arguments": 5}},
            [UNANSWERED, "assistant to=functions.x call_id=1 intent=debug<|channel|>commentary '5' <|call|>"],
            [NO_TEXT, (0, SCHEMA, "the arguments of a call are not a JSON object")],
        ),
        ({"tool_call": [1]}, [UNANSWERED, "assistant intent=debug<|channel|>commentary '[1]' <|end|>"], [NO_CALL]),
        ({"tool_call": {"more": 1}}, [UNANSWERED, "assistant intent=debug<|channel|>commentary '' <|end|>"], [NO_CALL, NO_ID]),
        ({"channel": "analysis", "tool_call": TOOL_CALL}, ["assistant<|channel|>analysis 'Hi' <|end|>", CALLED], []),
        (
            {"role": "user", "channel": None, "tool_call": TOOL_CALL},
            ["user intent=debug 'Hi' <|end|>", "user to=functions.x call_id=1 intent=debug<|channel|>commentary '{}' <|end|>"],
            [(0, SCHEMA, "only an assistant can call a tool, and the recipient must be a tool")],
        ),
        (
            {"terminator": "return", "tool_call": 5},
            ["assistant intent=debug<|channel|>final 'Hi' <|end|>", "assistant intent=debug<|channel|>commentary '5' <|end|>"],
            [NO_CALL, (0, SCHEMA, "a call must end with <|call|>")],
        ),
    ]
)
def test_every_problem_of_a_message_is_reported_and_each_that_hides_applies_to_the_whole_message(
    message: dict[str, Any], expected: list[str], problems: list[tuple[int, Code, str]]
) -> None:
    check([{**ANSWER, **message}], expected, problems)


NO_SUCH_CALL, SECOND = "a reply without a call", "a second reply to one call"
USED, OTHER_TOOL = "the call id was already used by an earlier call", "a reply from a different tool than the one that was called"
NOT_A_CALL = "assistant to=functions.x call_id=1<|channel|>commentary '{}' <|end|>"


@for_each(
    [
        ([CALL, REPLY], [CALLED, REPLIED], []),
        ([CALL, REPLY, REPLY], [CALLED, REPLIED, REPLIED], [(2, SCHEMA, SECOND)]),
        ([REPLY, CALL, REPLY], [REPLIED, CALLED, REPLIED], [(0, SCHEMA, NO_SUCH_CALL)]),
        ([CALL, CALL, REPLY], [CALLED, NOT_A_CALL, REPLIED], [(1, SCHEMA, USED)]),
        (
            [CALL, {**REPLY, "call_id": "2"}, REPLY],
            [CALLED, REPLIED.replace("call_id=1", "call_id=2"), REPLIED],
            [(1, SCHEMA, NO_SUCH_CALL)],
        ),
        ([CALL, {**REPLY, "name": "y"}], [CALLED, REPLIED.replace("functions.x", "y")], [(1, SCHEMA, OTHER_TOOL)]),
        (
            [5, ANSWER, None, ANSWER],
            [f"{BROKEN} '5' <|end|>", ANSWERED, f"{BROKEN} 'null' <|end|>", ANSWERED],
            [(0, PARSE, "a message must be an object"), (2, PARSE, "a message must be an object")],
        ),
        (
            [{**ANSWER, "colour": 1}, ANSWER],
            ["assistant intent=debug<|channel|>final 'Hi' <|end|>", ANSWERED],
            [(0, PARSE, "a message has an unknown key")],
        ),
    ]
)
def test_a_problem_of_one_message_is_not_one_of_the_next(
    messages: list[Any], expected: list[str], problems: list[tuple[int, Code, str]]
) -> None:
    check(messages, expected, problems)


@for_each(
    [
        (
            [{"role": "assistant", "content": "Hi"}],
            ["assistant intent=debug 'Hi' <|end|>"],
            [(0, Code.PARSE_CHANNEL_MISSING, "the profile requires a channel, and the message has none")],
        ),
        ([ANSWER], ["assistant intent=debug<|channel|>final 'Hi' <|end|>"], [(0, PARSE, "the profile does not allow this channel")]),
        ([CALL], [CALLED], []),
        (
            [{**CALL, "channel": "analysis"}],
            [CALLED.replace("commentary", "analysis")],
            [(0, SCHEMA, "function calls are not allowed on this channel")],
        ),
        ([{"role": "user", "content": "Hi"}], ["SEEN user 'Hi' <|end|>"], []),
    ]
)
def test_the_rules_of_a_profile_hide_what_they_forbid(
    messages: list[Any], expected: list[str], problems: list[tuple[int, Code, str]]
) -> None:
    rules = {"enabled": True, "require_channels": ["analysis", "commentary"], "tool_calls_in": ["commentary"]}
    check(messages, expected, problems, profiles={"harmony": rules})


def test_messages_are_read_although_the_document_has_other_keys_or_a_header_that_is_none() -> None:
    for text in (document(ANSWER).replace('"messages"', '"more": 1, "messages"'), document(ANSWER).replace('{"version": "2.2"}', "5")):
        reading = interchange.read_leniently(text)
        assert frames(reading) == [ANSWERED]
    assert reading.document.profile == STRICTEST
    without = interchange.read_leniently('{"header": {"version": "2.1", "model": "m"}, "messages": 5}')
    assert (without.document.version, without.document.model, without.finished) == ("2.1", "m", ())


def test_bytes_that_are_neither_utf_8_nor_json_have_two_problems() -> None:
    reading = interchange.read_leniently(b'{"\xff": x')
    assert [(problem.hint, problem.location and problem.location.offset) for problem in reading.problems] == [
        ("the bytes are not valid UTF-8", 2),
        ("the text is not valid JSON", 8),
    ]


_ROLES = ["user", "assistant", "assistant", "tool", "functions.x", "robot", None]
_CALLS = some.fixed_dictionaries(
    {"arguments": some.sampled_from(["{}", "[1]", "{", '{"a": 1, "a": 2}'])},
    optional={"id": some.sampled_from(["c1", "c2"]), "recipient": some.sampled_from(["functions.x", "python", "user", "assistant"])},
)
_MESSAGES = some.fixed_dictionaries(
    {"role": some.sampled_from(_ROLES), "content": some.just("KIWI")},
    optional={
        "channel": some.sampled_from(["analysis", "commentary", "final"]),
        "intent": some.sampled_from(["preamble", "status"]),
        "to": some.sampled_from(["user", "functions.x"]),
        "name": some.sampled_from(["functions.x", "document"]),
        "thinking": some.just("LIME"),
        "terminator": some.sampled_from(["end", "return", "call"]),
        "tool_call": _CALLS,
    },
)
_NO_TEXT = some.sampled_from([1, True, [], {}, ["x"], "\ud800"])
_NO_VALUE = some.sampled_from(["", "a b", "<|end|>", "é"]) | _NO_TEXT
_HEADER_KEYS = ["role", "channel", "intent", "to", "name", "call_id", "content_type", "constrain"]
_FAULTS = (
    some.tuples(some.sampled_from(["colour", "tool_calls", "visible", "Role"]), some.none() | some.integers())
    | some.tuples(some.sampled_from(_HEADER_KEYS), _NO_VALUE)
    | some.tuples(some.sampled_from(["content", "thinking", "terminator"]), _NO_TEXT)
    | some.tuples(some.just("tool_call"), some.sampled_from([1, False, "", "x", [], {}, {"more": 1}]))
    | some.tuples(some.just("tool_call"), some.builds(lambda call, key: {**call, key: 5}, _CALLS, some.sampled_from([*TOOL_CALL, "more"])))
)


@given(some.lists(_MESSAGES, min_size=1, max_size=4), some.integers(0, 3), _FAULTS)
def test_a_message_with_a_fault_in_its_form_shows_nothing_and_lets_no_other_show_more(
    messages: list[dict[str, Any]], place: int, fault: tuple[str, Any]
) -> None:
    place %= len(messages)
    messages = [{**message, "content": f"KIWI{number}Q"} for number, message in enumerate(messages)]
    faulty = [*messages[:place], {**messages[place], fault[0]: fault[1]}, *messages[place + 1 :]]
    assert shown(faulty) == [text for text in shown(messages) if text != f"KIWI{place}Q"]


def shown(messages: list[dict[str, Any]]) -> list[str]:
    reading = interchange.read_leniently(document(*messages))
    return [done.frame.body for done in reading.finished if may_see(done.frame.header, Audience.END_USER)]
