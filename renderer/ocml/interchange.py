"""Reads and writes OpenChatML as JSON (specification section 10), without loss.

A document is ``{"header": {…}, "messages": [{…}, …]}``. A message is a frame: ``role``, ``channel``, ``name``, ``to``, ``call_id``,
``intent``, ``content_type`` and ``constrain`` as in its header, ``content`` for its body, ``terminator`` if that is ``return``. A frame
that ends in ``<|call|>`` is a message with ``tool_call`` in place of ``to``, ``call_id``, ``constrain`` and ``content``.
``docs/openchatml.schema.json`` is its schema. The specification's single object is a message by itself: it is read as a fragment of one
message, and never written.

Two more things can be read: ``thinking`` on an assistant's message is an analysis frame before it (written on request only), and a message
with both ``content`` and ``tool_call`` is two frames on commentary, the visible text and then the call (never written).

Reading follows the rules of the text form, strictly or leniently. Strict reading raises the first refused problem. Lenient reading
continues: it hides what it cannot understand and reports every problem, with its line and column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from renderer import strict_json
from renderer.errors import Code, Location, OpenChatMLError, ParseHeaderError, Problem
from renderer.events import Finished, hidden
from renderer.frame_kinds import ANALYSIS, BROKEN, addresses_tool, is_for_people
from renderer.frames import Channel, Frame, Header, Role, Terminator, Transcript
from renderer.ocml import calls, document_header, frame_header
from renderer.ocml.document import DocumentRules, Reading, check_frame, check_written
from renderer.ocml.document_header import DocumentHeader, FutureVersionError
from renderer.ocml.frame_header import HeaderFault
from renderer.ocml.plain_values import SURROGATE, plain_mapping
from renderer.strict_json import JsonError, JsonValue

__all__ = ["dump_json", "message_of", "parse_json", "read_leniently", "read_strictly", "to_values"]

BYTE_ORDER_MARK = "\ufeff"
"""Accepted at the beginning of a text. In places, it counts as three bytes and as no column."""


def without_invalid_characters(text: str | bytes) -> str:
    """The text as ``decoded``, with U+FFFD in place of characters that would be refused."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else SURROGATE.sub("\ufffd", text)


def decoded(text: str | bytes) -> str:
    """The text. Raises ParseHeaderError, with the position, for invalid UTF-8 and for lone surrogates."""
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = text[: error.start].decode("utf-8")
            raise ParseHeaderError("the bytes are not valid UTF-8", location_of(before, len(before))) from None
    if found := SURROGATE.search(text):
        raise ParseHeaderError("an unpaired surrogate", location_of(text, found.start()))
    return text


def location_of(text: str, position: int) -> Location:
    """The position of a character of ``text``, as line and column."""
    return _location_after(Location(0, 1, 1), text[:position])


_SPACE = re.compile(r"[ \t\r\n]*")


def message_locations(text: str) -> list[Location]:
    """Where each message begins, in a text, perhaps with a byte order mark, that is known to be a document with a list of messages."""
    # Numbers are skipped, not parsed: Python refuses some that are valid JSON.
    decoder = json.JSONDecoder(parse_int=len, parse_float=len)
    position, locations = _first_message(text, decoder), list[Location]()
    before, here = 0, Location(0, 1, 1)
    while text[position] != "]":
        here = replace(_location_after(here, text[before:position]), frame=len(locations))
        locations.append(here)
        before = position
        _value, end = decoder.raw_decode(text, position)
        position = _skip(text, end)
        position = _skip(text, position + (text[position] == ","))
    return locations


def _first_message(text: str, decoder: json.JSONDecoder) -> int:
    """The position of the first message, after the opening bracket of the list and any white space."""
    position = _skip(text, text.startswith(BYTE_ORDER_MARK)) + 1
    while True:
        key, position = decoder.raw_decode(text, _skip(text, position))
        position = _skip(text, _skip(text, position) + 1)
        if key == "messages":
            return _skip(text, position + 1)
        _value, position = decoder.raw_decode(text, position)
        position = _skip(text, position) + 1


def _location_after(location: Location, text: str) -> Location:
    """The position directly after ``text``, which begins at ``location``."""
    lines, last = text.count("\n"), text.removeprefix(BYTE_ORDER_MARK).rpartition("\n")[2]
    column = len(last) + (1 if lines else location.column)
    return Location(location.offset + len(text.encode("utf-8")), location.line + lines, column)


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


_TEXTS = ("role", "channel", "name", "to", "call_id", "intent", "content_type", "constrain")
_KEYS = frozenset({*_TEXTS, "content", "terminator", "tool_call", "thinking"})
_CALL_KEYS = {"id": "call_id", "recipient": "to", "content_type": "constrain"}
"""What a ``tool_call`` calls three attributes of its frame; its ``arguments`` are the body."""

