"""The header of a Responses item: its text is visible only if it is an assistant's message without any sign to the contrary."""

from __future__ import annotations

from typing import Any

import pytest

from chatui.backends.responses.items import Item
from renderer.frame_kinds import ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header

MESSAGE = {"type": "message", "role": "assistant"}


@pytest.mark.parametrize(
    ("learned", "expected"),
    [
        ([MESSAGE], ANSWER),
        ([MESSAGE | {"channel": "final", "phase": "final_answer", "status": "completed"}], ANSWER),
        ([MESSAGE | {"phase": "commentary"}], PREAMBLE),
        ([MESSAGE, {"phase": "commentary"}, {"phase": None}], PREAMBLE),
        ([MESSAGE | {"phase": "draft"}], BROKEN),
        ([MESSAGE | {"phase": 5}], BROKEN),
        ([MESSAGE | {"channel": "analysis"}], BROKEN),
        ([MESSAGE | {"channel": "final "}], BROKEN),
        ([MESSAGE | {"name": "x"}], BROKEN),
        ([MESSAGE | {"call_id": "x"}], BROKEN),
        ([MESSAGE | {"is_thinking": True}], BROKEN),
        ([MESSAGE | {"mystery": "x"}], BROKEN),
        ([MESSAGE | {"mystery": "x"}, MESSAGE], BROKEN),
        ([MESSAGE, {"type": "reasoning"}], BROKEN),
        ([MESSAGE, {"role": "tool"}], BROKEN),
        ([MESSAGE, {"role": 5}], BROKEN),
        ([MESSAGE, {"role": ["assistant"]}], BROKEN),
        ([MESSAGE, {"role": ""}], ANSWER),
        ([{"type": "message"}], BROKEN),
        ([{"role": "assistant"}], BROKEN),
        ([{"type": "reasoning", "role": "assistant"}], BROKEN),
        ([], BROKEN),
    ],
)
def test_only_an_unmarked_message_of_the_assistant_is_visible(learned: list[dict[str, Any]], expected: Header) -> None:
    item = Item(0)
    for data in learned:
        item.learn(data)
    assert item.header() == expected


def test_a_later_status_replaces_an_earlier_one_and_a_missing_one_does_not() -> None:
    item = Item(0)
    for status, expected in (("in_progress", "in_progress"), (None, "in_progress"), ("incomplete", "incomplete")):
        item.learn({"status": status})
        assert item.status == expected
