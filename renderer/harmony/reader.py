"""A streaming parser for the Harmony output of gpt-oss models: pieces in, events out; in doubt, it hides.

A *piece* is either text, or a control marker that the model really emitted (its token id tells it from quoted characters). The reader
begins where the prompt ends, after ``<|start|>assistant``. It releases nothing of a body before the header is complete. If anything in the
header of a message is unclear, the message is hidden, and no model output makes the reader raise: anything that is not a valid frame
becomes an ``analysis`` frame with ``intent=debug`` and an error code.

If a frame has both a terminator and an error, it was repaired and is complete, or it follows a call that has no reply
(``renderer.events``); the error is for staff.

``conversation=True`` reads a whole conversation that we wrote ourselves (system, developer, user and tool messages too). Never use it for
the output of a model, where a message of another author is a forgery.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from renderer.errors import Code, ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent, UnansweredCalls
from renderer.frame_kinds import (
    ANSWER,
    BROKEN,
    PEOPLE,
    RESERVED_NAMES,
    addresses_tool,
    is_answer,
    is_for_people,
    is_preamble,
    may_answer,
)
from renderer.frames import HEADER_VALUE, Channel, Header, Intent, Role, Terminator
from renderer.tokens import TERMINATORS, Token


@dataclass(slots=True)
class HeaderSection:
    """A section of a header: the text after the role, after ``<|channel|>`` or after ``<|constrain|>``."""

    marker: Token | None
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)


class HeaderBuilder:
    """A header while it is being written. ``implied``: it does not hold its role, as the prompt ended in ``<|start|>assistant``."""

    def __init__(self, *, implied: bool, repaired: bool = False) -> None:
        self.implied = implied
        self.repaired = repaired
        self.sections = [HeaderSection(None)]

    def begin(self, marker: Token) -> None:
        self.sections.append(HeaderSection(marker))

    def write(self, text: str) -> None:
        self.sections[-1].parts.append(text)

    def raw(self) -> str:
        """The header as the model wrote it, with markers as characters. Staff see this if the header is broken."""
        start = "" if self.implied else str(Token.START)
        return start + "".join((section.marker or "") + section.text for section in self.sections)

    def is_empty(self) -> bool:
        return len(self.sections) == 1 and not self.sections[0].text.strip()

    def final_body(self) -> str | None:
        """The text after the bare word ``final``, if nothing else in the header could mean something.

        Not if the beginning is missing too: otherwise a stray marker before hidden text would turn it into an answer.
        """
        if self.repaired:
            return None
        match self.sections:
            case [role, HeaderSection(marker=Token.CHANNEL) as channel] if role.text.split() == ([] if self.implied else [Role.ASSISTANT]):
                found = _FINAL_AND_MORE.fullmatch(channel.text)
                return found[1] if found and "<|" not in channel.text else None
        return None


_FINAL_AND_MORE = re.compile(r"final\s+(?!to\b)(\S.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a header means."""

    header: Header
    error: Code | None = None


_BROKEN = Interpretation(BROKEN, Code.PARSE_HEADER)
_NO_CHANNEL = Interpretation(BROKEN, Code.PARSE_CHANNEL_MISSING)
_CONTENT_TYPES = frozenset({"json", "code", "text", "markdown", "application/json", "text/markdown", "text/plain"})


def interpret(head: HeaderBuilder, *, conversation: bool) -> Interpretation | None:
    """What a header means; None if a model writes as another author. ``conversation``: authors other than the assistant are accepted."""
    role, *rest = head.sections
    # The prompt ended in the role, so what a model writes directly after it (``:NAME``, or the role again) is part of that word.
    word, *attributes = (Role.ASSISTANT + role.text if head.implied else role.text).split() or [Role.ASSISTANT]
    author = author_of(word)
    if author.role != Role.ASSISTANT and not head.implied:
        if not conversation:
            return None
        return _BROKEN if head.repaired else _interpret_other(author, attributes, rest)
    if author.role != Role.ASSISTANT or not author.is_clear or any("<|" in section.text for section in head.sections):
        return _BROKEN
    channels = [section.text.split() for section in rest if section.marker is Token.CHANNEL]
    constraints = [section.text.split() for section in rest if section.marker is Token.CONSTRAIN]
    repaired = head.repaired
    if _is_stray_commentary(channels) and not attributes:
        channels, repaired = channels[1:], True
    names = {words[0] if words else "" for words in channels}
    if not names or names == {""}:
        return _NO_CHANNEL
    for words in (*channels, *constraints):
        attributes += words[1:]
    constrained = {words[0].lower() if words else "" for words in constraints}
    if len(names) > 1 or len(constrained) > 1 or not names <= set(Channel):
        return _BROKEN
    interpretation = _with_attributes(names.pop(), attributes, constrained, Code.PARSE_HEADER if repaired else None)
    return interpretation if interpretation == _BROKEN else replace(interpretation, header=replace(interpretation.header, name=author.name))


