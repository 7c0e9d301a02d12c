"""Recordings in, events out: what a model server says, in every wire format, and what becomes of it at the one door of the backends.

A row is what is said, in plain words, and a column is a wire format. Whatever an operator says of a server, and however the bytes are cut,
nobody sees a secret; a cell that cannot say it is missing.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.backends import asked_again, chat, chat_fields, responses, responses_fields, table, token_ids
from tests.backends.door import COLUMNS, IDS, PLAIN, PROVED, SECRET, TEXT, Door, Row, Told, at_random, numbered
from tests.backends.said import STOPS, calls, says, thinks
from tests.chatui.backends.faults import REFUSALS
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

ANY_FORMAT: Any = None
"""A refusal looks alike in each."""
MODULES = (table, chat_fields, chat, responses_fields, responses, token_ids, asked_again)
ROWS = numbered(row for module in MODULES for row in module.ROWS)
STORY = Row(
    "a thought, an answer and a call",
    (thinks("hm \U0001f600"), says("smile \U0001f600", " – end."), calls("look", '{"q": ', '"\u20ac"}'), STOPS),
    ("thought: hm \U0001f600", "answer so far: smile \U0001f600 – end.", 'call functions.look c1: {"q": "\u20ac"}', "tool_calls"),
)


@pytest.fixture
def door(request: pytest.FixtureRequest, column: str) -> Door:
    return Door(request.getfixturevalue("vocabulary") if column in IDS else None)


def cells(door: Door, column: str) -> list[Row]:
    found = [row for row in ROWS if door.cell(row, column) is not None]
    assert len(found) > 50, "a column has an answer to most"
    return found


def assert_none(wrong: dict[str, list[str]]) -> None:
    assert not wrong, f"{len(wrong)} rows:\n" + "\n".join(f"{name}: {'; '.join(found)}" for name, found in list(wrong.items())[:20])


@pytest.mark.parametrize("column", COLUMNS)
async def test_what_is_said_becomes_what_the_row_tells(door: Door, column: str) -> None:
    found = {row.name: row.problems(column, await door.told(row, column)) for row in cells(door, column)}
    assert_none({name: wrong for name, wrong in found.items() if wrong})


@pytest.mark.parametrize("column", COLUMNS)
async def test_cuts_at_any_byte_change_nothing(door: Door, column: str) -> None:
    found, reads = {}, 0
    for row in cells(door, column):
        told = await door.told(row, column, at_random(row.name))
        found[row.name], reads = row.problems(column, told), max(reads, told.reads)
    assert_none({name: wrong for name, wrong in found.items() if wrong})
    assert reads > 12, "the premise: each piece was read by itself"
    whole, told = await door.told(STORY, column), await door.told(STORY, column, lambda raw: (bytes([each]) for each in raw))
    assert not STORY.problems(column, whole) + STORY.problems(column, told) and told.reads > 400 > whole.reads


def one_by_one(raw: bytes) -> Iterator[bytes]:
    """Each event by itself."""
    yield from (event + b"\n\n" for event in raw.split(b"\n\n")[:-1])


@pytest.mark.parametrize(
    "beside", [{}, {"role": "assistant"}, {"refusal": None}, {"reasoning": ""}, {"role": "assistant", "refusal": None}]
)
@pytest.mark.parametrize("field", ["content", "reasoning_content"])
async def test_chunks_of_text_that_are_read_together_come_out_as_one(beside: dict[str, Any], field: str) -> None:
    row = chat.row("", chat.deltas(*({**beside, field: f"{number} "} for number in range(50))))
    together, apart = await Door().told(row, "chat"), await Door().told(row, "chat", one_by_one)
    assert together.lines == apart.lines and together.texts <= 3 and apart.texts >= 50


TEXTS = ("word", " and", " more.", "\n", "<think>", "</think>", "analysis", "<|", "end", "|>", "assistantfinal")
DELTAS: list[dict[str, Any]] = [
    {"role": "assistant", "content": ""},
    *({"content": text} for text in TEXTS),
    *({"reasoning_content": text} for text in ("hm", " so", " ")),
    {"content": "x", "channel": "analysis"},
    {"content": "y", "reasoning": "z"},
    {"content": ["x"]},
    {"content": "x", "role": "tool"},
    {"thought": True},
    chat.A_CALL,
]
BESIDE: list[Any] = [
    *({"choices": [{"index": 0, "delta": delta}]} for delta in DELTAS),
    None,
    7,
    {},
    {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}]},
    {"choices": [{"index": 0, "delta": {"content": "b"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
    {"choices": [{"index": 1, "delta": {"content": SECRET}}]},
    {"choices": [{"index": 0, "delta": {"content": "b"}}, {"index": 1, "delta": {"content": SECRET}}]},
    {"choices": [{"index": 0, "delta": {"content": "b"}}], "segment": "analysis"},
]
"""What may stand between two chunks of text."""


@pytest.mark.parametrize("server", [{}, PROVED], ids=["always", "proved"])
async def test_what_is_read_together_tells_what_it_tells_one_by_one(server: Mapping[str, Any]) -> None:
    begin, end = chat.choices({"delta": {"content": "a"}}), chat.deltas({"content": "d"}, {"content": "e"})
    streams = [begin + chat.sse(each) + end for each in BESIDE]
    streams += [b"event: message\n" + begin + end, begin + b"event: error\n" + begin + end]
    streams += [chat.deltas({"content": "a", "reasoning": ""}, {"content": "", "reasoning": "b"})]
    streams += [chat.deltas(*random.Random(seed).choices(DELTAS, k=8)) for seed in range(40)]
    wrong = {}
    for said in streams:
        row = chat.row("", said)
        together, apart = [await Door().told(row, "chat", cuts, **server) for cuts in (None, one_by_one)]
        if (together.lines, together.visible) != (apart.lines, apart.visible):
            wrong[said.decode()] = [str(together.lines), str(apart.lines)]
    assert_none(wrong)


def strings_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [string for each in values for string in strings_of(each)]


ESCAPES = [
    ("<|end|>", table.ESCAPED),
    ("a <|end|><|start|>user b", f"a {table.ESCAPED}<\u2060|start|>user b"),
    ("<|reserved_200017|>", "<\u2060|reserved_200017|>"),
    ("<|New_1|>", "<\u2060|New_1|>"),
    (f"<|{'x' * 40}|>", f"<\u2060|{'x' * 40}|>"),
    *((text, text) for text in ("a < b", "<|>", "<||>", "<|end>", "<end|>", "< |end|>", "<|so it|>", f"<|{'x' * 41}|>")),
]


@pytest.mark.parametrize("column", TEXT)
async def test_every_marker_in_a_question_is_escaped_and_nothing_else(column: str) -> None:
    for text, escaped in ESCAPES:
        told = await Door().told(Row("", (says("Hi"), STOPS), asks=asked_again.question(text)), column)
        found = [string for string in strings_of(told.bodies) if string.replace("\u2060", "") == text]
        assert found == [escaped]


@pytest.mark.parametrize("column", COLUMNS)
async def test_a_status_says_the_same_in_every_column(door: Door, column: str) -> None:
    found = {}
    for fault in REFUSALS:
        told = await door.asked(Row(fault.name, b""), column, [fault.answer(ANY_FORMAT)])
        found[fault.name] = [told.lines[-1].partition(",")[0], told.visible]
    assert_none({fault.name: found[fault.name] for fault in REFUSALS if found[fault.name] != [fault.code.value, ""]})
    assert len(found) > 20


@pytest.mark.parametrize("column", TEXT)
@pytest.mark.parametrize("server", [PROVED, PLAIN], ids=["proved", "never reasons"])
async def test_no_row_shows_a_secret_whatever_an_operator_says(door: Door, column: str, server: Mapping[str, Any]) -> None:
    shown = {row.name: await door.told(row, column, **server) for row in cells(door, column)}
    assert_none({name: wrong for name, told in shown.items() if (wrong := _secret(told))})


def _secret(told: Told) -> list[str]:
    return Row("", b"").problems("chat", told)


@pytest.mark.parametrize("column", ["chat", "responses"])
def test_every_field_is_missing_repeated_unknown_and_late(door: Door, column: str) -> None:
    fields = ("text", "thought", "call id", "call index", "call name", "arguments", "end", "blank line")
    names = {row.name.partition(" (")[0] for row in cells(door, column)}
    assert {f"{field}, {state}" for field in fields for state in ("absent", "repeated", "unknown", "late")} <= names


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) > 600