_TERMINATORS = {"end": Terminator.END, "return": Terminator.RETURN, "call": Terminator.CALL}
_BEGINNING = Location(0, 1, 1)


def read(text: str | bytes, *, lenient: bool) -> Reading:
    """See ``interchange``."""
    reader = _Reader(lenient=lenient)
    try:
        text = decoded(text)
    except OpenChatMLError as error:
        reader.report(error.problem)
        text = without_invalid_characters(text)
    try:
        values = strict_json.loads(text.removeprefix(BYTE_ORDER_MARK), exact=True)
    except JsonError as error:
        position = error.position + text.startswith(BYTE_ORDER_MARK)
        reader.report(Problem(Code.PARSE_HEADER, "the text is not valid JSON", location_of(text, position)))
        return Reading(document_header.UNREADABLE, (), tuple(reader.problems))
    try:
        reading = reader.read(values)
    except FutureVersionError:
        raise
    except OpenChatMLError as error:
        raise next(_all_located((error.problem,), text, values)).error() from None
    return replace(reading, problems=tuple(_all_located(reading.problems, text, values)))


def is_single_message(values: JsonValue) -> bool:
    """Whether this is one message without a document around it, like the example of section 10."""
    return isinstance(values, dict) and "role" in values and values.keys().isdisjoint(("header", "messages"))


def _all_located(problems: tuple[Problem, ...], text: str, values: JsonValue) -> Iterator[Problem]:
    """The problems of messages with their positions in the text, which holds ``values``."""
    locations: list[Location] = []
    if is_single_message(values):
        locations = [replace(location_of(text, _skip(text, text.startswith(BYTE_ORDER_MARK))), frame=0)]
    elif any(problem.location and problem.location.frame is not None for problem in problems):
        locations = message_locations(text)
    for problem in problems:
        number = problem.location.frame if problem.location else None
        yield problem if number is None else replace(problem, location=locations[number])


class _Reader:
    """One document. Problems are located by message index at first; their positions in the text are computed at the end."""

    def __init__(self, *, lenient: bool) -> None:
        self._lenient = lenient
        self.problems: list[Problem] = []

    def report(self, problem: Problem) -> None:
        if problem.is_refused and not self._lenient:
            raise problem.error()
        self.problems.append(problem)

    def read(self, values: JsonValue) -> Reading:
        if is_single_message(values):
            return self._messages(DocumentHeader(), [values])
        values = values if isinstance(values, dict) else self._not_a_document()
        header, messages = values.get("header"), values.get("messages")
        if set(values) != {"header", "messages"} or not isinstance(header, dict) or not isinstance(messages, list):
            self._not_a_document()
        document = self._document(header if isinstance(header, dict) else {})
        return self._messages(document, messages if isinstance(messages, list) else [])

    def _messages(self, document: DocumentHeader, messages: list[JsonValue]) -> Reading:
        rules = DocumentRules(document)
        finished: list[Finished] = []
        for number, message in enumerate(messages):
            finished += self._frames(message, number, rules)
        return Reading(document, tuple(finished), tuple(self.problems))

    def _not_a_document(self) -> dict[str, JsonValue]:
        if not self.problems:
            self.report(Problem(Code.PARSE_HEADER, "the document must be an object with a header and a list of messages", _BEGINNING))
        return {}

    def _document(self, header: dict[str, JsonValue]) -> DocumentHeader:
        try:
            document = document_header.from_values(header, _BEGINNING)
            document_header.write(Transcript((), document.version, document.model, document.settings, document.extra))
        except FutureVersionError:
            raise
        except OpenChatMLError as error:
            self.report(Problem(error.code, error.hint, _BEGINNING))
            return document_header.UNREADABLE
        for hint in document_header.hints(document.extra):
            self.report(Problem(Code.PARSE_HEADER, hint, _BEGINNING, is_refused=False))
        return document

    def _frames(self, message: JsonValue, number: int, rules: DocumentRules) -> list[Finished]:
        """The frames of one message: usually one."""
        reading = _Message()
        frames = reading.frames(message)
        faults, finished = reading.faults, list[Finished]()
        for frame in frames:
            frame, found = _checked(frame, rules)
            faults += found
            finished.append(Finished(frame, error=faults[0].code if faults else None))
        for fault in faults:
            self.report(fault.problem(Location(0, 1, 1, number)))
        if any(fault.hides for fault in faults):
            # The fault may be in a later frame: a message that is not understood is not understood in part. Calls are hidden as they are.
            finished = [item if addresses_tool(item.frame.header) else _hidden(item, faults[0].code) for item in finished]
        return finished


