"""Reads OpenChatML as JSON (specification section 10) by the rules of its text form, strictly or leniently.

Strict reading raises the first refused problem. Lenient reading continues: it hides what it cannot understand and reports every problem.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from renderer import strict_json
from renderer.errors import Code, Location, OpenChatMLError, Problem
from renderer.events import Finished, violates_constraint
from renderer.frame_kinds import ANALYSIS, BROKEN, addresses_tool
from renderer.frames import Channel, Frame, Header, Intent, Role, Terminator, Transcript
from renderer.ocml import calls, capabilities, document_header, frame_header
from renderer.ocml.document import Reading
from renderer.ocml.document_header import DocumentHeader, FutureVersionError
from renderer.ocml.document_rules import DocumentRules
from renderer.ocml.frame_header import Fault
from renderer.ocml.json_locations import BYTE_ORDER_MARK, SURROGATE, decoded, location_of, message_locations, without_invalid_characters
from renderer.strict_json import JsonError, JsonValue

_TEXTS = ("role", "channel", "name", "to", "call_id", "intent", "content_type", "constrain")
_KEYS = frozenset({*_TEXTS, "content", "terminator", "tool_call", "thinking"})
_CALL_KEYS = frozenset({"id", "recipient", "content_type", "arguments"})
_TERMINATORS = {"end": Terminator.END, "return": Terminator.RETURN, "call": Terminator.CALL}
_BEGINNING = Location(0, 1, 1)

Report = Callable[[Fault], None]
"""Receives a fault in the message that is being read. Raises it if reading is strict and refuses it."""


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
        return Reading(DocumentHeader(profile=document_header.STRICTEST), (), tuple(reader.problems))
    try:
        reading = reader.read(values)
    except FutureVersionError:
        raise
    except OpenChatMLError as error:
        raise _located(error.problem, text).error() from None
    return replace(reading, problems=tuple(_all_located(reading.problems, text)))


def _located(problem: Problem, text: str) -> Problem:
    return next(_all_located((problem,), text))


def _all_located(problems: tuple[Problem, ...], text: str) -> Iterator[Problem]:
    """The problems of messages with their positions in the text."""
    locations = message_locations(text) if any(problem.location and problem.location.frame is not None for problem in problems) else []
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
        values = values if isinstance(values, dict) else self._not_a_document()
        header, messages = values.get("header"), values.get("messages")
        if set(values) != {"header", "messages"} or not isinstance(header, dict) or not isinstance(messages, list):
            self._not_a_document()
        document = self._document(header if isinstance(header, dict) else {})
        rules = DocumentRules(document)
        finished: list[Finished] = []
        for number, message in enumerate(messages if isinstance(messages, list) else ()):
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
            return DocumentHeader(profile=document_header.STRICTEST)
        for hint in capabilities.hints(document.extra):
            self.report(Problem(Code.PARSE_HEADER, hint, _BEGINNING, is_refused=False))
        return document

    def _frames(self, message: JsonValue, number: int, rules: DocumentRules) -> Iterator[Finished]:
        """The frames of one message: usually one."""
        location = Location(0, 1, 1, number)
        found: list[Code] = []

        def report(fault: Fault) -> None:
            is_refused = not isinstance(fault, calls.CallFault) or fault.is_refused
            self.report(Problem(fault.code, fault.hint, location, is_refused))
            found.append(fault.code)

        for frame in _Message(report).frames(message):
            frame = _checked(frame, rules, report)
            yield Finished(frame, error=found[0] if found else None)


def _checked(frame: Frame, rules: DocumentRules, report: Report) -> Frame:
    """Check the rules that the text reader checks beyond the grammar, in its order."""
    header = frame.header
    for fault in rules.at_start(frame):
        report(fault)
        header = replace(header, intent=Intent.DEBUG) if fault.hides else header
    if end := rules.at_end(frame):
        report(end)
        frame = replace(frame, terminator=Terminator.END)
    if violates_constraint(frame):
        report(Fault(Code.BODY_CONSTRAINT_VIOLATION, "the body does not match its constraint"))
    for fault in calls.body_faults(frame):
        report(fault)
    return replace(frame, header=header)


class _Message:
    """One message being read. A fault that hides applies to the frames returned after it was found."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._hides = False

    def frames(self, message: JsonValue) -> Iterator[Frame]:
        """``thinking`` comes before the message's own frame, visible text before its call."""
        if not isinstance(message, dict):
            self._fault("a message must be an object")
            yield Frame(BROKEN, json.dumps(message, ensure_ascii=False))
            return
        self._check_keys(message)
        if thinking := self._text(message, "thinking"):
            if message.get("role") != Role.ASSISTANT:
                self._fault("only an assistant message can have thinking")
            yield self._frame(ANALYSIS, thinking)
        header, content, ending = self._header(message), self._text(message, "content"), self._terminator(message)
        call = message.get("tool_call")
        if call is None:
            if ending is Terminator.CALL:
                self._fault("the message ends with <|call|> but has no tool_call", Code.CALL_SCHEMA, hides=False)
                ending = None
            yield self._frame(header, content or "", ending or Terminator.END)
            return
        if ending not in (None, Terminator.CALL):
            self._fault("a call must end with <|call|>", Code.CALL_SCHEMA)
        if content:
            yield self._frame(replace(header, recipient=None, call_id=None, constrain=None), content)
            header = replace(header, channel=Channel.COMMENTARY, intent=None, content_type=None)
        yield self._call(call, header)

    def _fault(self, hint: str, code: Code = Code.PARSE_HEADER, *, hides: bool = True) -> None:
        self._report(Fault(code, hint))
        self._hides = self._hides or hides

    def _frame(self, header: Header, body: str, terminator: Terminator = Terminator.END) -> Frame:
        return Frame(replace(header, intent=Intent.DEBUG) if self._hides else header, body, terminator)

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

    def _call(self, call: JsonValue, header: Header) -> Frame:
        if not isinstance(call, dict) or set(call) - _CALL_KEYS:
            self._fault("tool_call must be an object with id, recipient, content_type and arguments", Code.CALL_SCHEMA)
        if not isinstance(call, dict):
            return self._frame(header, json.dumps(call, ensure_ascii=False))
        given = {key: self._text(call, key) for key in _CALL_KEYS}
        message: dict[str, JsonValue] = dict(header.as_written())
        for key, word in (("id", "call_id"), ("recipient", "to"), ("content_type", "constrain")):
            if given[key] not in (None, message.setdefault(word, given[key])):
                self._fault("the call and its message disagree", Code.CALL_SCHEMA)
        header = self._header(message)
        # Arguments are never meant for people, whatever the recipient is.
        self._hides = self._hides or not addresses_tool(header)
        return self._frame(header, given["arguments"] or "", Terminator.CALL)

    def _text(self, values: dict[str, JsonValue], key: str) -> str | None:
        value = values.get(key)
        if value is not None and not isinstance(value, str):
            self._fault("a value is not a string")
            return json.dumps(value, ensure_ascii=False) if key in _BODIES else None
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
