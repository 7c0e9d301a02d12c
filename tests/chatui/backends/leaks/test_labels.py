"""Which words at the beginning of an answer announce reasoning, and which answers are a server's own data.

It is tested where the announced answer begins. Of a server's data, hidden parts stay hidden, other data is
shown unchanged, and neither is guessed from too little.
"""

from __future__ import annotations

import json

from chatui.backends.leaks.labels import answer_after, visible_of
from tests.support.cases import for_each


def answer(text: str) -> str | None:
    """The answer after the label at the beginning of a text."""
    at = answer_after(text)
    return None if at is None else text[at:]


@for_each([
    ("Thinking: x\nAnswer: 42", " 42"),
    ("Thinking: x\n**Final answer:** 42", " 42"),
    ("Thinking: x\nAnswer: y\nAnswer: 42", " 42"),
    ("Thinking...\nx\n...done thinking.\n42", "\n42"),
    ("  Thinking: x\nAnswer: 42", " 42"),
    ("思考：x\n最终回答：42", "42"),
    ("Here is my reasoning: x Here is my answer: 42", " 42"),
    ("Here is my reasoning: x\nAnswer: 42", None),
    ("Analysis: x\nFinal: 42", " 42"),
    ("Analysis: x\nAnswer: 42", None),
    ("Thinking: x, answer: 42", None),
    ("Thinking: x", None),
    ("```thinking\nx\n```\n42", "42"),
    ("````thinking\nx\n```\ny\n````\n42", "42"),
    ("```thinking\nx\n~~~\n42", ""),
    ("```thinking\nx", ""),
    ("thinking\nx", ""),
    ("## Analysis\nx\n## Final\n42", None),
    ("> **Thinking**\n> x\n\n42", "\n42"),
    ("> **Thinking**\n> x\n> y\n42", "42"),
    ("Thinking:\n> x\n> y\n42", "42"),
    ("Thinking:\n\n> x\n42", "42"),
    ("Thinking:\nx\n> y\n42", None),
    ("> Thinking: x", ""),
    ("Analysis:\n> x\n42", None),
])  # fmt: skip
def test_the_answer_begins_after_its_own_label_or_after_the_block(text: str, expected: str | None) -> None:
    assert answer(text) == expected


THOUGHT = {"type": "thinking", "text": "SECRET"}
TEXT = {"type": "text", "text": "42"}


@for_each([
    ([THOUGHT, TEXT], "42"),
    ([TEXT, THOUGHT, {"type": "output_text", "text": " is it."}], "42 is it."),
    ([{"type": "text", "text": "SECRET", "thought": True}, TEXT], "42"),
    ([{"type": "text", "text": "SECRET", "channel": "analysis"}, TEXT], "42"),
    ([{"type": "text", "text": "SECRET", "phase": "commentary"}, TEXT], "42"),
    ([{"type": "text", "text": "SECRET", "role": "tool"}, TEXT], "42"),
    ([{"type": "TEXT", "text": "SECRET"}, THOUGHT, TEXT], "42"),
    ([{"type": "image", "text": "SECRET"}, THOUGHT, TEXT], "42"),
    ([{"name": "f", "arguments": "SECRET"}, TEXT], "42"),
    ([{"type": "text", "text": 7}, THOUGHT, TEXT], "42"),
    ([THOUGHT], ""),
    ([THOUGHT, "SECRET"], ""),
    ({"type": "Reasoning", "text": "SECRET"}, ""),
    ({"role": "function", "content": "SECRET"}, ""),
    ({"name": "f", "parameters": {"q": "SECRET"}}, ""),
    ({"name": "", "arguments": "SECRET"}, ""),
    ({"id": "c", "name": "f", "arguments": "SECRET"}, ""),
    ({"arguments": "SECRET", "name": "f"}, ""),
    ({"parameters": {"q": "SECRET"}, "name": "f"}, ""),
    ({"index": 0, "call_id": "c", "arguments": {"q": "SECRET"}, "name": "f"}, ""),
    ({"type": "function", "name": "f", "parameters": {"q": "SECRET"}}, ""),
    ({"type": "function", "id": "c", "name": "f", "arguments": "SECRET"}, ""),
    ({"type": "function", "function": {"name": "f", "arguments": "SECRET"}}, ""),
    ({"id": "c", "type": "function", "function": {"arguments": "SECRET", "name": "f"}}, ""),
    ([{"id": "c", "index": 0, "type": "function", "function": {"name": "f", "arguments": "SECRET"}}, TEXT], "42"),
    ({"reasoning": "SECRET", "final_answer": "42"}, "42"),
    ({"thinking": "SECRET", "Final Answer": "42"}, "42"),
    ({"Thinking": "SECRET", "final-answer": "42"}, "42"),
    ({"thinking": "SECRET", "content": "no", "answer": "42"}, "42"),
    ({"thinking": "SECRET", "answer": ["SECRET"], "content": "42"}, "42"),
    ({"thinking": "SECRET", "note": "SECRET"}, ""),
])  # fmt: skip
def test_only_the_answer_of_a_servers_own_data_is_shown(data: object, shown: str) -> None:
    assert visible_of(json.dumps(data)) == visible_of(f"  {data!r}\n") == shown
    assert visible_of(json.dumps(data, separators=(",", ":"))) == visible_of(json.dumps(data, indent=2)) == shown