def _hidden(item: Finished, error: Code) -> Finished:
    frame = replace(item.frame, header=hidden(item.frame.header))
    return replace(item, frame=frame, error=item.error or error)


def _checked(frame: Frame, rules: DocumentRules) -> tuple[Frame, list[HeaderFault]]:
    """Check the rules that the text reader checks beyond the grammar, in its order. Returns the frame as it is kept, and what is wrong."""
    faults = list(rules.at_start(frame))
    header = hidden(frame.header) if any(fault.hides for fault in faults) else frame.header
    if end := rules.at_end(frame):
        faults.append(end)
        frame = replace(frame, terminator=Terminator.END)
    return replace(frame, header=header), [*faults, *calls.body_faults(frame)]


class _Message:
    """One message being read. A fault that hides applies to all of its frames: none is returned before all of it was read."""

    def __init__(self) -> None:
        self.faults: list[HeaderFault] = []
        self._hides = False

    def frames(self, message: JsonValue) -> list[Frame]:
        """``thinking`` comes before the message's own frame, visible text before its call."""
        if not isinstance(message, dict):
            self._fault("a message must be an object")
            return [Frame(BROKEN, _json_of(message))]
        frames = list(self._read(message))
        return [replace(frame, header=hidden(frame.header)) for frame in frames] if self._hides else frames

    def _read(self, message: dict[str, JsonValue]) -> Iterator[Frame]:
        """The frames of a message: of its thinking, its content and its call, as far as it has them, in this order."""
        self._check_keys(message)
        if thinking := self._text(message, "thinking"):
            if message.get("role") != Role.ASSISTANT:
                self._fault("only an assistant message can have thinking")
            yield Frame(ANALYSIS, thinking)
        call = message.get("tool_call")
        given = self._call_values(call) if call is not None else {}
        header = self._header({**message, **self._call_attributes(message, given)})
        content, ending = self._text(message, "content"), self._terminator(message)
        if call is None:
            if ending is Terminator.CALL:
                self._fault("the message ends with <|call|> but has no tool_call", Code.CALL_SCHEMA, hides=False)
                ending = None
            yield Frame(header, content or "", ending or Terminator.END)
            return
        if ending not in (None, Terminator.CALL):
            self._fault("a call must end with <|call|>", Code.CALL_SCHEMA)
        if content:
            yield Frame(replace(header, recipient=None, call_id=None, constrain=None), content)
            if header is not BROKEN:
                header = replace(header, channel=Channel.COMMENTARY, intent=None, content_type=None)
        yield self._call(call, given, header)

    def _fault(self, hint: str, code: Code = Code.PARSE_HEADER, *, hides: bool = True) -> None:
        self.faults.append(HeaderFault(code, hint, hides=hides))
        self._hides = self._hides or hides

    def _check_keys(self, message: dict[str, JsonValue]) -> None:
        if "tool_calls" in message:
            self._fault("tool_calls is not part of the format; use tool_call", Code.CALL_SCHEMA)
        elif set(message) - _KEYS:
            self._fault("a message has an unknown key")

    def _header(self, message: dict[str, JsonValue]) -> Header:
        values = {key: self._text(message, key) for key in _TEXTS}
        for key, value in values.items():
            if value is not None and not frame_header.VALUE.fullmatch(value):
                self._fault("a value that is not allowed in a header")
                values[key] = None
        role = values.pop("role")
        if role is None:
            self._fault("a message without a role")
            return BROKEN
        # The header is written as text and read by the one parser for frame headers, so that both formats obey the same rules.
        text = frame_header.spelled(Header(role, recipient=values.pop("to"), **values))
        if len(text) > frame_header.HEADER_LIMIT:
            self._fault("the frame header is too long")
            return BROKEN
        reading = frame_header.read(text)
        for fault in reading.faults:
            self._fault(fault.hint, fault.code, hides=fault.hides)
        return reading.header

    def _call_values(self, call: JsonValue) -> dict[str, str | None]:
        if not isinstance(call, dict) or set(call) - _CALL_KEYS.keys() - {"arguments"}:
            self._fault("tool_call must be an object with id, recipient, content_type and arguments", Code.CALL_SCHEMA)
        return {key: self._text(call, key) for key in (*_CALL_KEYS, "arguments")} if isinstance(call, dict) else {}

    def _call_attributes(self, message: dict[str, JsonValue], given: dict[str, str | None]) -> dict[str, JsonValue]:
        """The attributes of the frame that a call gives it, where its message has none of its own."""
        found: dict[str, JsonValue] = {}
        for key, word in _CALL_KEYS.items():
            value = given.get(key)
            if value is not None and message.get(word) not in (None, value):
                self._fault("the call and its message disagree", Code.CALL_SCHEMA)
            elif value is not None:
                found[word] = value
        return found

    def _call(self, call: JsonValue, given: dict[str, str | None], header: Header) -> Frame:
        if not isinstance(call, dict):
            return Frame(header, _json_of(call))
        if header is BROKEN:
            # Nobody says whose call this is: only the assistant's are carried out, and nothing makes this one the assistant's.
            return Frame(BROKEN, given["arguments"] or "")
        # Arguments are never meant for people, whatever the recipient is.
        self._hides = self._hides or header.role != Role.ASSISTANT or is_for_people(header.recipient)
        return Frame(header, given["arguments"] or "", Terminator.CALL)

    def _text(self, values: dict[str, JsonValue], key: str) -> str | None:
        value = values.get(key)
        if value is not None and not isinstance(value, str):
            self._fault("a value is not a string")
            return _json_of(value) if key in _BODIES else None
        if value and SURROGATE.search(value):
            self._fault("an unpaired surrogate")
            return SURROGATE.sub("\ufffd", value)
        return value

    def _terminator(self, message: dict[str, JsonValue]) -> Terminator | None:
        given = self._text(message, "terminator")
        if given is None:
            return None
        if given not in _TERMINATORS:
            self._fault("the terminator must be end, return or call")
        return _TERMINATORS.get(given)


