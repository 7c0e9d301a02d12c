"""The header of a Responses item: its text is visible only if it is an assistant's message without any sign to the contrary."""

from __future__ import annotations

from typing import Any

import pytest

from chatui.backends.responses.items import CALL, Item, Items
from chatui.backends.speaker import Label
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
        ([MESSAGE | {"channel": "analysis"}, {"channel": None}], BROKEN),
        ([MESSAGE, {"channel": "analysis"}], BROKEN),
        ([MESSAGE | {"arguments": "x", "summary": ["x"], "encrypted_content": "x"}], ANSWER),
        ([MESSAGE, {"name": "x"}, {"name": ""}], BROKEN),
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


@pytest.mark.parametrize(("late", "name"), [({"type": "reasoning"}, "type"), ({"role": 5}, "role")])
def test_another_type_or_role_is_a_known_label(late: dict[str, Any], name: str) -> None:
    item = Item(0)
    item.learn(MESSAGE)
    item.learn(late)
    item.learn({"mystery": "x"})
    assert item.label == Label(name, is_known=True)


def test_an_item_that_an_event_names_first_is_found_by_its_id() -> None:
    items = Items()
    assert [items.item_for_text({"item_id": name}).number for name in ("a", "b", "a")] == [0, 1, 0]
    assert [items.item_for_call({"item_id": name}).number for name in ("c", "d", "c")] == [2, 3, 2]
    assert [item.kind for item in items] == ["", "", CALL, CALL]


def test_text_at_the_place_of_an_item_that_has_ended_belongs_to_a_new_one() -> None:
    items = Items()
    items.added(MESSAGE, 0).is_done = True
    assert items.item_for_text({"output_index": 0}).number == 1
