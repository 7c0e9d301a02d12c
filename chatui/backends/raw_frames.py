"""Writes the raw events of a frame at a time: a whole tool call that arrived as JSON, or the text of a Responses stream.

A call that cannot be executed becomes a hidden frame. In a stream, beginning a frame closes the previous one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import uuid4

from chatui.backends.speaker import restored
from chatui.backends.sse import is_object
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent, hidden
from renderer.frame_kinds import ANSWER, BROKEN, PREAMBLE
from renderer.frames import HEADER_VALUE, Channel, Header, Role, Terminator

_TOOL_NAME = re.compile(r"(?:.*\bto=)?\s*([A-Za-z0-9_.-]{1,64})(?=\s|<\||\Z)", re.DOTALL)
_NO_NAME = "no_name"
"""Stands for what cannot be the name of a tool: the model is told that there is no such tool."""


def call_frame(call_id: str, name: str, arguments: str, error: ErrorCode | None) -> list[RawEvent]:
    """``call_id`` fits a header already. ``error``: how the sample ended, if not well.

    If the arguments are not a JSON object, the call is never executed and the model is told why; its header does not claim that they are
    JSON.
    """
    recipient = f"functions.{tool_name(name).removeprefix('functions.')}"
    is_valid = is_object(arguments)
    header = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient=recipient, call_id=call_id, constrain="json" if is_valid else None)
    return [FrameOpened(header), FrameText(arguments), _end(error, is_valid=is_valid)]


def tool_name(name: str) -> str:
    """The tool that a server names. Some cut the name out of the call's Harmony header in the wrong place: in a header, the recipient is
    one word, after ``to=`` where there is more before it, and ends at white space or at a token.
    """
    match = _TOOL_NAME.match(name.partition("<|message|>")[0])
    return match[1] if match else _NO_NAME


def _end(error: ErrorCode | None, *, is_valid: bool) -> FrameClosed:
    if error is None or (error is ProductCode.LENGTH and is_valid):
        return FrameClosed(Terminator.CALL, None if is_valid else Code.CALL_SCHEMA)
    return FrameClosed(None, error)


class FrameSource(NamedTuple):
    """The source of a frame's text: the item's number, the lane, the header, and the error code, if any."""

    item: int
    lane: str
    header: Header
    fault: ErrorCode | None = None


def new_call_id() -> str:
    """For a call whose server gives it none."""
    return f"call_{uuid4().hex}"


class FrameWriter:
    """Text in, raw events out. Echoes of markers that were escaped in the request are restored."""

    def __init__(self, new_call_id: Callable[[], str] = new_call_id) -> None:
        self._new_call_id = new_call_id
        self._last = ""
        self.open: FrameSource | None = None

    def write(self, source: FrameSource, text: str) -> list[RawEvent]:
        """More text of ``source``; another source's frame is closed first."""
        if not text:
            return []
        events: list[RawEvent] = []
        if self.open != source:
            events = [*self.close(Terminator.END), FrameOpened(source.header)]
            self.open, self._last = source, ""
        text = restored(text, last=self._last)
        self._last = text[-1:] or self._last
        return [*events, FrameText(text)] if text else events

    def withdraw(self) -> list[RawEvent]:
        """Hide the open visible frame; it stays open."""
        if self.open is None or self.open.header not in (ANSWER, PREAMBLE):
            return []
        self.open = leak(self.open.item, is_withheld=True)
        return [FrameWithdrawn()]

    def close(self, terminator: Terminator | None, error: ErrorCode | None = None, *, becomes: Header | None = None) -> list[RawEvent]:
        """Close the open frame: as incomplete if there is an ``error``, and with ``<|return|>`` only if it is the answer.
        ``becomes``: its corrected header."""
        source, self.open = self.open, None
        if source is None:
            return []
        if error:
            return [FrameClosed(None, error, becomes)]
        is_answer = source.header is ANSWER and becomes is None
        return [FrameClosed(terminator if is_answer else Terminator.END, source.fault, becomes)]

    def calls(self, calls: Iterable[tuple[str, str, str]], error: ErrorCode | None) -> list[RawEvent]:
        """Complete calls, with the id, the name and the arguments of each. An id that no header can hold, or that another has, is
        replaced."""
        events, used = self.close(Terminator.END), set[str]()
        for call_id, name, arguments in calls:
            if not HEADER_VALUE.fullmatch(call_id) or call_id in used:
                call_id = self._new_call_id()
            used.add(call_id)
            events += call_frame(call_id, name, restored(arguments), error)
        return events


def leak(item: int, *, is_withheld: bool) -> FrameSource:
    """The source of text that the leak guard hid. ``is_withheld``: the page says so."""
    return FrameSource(item, "leak", BROKEN, ProductCode.WITHHELD if is_withheld else Code.PARSE_HEADER)


def after_call(source: FrameSource) -> FrameSource:
    """The source of text after a call that has no reply yet. The calls themselves are written at the end of a sample."""
    return source._replace(header=hidden(source.header), fault=Code.CALL_SCHEMA)


class Allowance:
    """Limits the text of a sample to ``chars`` characters. Text is counted on arrival, so that buffered text is limited too."""

    def __init__(self, chars: int) -> None:
        self._limit = self._unspent = chars

    @property
    def is_spent(self) -> bool:
        return self._unspent < 0

    @property
    def spent(self) -> int:
        return self._limit - self._unspent

    def take(self, text: str) -> str:
        """Count text; returns as much of it as the limit leaves."""
        room = max(self._unspent, 0)
        self.spend(len(text))
        return text[:room]

    def spend(self, chars: int) -> None:
        """Count text that is not returned."""
        self._unspent -= chars