_BODIES = ("content", "thinking", "arguments")


def _json_of(value: JsonValue) -> str:
    """A value that stands where a text belongs, as JSON text. JSON may have lone surrogates, which no frame can hold."""
    return SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))


# --- writing ----------------------------------------------------------------------------------------------------------------------


def dump_json(transcript: Transcript, *, fold_thinking: bool = False) -> str:
    """The canonical JSON of a document, ending in a line break. Raises if the document could not be written as text."""
    return json.dumps(to_values(transcript, fold_thinking=fold_thinking), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_values(transcript: Transcript, *, fold_thinking: bool = False) -> dict[str, JsonValue]:
    """The document as JSON values. ``fold_thinking``: an analysis frame becomes ``thinking`` of the assistant's next message."""
    document_header.write(transcript)
    check_written(transcript)
    messages: list[JsonValue] = list(_messages(transcript.frames, fold_thinking))
    return {"header": plain_mapping(document_header.keys_of(transcript)), "messages": messages}


def message_of(frame: Frame) -> dict[str, JsonValue]:
    """One frame as a message. Raises as ``document.dump_frame`` does."""
    check_frame(frame)
    values: dict[str, JsonValue] = dict(frame_header.canonical(frame.header).as_written())
    if frame.terminator is not Terminator.CALL:
        values["content"] = frame.body
        if frame.terminator is Terminator.RETURN:
            values["terminator"] = "return"
        return values
    call: dict[str, JsonValue] = {"id": values.pop("call_id"), "recipient": values.pop("to")}
    if "constrain" in values:
        call["content_type"] = values.pop("constrain")
    return {**values, "tool_call": {**call, "arguments": frame.body}}


def _messages(frames: tuple[Frame, ...], fold_thinking: bool) -> Iterator[dict[str, JsonValue]]:
    """The frames as messages. With ``fold_thinking``, a plain thought is a field of the assistant's message that follows it."""
    thinking: Frame | None = None
    for frame in frames:
        takes = thinking is not None and frame.header.role == Role.ASSISTANT and frame.header.channel != Channel.ANALYSIS
        if thinking is not None and not takes:
            yield message_of(thinking)
        if fold_thinking and _is_plain_thought(frame):
            thinking = frame
            continue
        message = message_of(frame)
        if thinking is not None and takes:
            message["thinking"] = thinking.body
        thinking = None
        yield message
    if thinking is not None:
        yield message_of(thinking)


def _is_plain_thought(frame: Frame) -> bool:
    return frame.header == ANALYSIS and frame.terminator is Terminator.END and frame.body != ""


# --- reading ----------------------------------------------------------------------------------------------------------------------


def parse_json(text: str | bytes) -> Transcript:
    """Read a document strictly: by the same rules as its text.

    Raises:
        OpenChatMLError: the first rule that is broken, as the class for its code. ``location`` is where the JSON is invalid, or where the
            message begins; its ``frame`` counts messages.
    """
    return read_strictly(text).transcript


def read_strictly(text: str | bytes) -> Reading:
    """As ``parse_json``, but also returns the status of each frame; ``problems`` are those that were only flagged."""
    return read(text, lenient=False)


def read_leniently(text: str | bytes) -> Reading:
    """Keep what can be kept, hide what cannot be understood, and report every problem. JSON that cannot be parsed, or that has a duplicate
    key, has no frames.

    Raises:
        FutureVersionError: the document has a major version that is not known yet. Nothing else is raised.
    """
    return read(text, lenient=True)
