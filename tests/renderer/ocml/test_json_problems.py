"""A message in JSON with a fault in its form is hidden, and no other is shown for it; tests/conformance has what is reported."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from renderer.gate import Audience, may_see
from renderer.ocml import interchange

TOOL_CALL = {"id": "1", "recipient": "functions.x", "arguments": "{}"}


def document(*messages: Any, **header: Any) -> str:
    return json.dumps({"header": {"version": "2.2", **header}, "messages": messages})


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
