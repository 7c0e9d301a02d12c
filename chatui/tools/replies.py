"""Writes the reply to a call, of bounded length, in the envelope that the specification defines (section 8.2).

Errors are replies, too: they have a code and a sentence that the model can act on. Call ids are made unique within a conversation, because
some servers restart their numbering with each completion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from renderer.errors import ErrorCode
from renderer.events import FrameOpened, RawEvent
from renderer.frame_kinds import addresses_tool
from renderer.frames import Role

_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
MAX_DEPTH = 50
"""How many levels a result may have."""
MAX_DEPTH_OF_ROWS = 3
_MARK_CHARS = 80


@dataclass(frozen=True, slots=True)
class ToolReply:
    """The reply to a call."""

    text: str = field(repr=False)
    """The envelope."""
    error: ErrorCode | None = None
    """Its code; None if the call succeeded."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a reply, and how long the call took."""

    source: str
    milliseconds: int | None = None

    def as_json(self) -> dict[str, object]:
        """The fields for the envelope."""
        took = {} if self.milliseconds is None else {"duration_ms": self.milliseconds}
        return {"source": self.source, "timestamp": datetime.now(UTC).isoformat(timespec="seconds"), **took}


class TooDeepError(ValueError):
    """A result has more levels than are read. The text is for the model."""


def bounded_json(value: object, max_chars: int) -> str:
    """A tool's result as JSON, of about ``max_chars`` characters at most. Of a longer one with a list, whole rows of the longest list are
    left out, and everything beside it is kept; anything else is cut. What is missing is said.

    Raises:
        TooDeepError: it has more than MAX_DEPTH levels.
        TypeError, ValueError, RecursionError: the result cannot be encoded as JSON.
    """
    if isinstance(value, str):
        return _ENCODER.encode(_cut(value, max_chars))
    encoded, is_whole = _encoded(value, max_chars)
    if is_whole:
        return encoded
    # Cut JSON is not valid, so it is sent as text, which the model reads just as well.
    return _with_fewer_rows(value, max_chars) or _ENCODER.encode(f"{encoded}… [cut here: the reply was longer]")


def _encoded(value: object, max_chars: int) -> tuple[str, bool]:
    """The beginning of the JSON, and whether it is all of it. It is cut while it is encoded."""
    parts: list[str] = []
    length = 0
    # Strings in it are cut first, so that no piece is long.
    for part in _ENCODER.iterencode(_shortened(value, max_chars)):
        parts.append(part[: max_chars - length])
        length += len(part)
        if length > max_chars:
            return "".join(parts), False
    return "".join(parts), True


def _with_fewer_rows(value: object, max_chars: int) -> str | None:
    """The JSON with as many rows of its longest list as there is room for, and a mark; None if the list is not what is long."""
    rows = max(_lists(value), key=len, default=[])
    frame, is_whole = _encoded(_replaced(value, rows, []), max_chars - _MARK_CHARS)
    if not is_whole or not rows:
        return None
    room = max_chars - _MARK_CHARS - len(frame)
    kept: list[object] = []
    for row in rows:
        encoded, is_whole = _encoded(row, room)
        room -= len(encoded) + 2
        if not is_whole or room < 0:
            break
        kept.append(row)
    if not kept:
        return None
    mark = f"[{len(rows) - len(kept):,} of {len(rows):,} rows left out here]"
    return _encoded(_replaced(value, rows, [*kept, mark]), 2 * max_chars)[0]


def _lists(value: object, depth: int = 0) -> Iterator[list[Any]]:
    """The lists in a value that are in no other list."""
    if isinstance(value, list):
        yield value
    elif isinstance(value, dict) and depth < MAX_DEPTH_OF_ROWS:
        for each in value.values():
            yield from _lists(each, depth + 1)


def _replaced(value: object, old: list[Any], new: list[Any]) -> object:
    if value is old:
        return new
    return {name: _replaced(each, old, new) for name, each in value.items()} if isinstance(value, dict) else value


def _cut(text: str, max_chars: int) -> str:
    chars_over = len(text) - max_chars
    return text if chars_over <= 0 else f"{text[:max_chars]}… [cut here: {chars_over:,} more character{'s' * (chars_over != 1)}]"


def in_middle(text: str, max_chars: int) -> str:
    """The text, cut in the middle if it is longer: what went wrong is often said at the end."""
    if len(text) <= max_chars:
        return text
    mark = f" [… {len(text) - max_chars:,} characters left out …] "
    tail = max_chars // 2
    return f"{text[: max_chars - tail]}{mark}{text[-tail:]}"


def succeeded(content: str, provenance: Provenance, note: str = "") -> ToolReply:
    """The reply to a call that succeeded. ``content``: JSON, see ``bounded_json``. ``note``: a sentence of ours."""
    noted = f'"note": {_ENCODER.encode(note)}, ' if note else ""
    return ToolReply(f'{{"ok": true, {noted}"content": {content}, "error": null, "provenance": {_ENCODER.encode(provenance.as_json())}}}')


_NOT_KEPT = "What the tool found is not kept. Call it again to read it."


def not_kept(reply: ToolReply) -> ToolReply:
    """What the record has in the place of a reply that is not kept (``Tool.keeps_replies``)."""
    here = Provenance("chatui")
    return failed(reply.error, _NOT_KEPT, here) if reply.error else succeeded(_ENCODER.encode(_NOT_KEPT), here)


def plain_text_reply(content: str) -> ToolReply:
    """The reply of a tool that the model was trained with: no envelope, and strings have no quotes. ``content``: see ``bounded_json``."""
    value = json.loads(content)
    return ToolReply(value if isinstance(value, str) else content)


def failed(code: ErrorCode, sentence: str, provenance: Provenance) -> ToolReply:
    """The reply to a call that failed, was refused, timed out or was cancelled."""
    error = {"code": code.value, "message": sentence}
    return ToolReply(_ENCODER.encode({"ok": False, "content": None, "error": error, "provenance": provenance.as_json()}), code)


def _shortened(value: Any, max_chars: int, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _cut(value, max_chars)
    if depth > MAX_DEPTH:
        raise TooDeepError(f"The tool answered, but its result has more than {MAX_DEPTH} levels, which is too deep to be read here.")
    if isinstance(value, dict):
        return {str(key): _shortened(each, max_chars, depth + 1) for key, each in list(value.items())[:max_chars]}
    if isinstance(value, (list, tuple)):
        return [_shortened(each, max_chars, depth + 1) for each in value[:max_chars]]
    return value


class CallIds:
    """Replaces repeated call ids, and in a program's turn all.

    ``feed`` each event of a turn: a call with an id that was used before gets a new one, and so does its reply.
    """

    def __init__(self, used: Iterable[str], *, are_seen: bool = False) -> None:
        """``used``: the ids of earlier calls. ``are_seen``: a program gets the ids, in which a model server could put hidden text."""
        self._used = set(used)
        self._are_seen = are_seen
        self._renamed: dict[str, str] = {}

    def feed(self, event: RawEvent) -> RawEvent:
        """The event, with an id that no other call has."""
        if not isinstance(event, FrameOpened) or event.header.call_id is None:
            return event
        call_id = event.header.call_id
        if event.header.role != Role.TOOL:
            if not addresses_tool(event.header):
                return event
            if self._are_seen or call_id in self._used:
                self._renamed[call_id] = f"call_{uuid4().hex}"
            self._used.add(self._renamed.get(call_id, call_id))
        return replace(event, header=replace(event.header, call_id=self._renamed.get(call_id, call_id)))
