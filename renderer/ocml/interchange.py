"""Reads and writes OpenChatML as JSON (specification section 10), without loss.

A document is ``{"header": {…}, "messages": [{…}, …]}``. A message is a frame: ``role``, ``channel``, ``name``, ``to``, ``call_id``,
``intent``, ``content_type`` and ``constrain`` as in its header, ``content`` for its body, ``terminator`` if that is ``return``. A frame
that ends in ``<|call|>`` is a message with ``tool_call`` in place of ``to``, ``call_id``, ``constrain`` and ``content``.
``docs/openchatml.schema.json`` is its schema.

Two more things can be read: ``thinking`` on an assistant's message is an analysis frame before it (written on request only), and a
message with both ``content`` and ``tool_call`` is two frames on commentary, the visible text and then the call (never written).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from renderer import strict_json
from renderer.errors import Code, OpenChatMLError, ParseHeaderError, Place, Problem
from renderer.events import violates_constraint
from renderer.frames import Channel, Frame, Header, Role, Terminator, Transcript
from renderer.ocml import calls, document_header, frame_header
from renderer.ocml.document_header import DocumentHeader, FutureVersionError
from renderer.ocml.json_places import SURROGATE, decoded, message_begins, place_of
from renderer.strict_json import JsonError, JsonValue

_ANALYSIS = Header(role=Role.ASSISTANT, channel=Channel.ANALYSIS)
_TEXTS = ("role", "channel", "name", "to", "call_id", "intent", "content_type", "constrain")
_KEYS = frozenset({*_TEXTS, "content", "terminator", "tool_call", "thinking"})
_CALL_KEYS = frozenset({"id", "recipient", "content_type", "arguments"})
_TERMINATORS = {"end": Terminator.END, "return": Terminator.RETURN, "call": Terminator.CALL}


# --- writing ----------------------------------------------------------------------------------------------------------------------


def dump_json(transcript: Transcript, *, fold_thinking: bool = False) -> str:
    """The canonical JSON of a document, ending in a line break. Raises if the document could not be written as text."""
    return json.dumps(to_values(transcript, fold_thinking=fold_thinking), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_values(transcript: Transcript, *, fold_thinking: bool = False) -> dict[str, JsonValue]:
    """The document as JSON values. ``fold_thinking``: an analysis frame becomes ``thinking`` of the assistant's next message."""
    document_header.write(transcript)
    header: dict[str, object] = {"version": transcript.version}
    if transcript.model is not None:
        header["model"] = transcript.model
    if transcript.settings:
        header["generation_settings"] = dict(transcript.settings)
    header.update(transcript.extra)
    messages: list[JsonValue] = list(_messages(transcript.frames, fold_thinking))
    return {"header": _json(header), "messages": messages}


def message_of(frame: Frame) -> dict[str, JsonValue]:
    """One frame as a message. Raises as ``ocml.dump_frame`` does."""
    frame_header.write(frame.header)
    if fault := frame_header.fault_of_terminator(frame.header, frame.terminator):
        raise Problem(fault.code, fault.hint).error()
    said: dict[str, JsonValue] = dict(frame_header.canonical(frame.header).as_written())
    if frame.terminator is not Terminator.CALL:
        said["content"] = frame.body
        if frame.terminator is Terminator.RETURN:
            said["terminator"] = "return"
        return said
    call: dict[str, JsonValue] = {"id": said.pop("call_id"), "recipient": said.pop("to")}
    if "constrain" in said:
        call["content_type"] = said.pop("constrain")
    return {**said, "tool_call": {**call, "arguments": frame.body}}


def _messages(frames: tuple[Frame, ...], fold_thinking: bool) -> Iterator[dict[str, JsonValue]]:
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
    return frame.header == _ANALYSIS and frame.terminator is Terminator.END and frame.body != ""


def _json(value: object) -> JsonValue:
    """A header value in plain containers. ``document_header.write`` has already refused what is not JSON."""
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ParseHeaderError("a value that a document header cannot hold")


# --- reading ----------------------------------------------------------------------------------------------------------------------


def parse_json(text: str | bytes) -> Transcript:
    """Read a document strictly: by the same rules as its text.

    Raises:
        OpenChatMLError: the first rule that is broken, as the class for its code. ``place`` is where the JSON is invalid, or where the
            message begins; its ``frame`` counts messages.
    """
    text = decoded(text)
    try:
        values = strict_json.loads(text, unique_keys=True)
    except JsonError as error:
        raise ParseHeaderError("the text is no JSON that is read here", place_of(text, error.position)) from None
    try:
        return from_values(values)
    except OpenChatMLError as error:
        place = error.place
        if place is None or place.frame is None:
            raise
        begin = message_begins(text, place.frame)
        found = place_of(text, begin, place.frame)
        raise Problem(error.code, error.hint, found).error() from None


def from_values(values: JsonValue) -> Transcript:
    """The transcript that these values describe. Raises as ``parse_json`` does; its places have only the number of the message."""
    beginning = Place(0, 1, 1)
    if not isinstance(values, dict) or set(values) - {"header", "messages"}:
        raise ParseHeaderError("a document is an object of header and messages", beginning)
    header, messages = values.get("header"), values.get("messages")
    if not isinstance(header, dict) or not isinstance(messages, list):
        raise ParseHeaderError("a document has a header and a list of messages", beginning)
    document = document_header.from_values(header, beginning)
    frames: list[Frame] = []
    pairing = calls.Pairing(document.profile)
    for number, message in enumerate(messages):
        place = Place(0, 1, 1, number)
        for frame in _frames(message, place):
            _check(frame, pairing, document, place)
            frames.append(frame)
    transcript = Transcript(tuple(frames), document.version, document.model, document.settings, document.extra)
    try:
        document_header.write(transcript)
    except FutureVersionError:
        raise
    except OpenChatMLError as error:
        raise ParseHeaderError(error.hint, beginning) from None
    return transcript


