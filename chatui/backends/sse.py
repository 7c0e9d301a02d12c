"""Decodes a text/event-stream from bytes (WHATWG HTML standard), however the bytes are split, and the JSON in its events.

Lines and events are bounded. Only CR and LF end a line, so it works on bytes: text readers also split at U+2028 and U+0085, which are
legal inside JSON.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from renderer.strict_json import has_more_marks

MAX_MARKS = 100_000
"""The most strings, commas and opening brackets of a line that is parsed to find its end."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: the ``event`` field (empty if there was none) and the ``data`` lines joined by line feeds."""

    name: str
    data: str = field(repr=False)


class EventTooLongError(ValueError):
    """A line or an event is longer than the decoder's limit."""


class Decoder:
    """Bytes in, events out. ``id`` and ``retry`` are ignored: these streams are not resumed."""

    def __init__(self, max_bytes: int) -> None:
        """``max_bytes`` limits one line, and the data of one event."""
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_size = 0
        self._name = ""
        self._skip_line_feed = False
        self._at_start = True
        self._too_long: EventTooLongError | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that ``chunk`` completes.

        Raises:
            EventTooLongError: the limit was exceeded; the rest of the stream cannot be read. Events that came before it in the same chunk
                are returned first, and the next call, or ``check``, raises.
        """
        self.check()
        if not chunk:
            return []
        if self._skip_line_feed:
            # The CR of a CRLF that was cut in two has already ended its line.
            chunk = chunk.removeprefix(b"\n")
        *complete, rest = _LINE_END.split(chunk)
        self._skip_line_feed = chunk.endswith(b"\r")
        if complete and self._line:
            complete[0], self._line = bytes(self._line + complete[0]), bytearray()
        self._line += rest
        events: list[ServerSentEvent] = []
        try:
            events.extend(filter(None, map(self._take, complete)))  # those before an error stay
            if len(self._line) > self._max_bytes:
                raise self._too_much("a line")
        except EventTooLongError as error:
            self._too_long = error
            if not events:
                raise
        return events

    def finish(self) -> list[ServerSentEvent]:
        """The stream ended. Some servers leave out the blank line after the last event, or even its line end: a whole object is taken, and
        so is the mark of the end. Anything else was cut, and is dropped, as the standard requires.

        Raises:
            EventTooLongError: as ``feed``, whose last events came before it.
        """
        self.check()
        events = (self._take(bytes(self._line)), self._dispatch())
        self._line, self._data, self._data_size, self._name = bytearray(), [], 0, ""
        return [event for event in events if event and _is_whole(event.data)]

    def check(self) -> None:
        """Raises EventTooLongError if the rest of the stream cannot be read: it came behind the events that were returned last."""
        if self._too_long:
            raise self._too_long

    def _too_much(self, what: str) -> EventTooLongError:
        return EventTooLongError(f"{what} of more than {self._max_bytes} bytes")

    def _take(self, line: bytes) -> ServerSentEvent | None:
        """Take a line without its end. Returns the event that it completes, if any."""
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if len(line) > self._max_bytes:
            raise self._too_much("a line")
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        ended = None
        if name == b"data":
            match self._data:
                case [first] if not has_more_marks(first, MAX_MARKS) and _is_whole(first.decode("utf-8", "replace")):
                    # Some servers leave out the blank line between events. No object goes on after its end. Of one with more values,
                    # finding that out would take everybody's time.
                    ended = self._dispatch()
            self._data_size += len(value)
            if self._data_size > self._max_bytes:
                raise self._too_much("an event")
            self._data.append(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        return ended

    def _dispatch(self) -> ServerSentEvent | None:
        data, name = self._data, self._name
        self._data, self._data_size, self._name = [], 0, ""
        if not data:
            return None
        return ServerSentEvent(name, b"\n".join(data).decode("utf-8", "replace"))


def _is_whole(data: str) -> bool:
    return data.strip() == "[DONE]" or is_object(data)


# JSON from servers: any part of it may be missing, or of another type than the wire format says.


_raw_decode = json.JSONDecoder().raw_decode


def decoded(text: str) -> Any:
    """None if it is no JSON."""
    text = text.strip(" \t\n\r")
    try:
        value, end = _raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if end == len(text) else None


def is_object(text: str) -> bool:
    """Whether it is a JSON object."""
    return isinstance(decoded(text), dict)


def tables(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number(value: object) -> int | None:
    """A whole number, or None."""
    return value if type(value) is int else None


def choice_of(chunk: object) -> dict[str, Any] | None:
    """The one choice that is read of a completion, or of a chunk of one: that with index 0 or without an index, wherever it stands."""
    match chunk:
        case {"choices": [*choices]}:
            for choice in choices:
                if type(choice) is dict and choice.get("index") in (0, None):
                    return choice
    return None