@for_each([
    {"text": "thinking", "a": 1},
    {"note": "'thinking': in a string"},
    [{"a": "'type': 'thinking'"}],
    {"type": "text", "text": "42"},
    {"role": "assistant", "content": "42"},
    {"name": "Ada", "arguments": "for and against", "year": 1843},
    {"id": 7, "name": "Sensor", "parameters": {"unit": "K"}},
    {"type": "sensor", "name": "North", "parameters": {"unit": "K"}},
    {"type": "function", "name": "f", "description": "Adds.", "parameters": {"type": "object"}},
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "f", "arguments": "two"}, "colour": "red"},
    {"type": "function", "function": {"name": "f", "arguments": "two", "colour": "red"}},
    {"type": "function", "function": "f", "arguments": 2},
    {"type": "operator", "function": {"name": "f", "arguments": 2}},
    {"arguments": ["for", "against"], "parameters": 2},
    [{"parameters": 2, "name": "f", "unit": "K"}, TEXT],
    [TEXT, TEXT],
    [TEXT, {"note": "'thinking': is a key"}],
])  # fmt: skip
def test_data_without_hidden_parts_is_shown_unchanged(data: object) -> None:
    assert visible_of(json.dumps(data)) is None


@for_each([
    ('{"thinking": "SECRET", "answer": "4', ""),
    ('[] "thinking": "SECRET"', ""),
    ('{"arguments": {"q": "SECRET', ""),
    ("[ {'arguments' : {'q': 'SECRET", ""),
    ('{"id": "c", "arguments": "SECRET", "name": "f"}\n{"id": "d", "arguments": "SECRET", "name": "g"}', ""),
    (' {"note": 1},\n{"type": "function", "function": {"arguments": "SECRET", "name": "f"}}; and more', ""),
    ('[{"id": "c", "arguments": "SECRET", "name": "f"}, "and more"]', ""),
    ("[{'id': 'c', 'arguments': 'SECRET', 'name': 'f'}, 'and more']", ""),
    ("{'id': 'c', 'arguments': 'SECRET', 'name': 'f'}, {'id': 'd'}", ""),
    ('["arguments", {"parameters": 1, "unit": "K"}, "and more"]', None),
    ('{"parameters": 1, "unit": "K"}\n{"parameters": 2, "unit": "K"}\n', None),
    ('{"note": 1} and {"id": "c", "arguments": "two", "name": "f"}', None),
    ('{"parameters": {"unit": "K"}, // a comment', None),
    ('{"note": 1, "arguments": {"unit": "K"}, // a comment', None),
    ('{"a": {"thinking": "x"}} and more', ""),
    ("[" * 100_000 + '"thinking":', ""),
    ("no data at all", None),
    ("{'type': 'thinking', 'text': 'x'}, {'type': 'text', 'text': 'x'}", ""),
])  # fmt: skip
def test_what_cannot_be_read_is_hidden_if_it_names_hidden_text(text: str, shown: str | None) -> None:
    assert visible_of(text) == shown


def test_very_long_data_with_hidden_text_is_hidden_unread() -> None:
    long = json.dumps({"thinking": "SECRET", "answer": "4" * (1 << 20)})
    assert visible_of(long) == ""


def test_python_data_with_very_many_parts_is_hidden_unread_if_it_names_hidden_text() -> None:
    few, many = [[THOUGHT] * count + [TEXT] for count in (900, 2000)]
    assert (visible_of(repr(few)), visible_of(repr(many)), visible_of(json.dumps(many))) == ("42", "", "42")
    assert visible_of(repr([{"parameters": 2}] * 10_000)) is None
