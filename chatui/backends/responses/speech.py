"""Orders the text of a Responses stream: one message at a time, through the leak guard, while other text is buffered.

The line that people see about a tool that the model server executes consists of our own words, never of its arguments or its results. Each
sample has limits: how many characters the model may still write, and its tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chatui.backends.base import Usage
from chatui.backends.hosted_tools import HostedTools
from chatui.backends.leaks.guard import TextSpan, judged
from chatui.backends.leaks.labels import Asked
from chatui.backends.leaks.scanner import LeakGuard
from chatui.backends.raw_frames import Allowance, FrameSource, FrameWriter, leak
from chatui.backends.repeats import is_thought, repeat_in
from chatui.backends.responses.items import MESSAGE, TEXT, OutputItem
from chatui.backends.separation import Read, Separation
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import RawEvent
from renderer.frame_kinds import ANSWER, BROKEN, PREAMBLE, TOOL_LINE
from renderer.frames import Terminator
from renderer.strict_json import object_of

_LINES = {
    "web_search_call": "Searching the web",
    "file_search_call": "Searching files of the model server",
    "code_interpreter_call": "Running code at the model server",
    "image_generation_call": "Making a picture at the model server",
}
_READING = "Reading a web page"
_OTHER = "Using a tool of the model server"
_NO_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "computer_call")
"""Calls that a client would have to execute, and nobody here does."""
_ANNOTATIONS = "annotations"
"""The kind to record for a server that cites pages without reporting a call."""
_MAX_LINES = 30


class ServerTools:
    """The lines of one sample. Without ``hosted`` there are none: what a server runs unasked is stored for staff, and not announced."""

    def __init__(self, hosted: HostedTools | None) -> None:
        self._hosted = hosted
        self._lines: dict[int, str] = {}
        self._annotations: dict[int, list[object]] = {}

    def line(self, number: int, item: Mapping[str, Any]) -> tuple[FrameSource, str] | None:
        """The line for this item, once it is known to be a call of such a tool."""
        kind = item.get("type")
        if self._hosted is None or not isinstance(kind, str) or not kind.endswith("_call") or kind in _NO_CALLS:
            return None
        self._hosted.used(kind)
        if number in self._lines or len(self._lines) >= _MAX_LINES:
            return None
        self._lines[number] = _words(kind, item.get("action"))
        return FrameSource(number, "line", TOOL_LINE), self._lines[number]

    def take_annotations(self, number: int, parts: Iterable[Mapping[str, Any]]) -> None:
        """Record the annotations of a message's parts. The last ones count."""
        if self._hosted is not None:
            self._annotations[number] = found = [part.get("annotations") for part in parts]
            if any(found):
                self._hosted.used(_ANNOTATIONS)  # whether or not the answer will be shown

    def cite(self, number: int) -> None:
        """The message is visible, and no part was hidden or withdrawn: the pages that it cites become sources."""
        if self._hosted is not None:
            for of_a_part in self._annotations.get(number, ()):
                self._hosted.cite(of_a_part)


def _words(kind: str, action: object) -> str:
    step = object_of(action).get("type")
    if kind == "web_search_call" and step in ("open_page", "find_in_page", "open", "find"):
        return _READING
    return _LINES.get(kind, _OTHER)


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """The token limits of a request. None: there is none, or it is unknown."""

    answer: int | None = None
    """The limit for the answer alone, as the request has it."""
    context: int | None = None
    """The limit for prompt and answer together."""

    def is_reached(self, usage: Usage) -> bool:
        """Whether the server must have cut the answer, whatever it reports."""
        written = usage.completion_tokens
        if written is None:
            return False
        if self.answer and written >= self.answer:
            return True
        return bool(self.context and usage.prompt_tokens and usage.prompt_tokens + written >= self.context)


