"""Converts stored messages into the Response items of an answer's input and output."""

from __future__ import annotations

from chatui.api.writing.call_items import call_item, output_item
from chatui.api.writing.response_object import Item, message_item, reasoning_item
from chatui.display.programs.answers import StoredPart
from chatui.turns.streams.program import Called


def item_of_output(part: StoredPart) -> Item:
    """An item for a part of the answer."""
    if part.is_thought:
        return reasoning_item(part.key, [], "completed", part.text)
    if part.steps is not None:
        return reasoning_item(part.key, part.steps, "completed")
    if part.function:
        return call_item(part.key, Called(part.call_id, part.function, part.text))
    return message_item(part.key, part.text, "completed" if part.is_whole else "incomplete", is_preamble=part.is_preamble)


def item_of_input(part: StoredPart) -> Item:
    """An item for a message of the input. A request can send it again."""
    if part.role == "tool":
        return output_item(part.key, part.call_id, part.text)
    if part.role != "user":
        return item_of_output(part)
    content = [{"type": "input_text", "text": part.text}]
    return {"id": f"msg_{part.key}", "type": "message", "status": "completed", "role": "user", "content": content}