@dataclass(frozen=True, slots=True)
class HarmonyAuthor:
    """Who writes a Harmony message: a role, for a tool with its name, and perhaps the name of a person or an assistant."""

    role: str
    name: str | None = None
    is_clear: bool = True


def author_of(word: str) -> HarmonyAuthor:
    """The author that the first word of a header names.

    ``user:NAME`` is a role and a name, as openai-harmony writes it; a doubled role word is the role. Anything that is not a role is a tool
    name, as in Harmony. Reserved names are omitted, so that no model can forge the product's own frames.
    """
    role, separator, name = word.partition(":")
    role = _DOUBLED.get(role, role)
    if role not in _AUTHORS:
        return HarmonyAuthor(Role.TOOL, word)
    return HarmonyAuthor(
        role, name if separator and name not in RESERVED_NAMES else None, not separator or bool(HEADER_VALUE.fullmatch(name))
    )


_AUTHORS = frozenset(Role) - {Role.TOOL}
_DOUBLED = {str(role) * 2: str(role) for role in _AUTHORS}


def _interpret_other(author: HarmonyAuthor, attributes: list[str], sections: list[HeaderSection]) -> Interpretation:
    """A message of another author in a whole conversation."""
    words = {marker: [s.text.split() for s in sections if s.marker is marker] for marker in (Token.CHANNEL, Token.CONSTRAIN)}
    channels, constraints = words[Token.CHANNEL], words[Token.CONSTRAIN]
    if not author.is_clear or len(channels) > 1 or len(constraints) > 1 or not all([*channels, *constraints]):
        return _BROKEN
    recipients, others = _recipients_and_others([*attributes, *(word for section in (*channels, *constraints) for word in section[1:])])
    values = [author.name or author.role, *recipients, *others, *(section[0] for section in (*channels, *constraints))]
    if len(recipients) > 1 or len(others) > 1 or not all(HEADER_VALUE.fullmatch(value) for value in values):
        return _BROKEN
    header = Header(
        role=author.role,
        channel=channels[0][0] if channels else None,
        recipient=next(iter(recipients), None),
        name=author.name,
        content_type=next(iter(others), None),
        constrain=constraints[0][0] if constraints else None,
    )
    return Interpretation(header)


def _is_stray_commentary(channels: list[list[str]]) -> bool:
    """The only two different channels in one header that may be shown: gpt-oss begins commentary, then changes its mind."""
    if len(channels) != 2 or channels[1][:1] != [Channel.FINAL]:
        return False
    return channels[0] in ([Channel.COMMENTARY], [Channel.COMMENTARY, "to=assistant"])


def _with_attributes(channel: str, attributes: list[str], constrained: set[str], error: Code | None) -> Interpretation:
    """The header of an assistant's message on this channel, with the recipient and the kind of content that its attributes name; broken if
    they are ambiguous."""
    recipients, others = _recipients_and_others(attributes)
    if len(recipients) > 1 or len(others) > 1 or any(word.lower() not in _CONTENT_TYPES for word in others):
        return _BROKEN
    if not all(HEADER_VALUE.fullmatch(recipient) for recipient in recipients):
        return _BROKEN
    constrain = next(iter(constrained), None)
    # Commentary without a recipient is a preamble, unless it announces content other than text.
    is_preamble = channel == Channel.COMMENTARY and not others and not constrained and recipients <= PEOPLE
    header = Header(
        role=Role.ASSISTANT,
        channel=channel,
        recipient=next(iter(recipients), None),
        intent=Intent.PREAMBLE if is_preamble else None,
        content_type=next(iter(others), None),
        constrain=constrain if constrain and HEADER_VALUE.fullmatch(constrain) else None,
    )
    if channel == Channel.FINAL and not is_for_people(header.recipient):
        error = Code.CALL_SCHEMA
    return Interpretation(header, error)


