"""What is asked for in the rows: an answer in a format, a cut answer that goes on, calls that are required."""

from typing import Any

from chatui.answer_formats import answer_format
from renderer.frames import Channel, Frame, Header, Role

SCHEMA: dict[str, Any] = {"type": "object", "title": "Zoë", "properties": {"sum": {"type": "integer"}}}
FORMATTED: dict[str, Any] = {"answer_format": answer_format("sum", SCHEMA, "The sum.")}
CONTINUED: dict[str, Any] = {"cut_answer": Frame(Header(Role.ASSISTANT, Channel.FINAL), "Half")}
FORCED: dict[str, Any] = {"must_call": True}