def _frames(message: JsonValue, place: Place) -> Iterator[Frame]:
    """The frames of one message: usually one; ``thinking`` comes before it, visible text before a call."""
    message = _object(message, place)
    if thinking := _thinking(message, place):
        yield Frame(_ANALYSIS, thinking)
    header, content, ending = _header(message, place), _text(message, "content", place), _terminator(message, place)
    call = message.get("tool_call")
    if call is None:
        if ending is Terminator.CALL:
            raise Problem(Code.CALL_SCHEMA, "a message that ends as a call and makes none", place).error()
        yield Frame(header, content or "", ending or Terminator.END)
        return
    if ending not in (None, Terminator.CALL):
        raise Problem(Code.CALL_SCHEMA, "a call that does not end as a call", place).error()
    if content:
        yield Frame(replace(header, recipient=None, call_id=None, constrain=None), content)
        header = replace(header, channel=Channel.COMMENTARY, intent=None, content_type=None)
    yield _call(call, header, place)


def _object(message: JsonValue, place: Place) -> dict[str, JsonValue]:
    if not isinstance(message, dict):
        raise ParseHeaderError("a message is an object", place)
    if "tool_calls" in message:
        raise Problem(Code.CALL_SCHEMA, "tool_calls is no part of the format; a call is tool_call", place).error()
    if set(message) - _KEYS:
        raise ParseHeaderError("a message with a key that is not known", place)
    return message


def _thinking(message: dict[str, JsonValue], place: Place) -> str | None:
    thinking = _text(message, "thinking", place)
    if thinking and message.get("role") != Role.ASSISTANT:
        raise ParseHeaderError("thinking belongs to an assistant's message", place)
    return thinking


def _header(message: dict[str, JsonValue], place: Place) -> Header:
    said = {key: _text(message, key, place) for key in _TEXTS}
    role = said.pop("role")
    if role is None:
        raise ParseHeaderError("a message without a role", place)
    # The header is written as text and read by the one parser for frame headers, so that both formats obey the same rules.
    words = [role, *(f"{key}={said[key]}" for key in frame_header.ATTRIBUTES if said[key] is not None)]
    channel = f"<|channel|>{said['channel']}" if said["channel"] is not None else ""
    constrain = f"<|constrain|>{said['constrain']}" if said["constrain"] is not None else ""
    if any(value is not None and not _VALUE.fullmatch(value) for value in (role, *said.values())):
        raise ParseHeaderError("a value that may not stand in a header", place)
    reading = frame_header.read(" ".join(words) + channel + constrain)
    if reading.faults:
        raise Problem(reading.faults[0].code, reading.faults[0].hint, place).error()
    return reading.header


_VALUE = re.compile(r"(?:(?!<\|(?:start|channel|message|call|constrain|return|end|literal|endliteral)\|>)[\x21-\x7e])+")


def _call(call: JsonValue, header: Header, place: Place) -> Frame:
    if not isinstance(call, dict) or set(call) - _CALL_KEYS:
        raise Problem(Code.CALL_SCHEMA, "tool_call is an object of id, recipient, content_type and arguments", place).error()
    told = {key: _text(call, key, place) for key in _CALL_KEYS}
    agreed = (("id", "call_id", header.call_id), ("recipient", "to", header.recipient), ("content_type", "constrain", header.constrain))
    for key, _word, said in agreed:
        if said is not None and told[key] not in (None, said):
            raise Problem(Code.CALL_SCHEMA, "a call and its message differ", place).error()
    message: dict[str, JsonValue] = dict(header.as_written())
    message.update({word: told[key] for key, word, _said in agreed if told[key] is not None})
    return Frame(_header(message, place), told["arguments"] or "", Terminator.CALL)


def _text(values: dict[str, JsonValue], key: str, place: Place) -> str | None:
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise ParseHeaderError("a value that is no text", place)
    if value and SURROGATE.search(value):
        raise ParseHeaderError("half a surrogate pair", place)
    return value


def _terminator(message: dict[str, JsonValue], place: Place) -> Terminator | None:
    told = _text(message, "terminator", place)
    if told is None:
        return None
    if told not in _TERMINATORS:
        raise ParseHeaderError("a terminator that is none of end, return and call", place)
    return _TERMINATORS[told]


def _check(frame: Frame, pairing: calls.Pairing, document: DocumentHeader, place: Place) -> None:
    """Check the rules that the text reader checks beyond the grammar. What it would only flag is kept."""
    if document.is_version_1 and _is_version_2(frame):
        raise ParseHeaderError("a 2.x feature in a transcript that is not of version 2", place)
    faults = [fault for fault in pairing.opened(frame.header) if fault.is_refused]
    if fault := pairing.closed(frame.header, frame.terminator):
        faults.append(fault)
    if not faults and violates_constraint(frame):
        raise Problem(Code.BODY_CONSTRAINT_VIOLATION, "a body that is not what its constraint says", place).error()
    faults += [fault for fault in calls.body_faults(frame) if fault.is_refused]
    if faults:
        raise Problem(faults[0].code, faults[0].hint, place).error()


def _is_version_2(frame: Frame) -> bool:
    header = frame.header
    return frame.terminator is not Terminator.END or len(header.as_written()) > 1 or header.role in (Role.DEVELOPER, Role.TOOL)