def _recipients_and_others(attributes: list[str]) -> tuple[set[str], set[str]]:
    """Recipients, and other attributes."""
    recipients = {word for word in attributes if word.startswith("to=")}
    return {word.removeprefix("to=") for word in recipients}, set(attributes) - recipients


END_OF_TEXT = "<|endoftext|>"
"""Not a Harmony marker, but a model can emit it. It ends the turn, and its characters are never text."""


class HarmonyReader:
    """Harmony pieces in, raw events out. Holds an incomplete header, and a body that is a call or may be a JSON value."""

    def __init__(self, new_call_id: Callable[[], str], *, conversation: bool = False) -> None:
        """``new_call_id`` generates the id of each call: Harmony has none, and this package uses no randomness.

        ``conversation``: authors other than the assistant are accepted, and ``<|return|>`` ends a message, not the reading.
        """
        self._new_call_id = new_call_id
        self._conversation = conversation
        self._calls = UnansweredCalls()
        self._unanswered: dict[str, str] = {}
        self._state = _State.HEADER
        self._head = HeaderBuilder(implied=True)
        self._body = _Body(BROKEN)
        self._saw_final = False
        self._between: list[str] = []

    @property
    def ended(self) -> bool:
        """Whether the turn is over. Everything after that is ignored, so the request to the model server can be stopped."""
        return self._state is _State.ENDED

    @property
    def open_header(self) -> Header | None:
        """The header of the message whose body comes next, also while that is held back; None between messages."""
        return self._body.header if self._state is _State.BODY else None

    def feed_marker(self, token: str) -> list[RawEvent]:
        """Take a control token that the model emitted, as its literal text. Any special token, known or not."""
        events = self._released(self._marker(token))
        if token == Token.CALL:
            # Whatever it ended, and whether or not that could be read: the model waits for a reply from here on.
            self._calls.await_reply()
        return events

    def _marker(self, token: str) -> list[RawEvent]:
        match self._state:
            case _State.HEADER:
                return self._marker_in_header(token)
            case _State.BODY:
                return self._marker_in_body(token)
            case _State.BETWEEN:
                return self._marker_between(token)
        return []

    def feed_text(self, text: str) -> list[RawEvent]:
        """Take ordinary text from the model. Text between two messages is dropped, unless a header without its beginning follows."""
        match self._state:
            case _State.BODY:
                return self._released(self._body.write(text))
            case _State.HEADER:
                self._head.write(text)
            case _State.BETWEEN:
                self._between.append(text)
        return []

    def finish(self, error: ErrorCode = Code.STREAM_TRUNCATED) -> list[RawEvent]:
        """Signal the end of the pieces. An open frame is closed as incomplete with ``error``."""
        state, self._state = self._state, _State.ENDED
        if state is _State.BODY:
            return self._released(self._body.close(None, error))
        if state is _State.HEADER and not self._head.is_empty():
            return _debug_frame(self._head.raw(), None, error)
        return []

    def _released(self, events: list[RawEvent]) -> list[RawEvent]:
        """In a model's completion, everything after a call is hidden; in a whole conversation, a turn may have broken off there."""
        return events if self._conversation else self._calls.feed_all(events)

    def _marker_in_header(self, token: str) -> list[RawEvent]:
        if token == Token.MESSAGE:
            return self._open()
        if token in (Token.CHANNEL, Token.CONSTRAIN):
            self._head.begin(Token(token))
            return []
        if token in TERMINATORS or token in (Token.START, END_OF_TEXT):
            return self._header_without_message(token)
        # Any other special token makes the header invalid: it is stored as characters that no valid header contains.
        self._head.write(token)
        return []

    def _open(self) -> list[RawEvent]:
        """End the header, and begin the body. An invalid header becomes the beginning of the text of a hidden frame. If a model writes as
        somebody else than the assistant, reading ends."""
        interpretation = interpret(self._head, conversation=self._conversation)
        if interpretation is None:
            self._state = _State.ENDED
            return _debug_frame(self._head.raw() + Token.MESSAGE, Terminator.END, Code.PARSE_HEADER)
        self._state = _State.BODY
        header = self._with_call_id(interpretation.header)
        self._body = _Body(header, interpretation.error)
        broken = [FrameText(self._head.raw() + Token.MESSAGE)] if header.intent == Intent.DEBUG else []
        return [*self._body.open(), *broken]

    def _with_call_id(self, header: Header) -> Header:
        """A call gets a new id. A reply gets that of its tool's oldest open call, as Harmony does not say which call it answers."""
        if _is_call(header):
            header = replace(header, call_id=self._new_call_id())
            self._unanswered[str(header.call_id)] = str(header.recipient)
        elif header.role == Role.TOOL:
            answered = (call_id for call_id, recipient in self._unanswered.items() if may_answer(header.name, recipient))
            if call_id := next(answered, None):
                del self._unanswered[call_id]
                header = replace(header, call_id=call_id)
        return header

    def _header_without_message(self, token: str) -> list[RawEvent]:
        """Handle a header without ``<|message|>``. After ``final`` the rest is taken as the body; anything else is hidden."""
        head, self._state = self._head, _State.BETWEEN
        lost = None if token == END_OF_TEXT else head.final_body()
        events: list[RawEvent] = []
        if lost is not None:
            self._body = _Body(ANSWER, Code.PARSE_HEADER)
            events = [*self._body.open(), *self._body.write(lost), *self._close(token)]
        elif not head.is_empty():
            events = _debug_frame(head.raw(), Terminator.END, Code.PARSE_HEADER)
        return events if self.ended else [*events, *self._marker_between(token)]

    def _marker_in_body(self, token: str) -> list[RawEvent]:
        if token in TERMINATORS:
            return self._close(token)
        if token == END_OF_TEXT:
            self._state = _State.ENDED
            return self._body.close(None, Code.STREAM_TRUNCATED)
        if token in (Token.START, Token.CHANNEL):
            return [*self._close(None), *self._marker_between(token)]
        self._body.error = self._body.error or Code.PARSE_HEADER
        return []

    def _close(self, token: str | None) -> list[RawEvent]:
        terminator = Terminator(token) if token in TERMINATORS else None
        is_answer = self._body.is_answer and terminator is not Terminator.CALL
        self._saw_final = self._saw_final or is_answer
        is_last = is_answer and terminator is Terminator.RETURN and not self._conversation
        self._state = _State.ENDED if is_last else _State.BETWEEN
        return self._body.close(terminator, Code.PARSE_HEADER)

    def _marker_between(self, token: str) -> list[RawEvent]:
        if token == END_OF_TEXT or (token == Token.RETURN and self._saw_final and not self._conversation):
            self._state = _State.ENDED
        elif token == Token.START:
            self._state, self._head, self._between = _State.HEADER, HeaderBuilder(implied=False), []
        elif token in (Token.CHANNEL, Token.MESSAGE):
            # ``<|start|>`` is missing. The text since the last message is the beginning of the header, as it may name another author. If
            # there is none, the role is missing, too: a channel begins an assistant header; a bare body has no channel, and is hidden.
            beginning, self._between = "".join(self._between), []
            self._state, self._head = _State.HEADER, HeaderBuilder(implied=not beginning.strip(), repaired=True)
            self._head.write(beginning)
            return self._marker_in_header(token)
        return []


