"""The short form of the most frequent events: more text for the open block of an answer.

In a frame, an array is a short event. It is about the same turn and block as the last full event, not counting beats:

=========================================  =====================================================================================
``[number, text]``                         ``BlockGrew``
``[number, end, html]``                    ``BlockReplaced``: ``html`` is inserted before the last ``end`` characters of its HTML
``[number, end, html, removed]``           the same, and it replaces the ``removed`` characters before those
``[number, end, html, removed, 1]``        the same, as ``BlockFlushed``
``[number, -1, html]``                     ``BlockReplaced`` for the next block of the message; later short events are about that block
=========================================  =====================================================================================

``number`` is the sequence number. Characters are counted in UTF-16 units, as in JavaScript. The browser assembles exactly the HTML that the
server rendered, so a short event shows nothing that the full one would not. ``static/js/wire/protocol.js`` reads this on the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from chatui.wire.base import Event, Numbered
from chatui.wire.turn_events import Beat, BlockFlushed, BlockGrew, BlockReplaced

_NEXT = -1
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class _Open:
    """The block that short events are about. ``html`` is the block's HTML on the pages; None if it is not known as one string, or if the
    block is closed."""

    type: str
    message_id: str
    block: int
    html: str | None


class Compactor:
    """Encodes the events of one turn for one audience. Call ``forget`` before a follower joins, who does not know the open block."""

    def __init__(self) -> None:
        self._open: _Open | None = None

    def encode(self, events: Iterable[Event | Numbered]) -> str:
        """Encode events as one WebSocket frame."""
        return _ENCODE([self._short(event) if isinstance(event, Numbered) else event.as_json() for event in events])

    def forget(self) -> None:
        """Write the next event about a block in full."""
        self._open = None

    def _short(self, numbered: Numbered) -> object:
        event, number = numbered.event, numbered.sequence_number
        match event:
            case BlockReplaced(html=html) if (shown := self._shown(event)) is not None:
                short: list[object] = [number, *_difference(shown, html.html)]
            case BlockFlushed(html=html) if (shown := self._shown(event)) is not None:
                end, more, *removed = _difference(shown, html.html)
                short = [number, end, more, *(removed or [0]), 1]
            case BlockReplaced(html=html) if self._is_next(event):
                short = [number, _NEXT, html.html]
            case BlockGrew(text=text) if self._is_open(event):
                short = [number, text]
            case _:
                self._note(event)
                return numbered.as_json()
        self._note(event)
        return short

    def _is_open(self, event: BlockReplaced | BlockFlushed | BlockGrew) -> bool:
        known = self._open
        is_same_type = known is not None and (isinstance(event, BlockFlushed) or event.type == known.type)
        return known is not None and is_same_type and (known.message_id, known.block) == (event.message_id, event.block)

    def _is_next(self, event: BlockReplaced) -> bool:
        known = self._open
        return known is not None and (known.type, known.message_id, known.block + 1) == (event.type, event.message_id, event.block)

    def _shown(self, event: BlockReplaced | BlockFlushed) -> str | None:
        return self._open.html if self._open is not None and self._is_open(event) else None

    def _note(self, event: Event) -> None:
        if isinstance(event, BlockReplaced):
            self._open = _Open(event.type, event.message_id, event.block, event.html.html)
        elif isinstance(event, BlockGrew):
            self._open = _Open(event.type, event.message_id, event.block, None)
        elif isinstance(event, BlockFlushed) and self._open is not None and self._shown(event) is not None:
            self._open.html = None
        else:
            self._open = None


class Expander:
    """Reads the frames of one socket, and returns every event in full. Short events that it cannot expand are left out."""

    def __init__(self) -> None:
        self._turn = ""
        self._open: _Open | None = None

    def read(self, frame: str) -> list[dict[str, Any]]:
        """The events of a frame, in full.

        Raises:
            ValueError: it is not a JSON array of objects and arrays.
        """
        events = json.loads(frame)
        if not isinstance(events, list) or not all(isinstance(event, dict | list) for event in events):
            raise ValueError("no list of events")
        return [full for event in events if (full := self._full(event)) is not None]

    def _full(self, event: dict[str, Any] | list[Any]) -> dict[str, Any] | None:
        if isinstance(event, list):
            return self._expanded(event)
        # A beat is sent while the model is silent; events after it may still be about the block that was open before.
        if "turn" in event and event.get("type") not in Beat.types:
            has_block = event.get("type") in BlockReplaced.types and "block" in event
            self._turn = str(event.get("turn"))
            self._open = _Open(event["type"], event["message_id"], event["block"], event.get("html")) if has_block else None
        return event

    def _expanded(self, short: list[Any]) -> dict[str, Any] | None:
        known = self._open
        if known is None or len(short) < 2:
            return None
        full = {"turn": self._turn, "sequence_number": short[0], "message_id": known.message_id, "block": known.block}
        if len(short) == 2:
            known.html = None
            return full | {"type": known.type, "text": short[1]}
        if len(short) == 3 and short[1] == _NEXT:
            known.block, known.html = known.block + 1, short[2]
            return full | {"type": known.type, "block": known.block, "html": known.html}
        if known.html is None:
            return None
        end, more, removed, closes = [*short[1:5], 0, 0][:4]
        html = _applied(known.html, end, more, removed)
        known.html = None if closes else html
        return full | {"type": BlockFlushed.types[0] if closes else known.type, "html": html}


def _difference(old: str, new: str) -> tuple[int, str] | tuple[int, str, int]:
    """The difference between ``old`` and ``new``: the length of the common end, the text to insert before it, and, if that replaces any
    text, how much."""
    most = min(len(old), len(new))
    start = _common_length(old, new, most)
    end = _common_length(old[::-1][: most - start], new[::-1][: most - start], most - start)
    more, removed = new[start : len(new) - end], old[start : len(old) - end]
    units = _units(old[len(old) - end :])
    return (units, more, _units(removed)) if removed else (units, more)


def _common_length(one: str, other: str, most: int) -> int:
    """The length of the common start, at most ``most``. A binary search, because comparing slices is very fast."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _applied(old: str, end: int, more: str, removed: int) -> str:
    units = old.encode("utf-16-le", "surrogatepass")
    start = len(units) - 2 * (end + removed)
    tail = units[len(units) - 2 * end :] if end else b""
    return (units[:start] + more.encode("utf-16-le", "surrogatepass") + tail).decode("utf-16-le", "surrogatepass")
