"""Writes the reply to a call, of bounded length, in the envelope that the specification defines (section 8.2).

Errors are replies, too: they have a code and a sentence that the model can act on. Call ids are made unique within a conversation, because
some servers restart their numbering with each completion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from renderer.errors import ErrorCode
from renderer.events import FrameOpened, RawEvent
from renderer.frame_kinds import addresses_tool
from renderer.frames import Role

_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_CUT = "… [cut here: the reply was longer]"


@dataclass(frozen=True, slots=True)
class ToolReply:
    """The reply to a call. ``text``: the envelope. ``error``: its code; None if the call succeeded."""

    text: str = field(repr=False)
    error: ErrorCode | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a reply, and how long the call took."""

    source: str
    milliseconds: int | None = None

    def as_json(self) -> dict[str, object]:
        """The fields for the envelope."""
        took = {} if self.milliseconds is None else {"duration_ms": self.milliseconds}
        return {"source": self.source, "timestamp": datetime.now(UTC).isoformat(timespec="seconds"), **took}


def bounded_json(value: object, max_chars: int) -> str:
    """A tool's result as JSON, of about ``max_chars`` characters at most. Longer results are cut while they are encoded.

    Raises:
        TypeError, ValueError, RecursionError: the result cannot be encoded as JSON.
    """
    if isinstance(value, str):
        value = value if len(value) <= max_chars else value[:max_chars] + _CUT
        return _ENCODER.encode(value)
    parts: list[str] = []
    length = 0
    # Strings in it are cut first, so that no piece is long.
    for part in _ENCODER.iterencode(_shortened(value, max_chars)):
        parts.append(part[: max_chars - length])
        length += len(part)
        if length > max_chars:
            # Cut JSON is not valid, so it is sent as text, which the model reads just as well.
            return _ENCODER.encode("".join(parts) + _CUT)
    return "".join(parts)


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
        return value if len(value) <= max_chars else value[:max_chars] + _CUT
    if depth > 50:
        raise ValueError("too deep")
    if isinstance(value, dict):
        return {str(key): _shortened(each, max_chars, depth + 1) for key, each in list(value.items())[:max_chars]}
    if isinstance(value, (list, tuple)):
        return [_shortened(each, max_chars, depth + 1) for each in value[:max_chars]]
    return value


class CallIds:
    """Replaces repeated call ids.

    ``feed`` each event of a turn: a call with an id that was used before gets a new one, and so does its reply.
    """

    def __init__(self, used: Iterable[str]) -> None:
        """``used``: the ids of earlier calls."""
        self._used = set(used)
        self._renamed: dict[str, str] = {}

    def feed(self, event: RawEvent) -> RawEvent:
        """The event, with an id that no other call has."""
        if not isinstance(event, FrameOpened) or event.header.call_id is None:
            return event
        call_id = event.header.call_id
        if event.header.role != Role.TOOL:
            if not addresses_tool(event.header):
                return event
            if call_id in self._used:
                self._renamed[call_id] = f"call_{uuid4().hex}"
            self._used.add(self._renamed.get(call_id, call_id))
        return replace(event, header=replace(event.header, call_id=self._renamed.get(call_id, call_id)))