class Speech:
    """Writes through ``writer``. ``oddities``: counts of unexpected events. ``separation``: what is known of the server and the model."""

    def __init__(self, writer: FrameWriter, allowance: Allowance, oddities: Counter[str], separation: Separation, asked: Asked) -> None:
        self._writer = writer
        self._allowance = allowance
        self._oddities = oddities
        self._separation = separation
        self._thoughts: list[str] = []
        self._late_thoughts: list[str] = []
        self._thoughts_of: dict[int, list[str]] = {}
        """By the number of the item."""
        self._has_text = self._has_sign = self._is_whole = self._proves = False
        self._arrived: set[OutputItem] = set()
        """The items of which text has come, although some may not be known to be messages yet."""
        self._held: dict[OutputItem, list[str]] = {}
        """The text of each message, where nothing is shown before the end."""
        self._current: OutputItem | None = None
        self._answer: OutputItem | None = None
        """A message that is over, and whose frame stays open: all answers of a completion are one."""
        self._is_followed = False
        self.asked = asked
        self.is_before_call = False
        """Whether a call follows, so that the open text is a preamble and not the answer."""
        self._waiting: list[tuple[FrameSource, str]] = []
        self._shown: list[tuple[OutputItem, str]] = []
        """What people see in the open frame, and of which message it is."""
        self._hidden: set[int] = set()
        """The places of messages that are partly hidden."""

    @property
    def read(self) -> Read:
        """How the sampling was read, at its end."""
        return Read(self._separation, self._proves, self._has_sign, self._has_text, self._is_whole)

    def known(self, separation: Separation) -> None:
        """Who answers is known before the first output, and what that one has proved."""
        self._separation = separation

    def arrived(self, item: OutputItem) -> None:
        """Text of this item has come: perhaps only as a claim, or before the server said what it is. Reasoning after it proves nothing."""
        self._arrived.add(item)

    def reasoned(self, item: OutputItem, text: str) -> None:
        """Reasoning came in an item of its own. Before the first text, it proves that the server separates it."""
        self._thoughts_of.setdefault(item.number, []).append(text)
        if self._has_text or any(other.kind in (MESSAGE, "") for other in self._arrived):
            self._late_thoughts.append(text)
            return
        self._thoughts.append(text)
        if not self._proves and is_thought("".join(self._thoughts)):
            self._proves, self._separation = True, Separation.OWN

    def write(self, item: OutputItem, text: str) -> list[RawEvent]:
        """Text of a message. It passes the leak guard, and nothing interrupts it until the message is done."""
        if item.is_closed or item.header() is BROKEN:
            self._oddities["hidden message"] += 1
            return [*self.withdraw_hidden(item), *self.aside(_hidden_text(item), text)]
        self._has_text = self._has_text or bool(text.strip())
        if self._separation is Separation.UNPROVEN:
            self._held.setdefault(item, []).append(text)
            return []
        events = self._begin(item)
        item.guard = item.guard or self._new_guard()
        return events + self._spans(item, item.guard.feed(text))

    def _new_guard(self) -> LeakGuard:
        guard = LeakGuard(self._separation, thought="".join(self._thoughts), asked=self.asked)
        for thought in self._thoughts_of.values():
            guard.reasoned_apart("".join(thought))
        return guard

    def _begin(self, item: OutputItem) -> list[RawEvent]:
        if self._current is item:
            return []
        events = self._end(is_whole=True)
        self._current, item.joins, self._answer = item, self._answer, None
        if item.joins is None:
            self._shown = []
        return events

    def release(self, terminator: Terminator | None, error: ErrorCode | None, *, is_whole: bool) -> list[RawEvent]:
        """The sampling has ended: judges the messages that were held. A sign in one may also hide those before it."""
        self._is_whole = is_whole
        held, self._held = {item: "".join(texts) for item, texts in self._held.items()}, {}
        spans: dict[OutputItem, list[TextSpan]] = {}
        for item, text in held.items():
            if not is_whole or item.status == "incomplete":
                # The sign may be what is missing.
                spans[item] = [TextSpan(False, text, is_withheld=True)]
                continue
            thoughts = map("".join, (self._late_thoughts, *self._thoughts_of.values(), *self.asked.thoughts))
            begin, end = repeat_in(text, thoughts)
            judgement = judged(text[:begin] + text[end:], follows=bool(spans), asked=self.asked)
            self._has_sign = self._has_sign or judgement.has_sign
            if judgement.hides_before:
                spans = {other: [TextSpan(False, held[other], is_withheld=True)] for other in spans}
            spans[item] = [*([TextSpan(False, text[begin:end])] if end else []), *judgement.spans]
        events: list[RawEvent] = []
        for item, of_item in spans.items():
            events += self._begin(item)
            events += self._spans(item, of_item)
        return [*events, *self.stop(terminator, error, is_whole=is_whole)]

    def _spans(self, item: OutputItem, spans: Iterable[TextSpan]) -> list[RawEvent]:
        """Write the spans of one message, each into the frame where its audience finds it, or hide them."""
        events: list[RawEvent] = []
        for span in spans:
            # A phase that changes in the middle changes the header of the open frame when it is closed.
            header = item.header()
            if header is PREAMBLE and (item.joins or self._is_late_preamble(item)):
                header = ANSWER
            if header is BROKEN:
                events += self._withdraw(item)
            if not span.visible or header is BROKEN:
                events += self._hide(item, span)
                continue
            if span.begins:
                events += [*self._writer.close(Terminator.END), *self._write_waiting()]
                self._shown = []
            source = FrameSource(item.place, TEXT, header)
            gap = "\n\n" if item.joins and not item.has_text and self._writer.open == source else ""
            item.has_text = True
            self._shown.append((item, span.text))
            events += self._writer.write(source, gap + span.text)
        return events

    def withdraw_hidden(self, item: OutputItem) -> list[RawEvent]:
        """Withdraw what was shown of an item, if a late role or recipient says that it is not the answer."""
        return self._withdraw(item) if item.kind and item.header() is BROKEN else []

    def _hide(self, item: OutputItem, span: TextSpan) -> list[RawEvent]:
        """Inside visible text, hidden text is buffered, so that the answer stays one frame, which can be withdrawn as a whole."""
        self._hidden.add(item.place)
        source = leak(item.place, is_withheld=span.is_withheld) if item.header() is not BROKEN else _hidden_text(item)
        if self._is_shown(item):
            if span.text:
                self._waiting.append((source, span.text))
            return []
        return self._writer.write(source, span.text)

    def withdraw_thoughts(self, item: OutputItem, thoughts: Iterable[str]) -> list[RawEvent]:
        """The sampling has ended: withdraw the beginning of a message that came as one of these thoughts, too, and show the rest again."""
        if item.guard is None:
            return []
        for thought in thoughts:
            item.guard.reasoned_apart(thought)
        spans = item.guard.judged_again() if item.is_closed else None
        if spans is None:
            return []
        self._has_sign = True
        return self._withdraw(item, "".join(span.text for span in spans if span.visible) if item.status != "incomplete" else "")

    def withdraw_part(self, item: OutputItem, rest: str) -> list[RawEvent]:
        """A part of a message is no answer after all: withdraw the message, and show its ``rest`` again, as far as the guard lets it."""
        if item in self._held:
            self._held[item] = [rest]
        if item.guard is None:
            return []
        item.guard = self._new_guard()
        shown = item.guard.feed(rest)
        if not item.is_closed:
            return [*self._withdraw(item), *self._spans(item, shown)]
        shown += item.guard.finish(complete=item.status != "incomplete")
        self._has_sign = self._has_sign or item.guard.has_sign
        is_none = item.guard.hides_before or item.guard.ends_in_call
        return self._withdraw(item, "" if is_none else "".join(span.text for span in shown if span.visible))

    def _withdraw(self, item: OutputItem, rest: str = "") -> list[RawEvent]:
        """Withdraw what was shown of a message but for the ``rest``, and nothing of what others wrote in the same frame."""
        self._hidden.add(item.place)
        source, texts = self._writer.open, dict[OutputItem, str]()
        for other, text in self._shown:
            texts[other] = texts.get(other, "") + text
        if source is None or item not in texts or not self._is_shown(item):
            return []
        texts[item], item.has_text = rest, bool(rest)
        events, self._shown = self._writer.withdraw(), [(other, text) for other, text in texts.items() if text]
        return [*events, *self._writer.write(source, "\n\n".join(filter(None, texts.values())))]

    def _withdraw_all(self, item: OutputItem) -> list[RawEvent]:
        """A sign in a message may also speak of the messages before it."""
        self._hidden.add(item.place)
        self._shown = []
        return self._writer.withdraw() if self._is_shown(item) else []

    def is_answer(self, item: OutputItem) -> bool:
        """Whether the complete message is visible as the answer."""
        return item.has_text and item.header() is ANSWER and item.place not in self._hidden

    def _is_shown(self, item: OutputItem) -> bool:
        """Whether the open frame is this item's, and visible to people."""
        is_open = self._writer.open
        return is_open is not None and is_open.item == item.place and is_open.header in (ANSWER, PREAMBLE)

    def aside(self, source: FrameSource, text: str) -> list[RawEvent]:
        """Write text that is not a message. It waits while a message is being written and while the frame of the answer is open, so that
        all answers of a completion are one frame."""
        if self._current and not self._current.is_done:
            self._waiting.append((source, text))
            return []
        events = self._end(is_whole=True)  # which leaves the frame open if the message was an answer
        if self._answer:
            self._is_followed = True
            self._waiting.append((source, text))
            return events
        return [*events, *self._writer.write(source, text)]

    def stop(self, terminator: Terminator | None, error: ErrorCode | None, *, is_whole: bool) -> list[RawEvent]:
        """The stream ended: releases buffered text of the current message, closes it, and writes what was buffered meanwhile."""
        events = self._end(is_whole=is_whole, terminator=terminator, error=error)
        if self._answer:
            # If other text followed and the stream broke, the answer is complete, and that text was cut.
            becomes = PREAMBLE if self.is_before_call and self._writer.open and self._writer.open.header is ANSWER else None
            ending = (Terminator.END, None) if self._is_followed and error else (terminator, error)
            events += self._writer.close(*ending, becomes=becomes)
            self._answer = None
        return events + self._write_waiting()

    def _end(self, *, is_whole: bool, terminator: Terminator | None = Terminator.END, error: ErrorCode | None = None) -> list[RawEvent]:
        """The current message has ended. An answer's frame stays open; any other is closed."""
        item, self._current = self._current, None
        if item is None:
            return []
        item.is_closed = True
        events: list[RawEvent] = []
        if item.guard is not None:
            events += self._spans(item, item.guard.feed(self._allowance.take(item.flows[TEXT].settle())))
            spans = item.guard.finish(complete=is_whole and item.status != "incomplete")
            if item.guard.is_repeated:
                events += self._withdraw(item)
            elif item.guard.ends_in_call or item.guard.hides_before:
                events += self._withdraw_all(item)
            if item.guard.ends_in_call:
                spans = [replace(span, visible=False, is_withheld=True) for span in spans]
            events += self._spans(item, spans)
            self._has_sign = self._has_sign or item.guard.has_sign
        self._is_followed = False
        if self._writer.open == FrameSource(item.place, TEXT, ANSWER) and not self._is_late_preamble(item):
            self._answer = item
            return events
        events += self._writer.close(terminator, error, becomes=PREAMBLE if self._is_late_preamble(item) else None)
        return events + self._write_waiting()

    def _is_late_preamble(self, item: OutputItem) -> bool:
        """Whether the open frame began as the answer, and the server has since called it commentary."""
        return self._writer.open == FrameSource(item.number, TEXT, ANSWER) and item.header() is PREAMBLE

    def _write_waiting(self) -> list[RawEvent]:
        waiting, self._waiting = self._waiting, []
        return [event for source, text in waiting for event in self._writer.write(source, text)]


def _hidden_text(item: OutputItem) -> FrameSource:
    """The source for message text that is not the answer. People are told that something is missing if an unknown label hid it."""
    is_withheld = item.label is not None and not item.label.is_known
    return FrameSource(item.number, TEXT, BROKEN, ProductCode.WITHHELD if is_withheld else Code.PARSE_HEADER)