class _State(Enum):
    HEADER = auto()
    BODY = auto()
    BETWEEN = auto()
    ENDED = auto()


_OPENING_JSON = '{["'
_NOT_BARE_JSON = re.compile(r"[^\s\d.+\-truefalsnINityE]")
"""A character that no JSON number or word has (with Python's ``NaN`` and ``Infinity``), so that text is more than that."""


class _Body:
    """The open message. It decides when the frame opens, which text is held back, and how the frame closes."""

    def __init__(self, header: Header, error: ErrorCode | None = None) -> None:
        self.error = error
        self.header = header
        self._is_call = _is_call(header)
        # A preamble is held back while it could still be one JSON value, as that would be a call whose header was lost.
        self._is_held = is_preamble(header)
        self._has_json = False
        self._kept: list[str] = []

    @property
    def is_answer(self) -> bool:
        return is_answer(self.header)

    def open(self) -> list[RawEvent]:
        return [] if self._is_held else [FrameOpened(self.header)]

    def write(self, text: str) -> list[RawEvent]:
        if not self._is_held:
            if self._is_call:
                self._kept.append(text)
            return [FrameText(text)] if text else []
        self._kept.append(text)
        if self._has_json or (found := _NOT_BARE_JSON.search(text)) is None:
            return []
        self._has_json = found[0] in _OPENING_JSON
        return [] if self._has_json else self._release(self.header)

    def close(self, terminator: Terminator | None, error: ErrorCode) -> list[RawEvent]:
        """Close the frame. ``error`` is the reason if ``terminator`` is None."""
        if self._is_call:
            return [self._close_call(terminator, error)]
        events: list[RawEvent] = []
        # The token says that the text was for a tool, whatever its header said.
        is_others = terminator is Terminator.CALL
        if self._is_held:
            # Part of a JSON value does not parse as one, so a preamble that was cut off is hidden too.
            kept = "".join(self._kept)
            hidden = bool(kept.strip()) and (terminator is None or is_json(kept))
            if hidden:
                self.error = self.error or Code.CALL_SCHEMA
            shown = BROKEN if is_others else self.header
            events = self._release(replace(self.header, intent=None) if hidden else shown)
        elif is_others and (self.is_answer or is_preamble(self.header)):
            events = [FrameWithdrawn()]
        return [*events, self._close_text(terminator, error)]

    def _release(self, header: Header) -> list[RawEvent]:
        """Open the frame with this header, and send the text that was held until the header was certain."""
        self._is_held = False
        text, self._kept = "".join(self._kept), []
        return [FrameOpened(header), FrameText(text)] if text else [FrameOpened(header)]

    def _close_text(self, terminator: Terminator | None, error: ErrorCode) -> FrameClosed:
        match terminator:
            case None:
                return FrameClosed(None, error)
            case Terminator.CALL:
                return FrameClosed(Terminator.END, self.error or Code.CALL_SCHEMA)
            case Terminator.RETURN if not self.is_answer:
                # A completion that ends after reasoning alone has no unreadable part.
                has_only_thought = self.header.channel == Channel.ANALYSIS and self.header.recipient is None
                return FrameClosed(Terminator.END, self.error or (None if has_only_thought else Code.PARSE_HEADER))
        return FrameClosed(terminator, self.error)

    def _close_call(self, terminator: Terminator | None, error: ErrorCode) -> FrameClosed:
        """A call without its ``<|call|>`` (many servers strip stop tokens) is complete if its arguments are. Otherwise it is not a call."""
        body = "".join(self._kept)
        if terminator is Terminator.CALL or (body.lstrip().startswith("{") and is_json(body)):
            return FrameClosed(Terminator.CALL, self.error)
        return FrameClosed(terminator and Terminator.END, error if terminator is None else self.error or Code.CALL_SCHEMA)


def _is_call(header: Header) -> bool:
    return addresses_tool(header) and header.channel != Channel.FINAL


def is_json(text: str) -> bool:
    """Whether ``text`` is one JSON value, or several in a row. True if it is too deep or too large to tell: when in doubt, hide."""
    decoder, values, position = json.JSONDecoder(), text.strip(), 0
    try:
        while position < len(values):
            # The text is never copied: a model can write hundreds of thousands of values, and everybody would wait.
            _, position = decoder.raw_decode(values, position)
            while values[position : position + 1].isspace():
                position += 1
    except json.JSONDecodeError:
        return False
    except (RecursionError, ValueError):
        return True
    return bool(values)


def _debug_frame(body: str, terminator: Terminator | None, error: ErrorCode) -> list[RawEvent]:
    return [FrameOpened(BROKEN), FrameText(body), FrameClosed(terminator, error)]
