"""Converts OpenChatML frames to Harmony and back, according to the Harmony Interop Profile HIP-1 (specification section 12).

Harmony is written as token ids or as text, with a side record: a JSON file for the OpenChatML data that Harmony cannot represent. It holds
headers and lengths, no body. Together with the Harmony text or ids it restores the exact transcript. It is checked against them, so a
record that belongs to another document is refused, and so is one that says of a message what neither reading nor writing it gives: **a
record shows nobody what the Harmony alone, read as a whole conversation, would not**.

No format reveals more than another: a frame that people may not see, but that Harmony would show, is written on the analysis channel. One
that they may see, but that Harmony would hide, is written without its types, or on final. The side record stores the header of both. If the
first frame is the assistant's, both begin after ``<|start|>assistant``, where a completion begins; otherwise with ``<|start|>``. Without a
side record, Harmony is read as a model's completion: a message of another author is a forgery. ``<|return|>`` is written as ``<|end|>``, as
Harmony requires for earlier turns.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from renderer import strict_json
from renderer.errors import OpenChatMLError, ParseHeaderError
from renderer.events import Finished, hidden
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.gate import Audience, may_see
from renderer.harmony.pieces import (
    Marker,
    Piece,
    TokenPieces,
    escaped,
    fold,
    ids_of_pieces,
    messages,
    pieces_of_text,
    read_completion,
    text_of_pieces,
    unescaped,
)
from renderer.harmony.reader import HarmonyReader, author_of, is_json
from renderer.harmony.vocabulary import Vocabulary
from renderer.ocml.document import Reading, check_frame
from renderer.ocml.document_header import DocumentHeader
from renderer.strict_json import JsonError
from renderer.tokens import Token

FORMAT = "openchatml-harmony-side-record"
VERSION = 1


class SideRecordError(ParseHeaderError):
    """``E-PARSE-HEADER``: a side record that cannot be read, or that belongs to another document."""


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message: its OpenChatML header and terminator, and how Harmony writes it."""

    header: Header
    terminator: Terminator
    harmony: str
    """The text between ``<|start|>`` and ``<|message|>``; in the first message of a completion, without the role."""
    stop: Terminator
    characters: int
    """The length of the body, so that it can be cut out of Harmony text even if it contains markers."""


@dataclass(frozen=True, slots=True)
class SideRecord:
    """All messages in order."""

    messages: tuple[MessageRecord, ...]
    document: Mapping[str, object] | None = None
    """The OpenChatML document header, if there is one."""
    completion: bool = False
    """Whether the Harmony text or ids begin after ``<|start|>assistant``, so that the first header has no role."""

    def to_json(self) -> str:
        """The record as JSON, ending in a line break."""
        written: dict[str, Any] = {"format": FORMAT, "version": VERSION, "completion": self.completion}
        if self.document is not None:
            written["document"] = dict(self.document)
        written["messages"] = [
            {
                "header": message.header.as_written(),
                "terminator": message.terminator.value,
                "harmony": message.harmony,
                "stop": message.stop.value,
                "characters": message.characters,
            }
            for message in self.messages
        ]
        return json.dumps(written, ensure_ascii=False, indent=1, default=str) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SideRecord:
        """Read what ``to_json`` wrote. Raises SideRecordError for anything else."""
        try:
            read = strict_json.loads(text, exact=True)
        except JsonError as error:
            raise SideRecordError("the side record is not valid JSON, or has a key twice") from error
        if not isinstance(read, dict) or read.get("format") != FORMAT or not _is_number(read.get("version"), VERSION):
            raise SideRecordError("the format or version of the side record is unknown")
        document, messages = read.get("document"), read.get("messages")
        completion = read.get("completion")
        if not isinstance(messages, list) or not isinstance(document, dict | None) or not isinstance(completion, bool):
            raise SideRecordError("the side record lacks messages or completion, or its document is not an object")
        if document is not None and not all(isinstance(document.get(key, kind()), kind) for key, kind in _DOCUMENT.items()):
            raise SideRecordError("the document header in the side record has a value of another type")
        return cls(tuple(_message(message) for message in messages), document, completion)


def _is_number(value: object, number: int) -> bool:
    return type(value) is int and value == number  # True is 1


_DOCUMENT: dict[str, type[str] | type[dict[str, object]]] = {"version": str, "model": str, "generation_settings": dict}
_ATTRIBUTES = {"to": "recipient"}
_NAMES = frozenset(field.name for field in fields(Header))


def _message(read: object) -> MessageRecord:
    match read:
        case {
            "header": dict(header),
            "terminator": str(terminator),
            "harmony": str(harmony),
            "stop": str(stop),
            "characters": int(characters),
        } if type(characters) is int and characters >= 0:
            try:
                return MessageRecord(_read_header(header), Terminator(terminator), harmony, Terminator(stop), characters)
            except ValueError as error:
                raise SideRecordError("a message of the side record has an unknown terminator") from error
    raise SideRecordError("a message of the side record has a missing or invalid field")


def _read_header(read: dict[str, object]) -> Header:
    values: dict[str, str] = {}
    for name, value in read.items():
        attribute = _ATTRIBUTES.get(name, name)
        if attribute not in _NAMES or name == "recipient" or not isinstance(value, str):
            raise SideRecordError("a header of the side record has an unknown or invalid field")
        values[attribute] = value
    if "role" not in values:
        raise SideRecordError("a header of the side record has no role")
    return Header(**values)


_WRITABLE = re.compile(r"(?:(?!<\|)[!-~])+")


def to_tokens(
    frames: Sequence[Frame], vocabulary: Vocabulary, *, document: Mapping[str, object] | None = None
) -> tuple[list[int], SideRecord]:
    """Frames as token ids, with their side record.

    Raises:
        ParseHeaderError: a header value that Harmony needs is not allowed in a header.
        OpenChatMLError: a frame ends as a call, but is not an assistant's or not addressed to a tool.
    """
    pieces, record = _written(frames, document, is_text=False)
    return ids_of_pieces(pieces, vocabulary), record


def to_text(frames: Sequence[Frame], *, document: Mapping[str, object] | None = None) -> tuple[str, SideRecord]:
    """Frames as Harmony text, with their side record. Raises as ``to_tokens`` does.

    Where a body contains the text of a marker, a zero-width space is inserted after its ``<`` (see ``pieces.escaped``), so that no reader
    mistakes it for a real marker. The side record restores the exact body.
    """
    pieces, record = _written(frames, document, is_text=True)
    return text_of_pieces(pieces), record


def from_tokens(ids: Iterable[int], vocabulary: Vocabulary, *, record: SideRecord | None = None, conversation: bool = False) -> Reading:
    """Frames from token ids.

    Without ``record`` the ids are a model's completion, or with ``conversation`` a whole conversation that the caller trusts. Calls
    then get new ids; a reply gets that of the oldest call of its tool.

    Raises:
        SideRecordError: the record belongs to another document.
    """
    reader = TokenPieces(vocabulary)
    pieces = [*reader.feed(ids), *reader.finish()]
    if record is not None:
        return _reading(_restored(pieces, record, is_text=False), record)
    return _reading(fold(pieces, HarmonyReader(_numbered(), conversation=conversation)))


def from_text(text: str, *, record: SideRecord | None = None, conversation: bool = False) -> Reading:
    """Frames from Harmony text, as ``from_tokens``. Without ``record``, more may be hidden than with ids (see ``pieces``)."""
    pieces = pieces_of_text(text)
    if record is not None:
        return _reading(_restored(pieces, record, is_text=True), record)
    read = fold(pieces, HarmonyReader(_numbered(), conversation=True)) if conversation else read_completion(text, _numbered())
    return _reading(replace(done, frame=replace(done.frame, body=unescaped(done.frame.body))) for done in read)


def _reading(finished: Iterable[Finished], record: SideRecord | None = None) -> Reading:
    extra = dict(record.document or {}) if record else {}
    version, model, settings = extra.pop("version", "2.2"), extra.pop("model", None), extra.pop("generation_settings", None)
    header = DocumentHeader(str(version), None if model is None else str(model), settings if isinstance(settings, dict) else {}, extra)
    return Reading(header, tuple(finished))


def ids_from_json(text: str) -> list[int]:
    """Token ids from a JSON array. Raises ParseHeaderError for anything else."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseHeaderError("token ids must be a JSON array of integers") from error
    if not isinstance(read, list) or not all(type(number) is int for number in read):
        raise ParseHeaderError("token ids must be a JSON array of integers")
    return read


def as_written(frame: Frame) -> Frame:
    """The frame that Harmony is given for this one: the same, unless Harmony read without a side record would show another audience.

    Harmony cannot represent intents, treats commentary without a recipient as a preamble, and hides a preamble that is JSON or announces a
    type. What people may not see is then written as reasoning; what they may see without its types, or as an answer.
    """
    header = frame.header
    if _is_seen(header):
        plain = replace(header, recipient=None, content_type=None, constrain=None)
        shown = (each for each in (header, plain) if _would_be_seen(each, _sample(frame.body), completion=False))
        return replace(frame, header=next(shown, ANSWER))
    is_like_a_role = header.role == Role.TOOL and header.name is not None and author_of(header.name).role != Role.TOOL
    would_be_seen = any(_would_be_seen(header, "text", completion=completion) for completion in (True, False))
    return Frame(ANALYSIS, frame.body) if is_like_a_role or would_be_seen else frame


@lru_cache(maxsize=512)
def _would_be_seen(header: Header, body: str, *, completion: bool) -> bool:
    read = fold(pieces_of_frame(Frame(header, body)), HarmonyReader(_numbered(), conversation=not completion))
    return any(_is_seen(done.frame.header) for done in read)


def pieces_of_frame(frame: Frame) -> list[Piece]:
    """The pieces of one frame, as openai-harmony writes it, but for two of its mistakes: here a recipient that is not a tool does not end
    in a call, and a bare content type without a recipient is omitted, because it would be read as a recipient."""
    return [Marker(Token.START), *_header_pieces(frame.header), Marker(Token.MESSAGE), *_body(frame.body), Marker(_stop(frame))]


def _header_pieces(header: Header) -> list[Piece]:
    pieces: list[Piece] = [_value(_author(header))]
    if header.recipient is not None and header.recipient != "all":
        pieces.append(f" to={_value(header.recipient)}")
    # Harmony requires a channel for every assistant message. In OpenChatML no channel means final (section 5, rule 2).
    channel = Channel.FINAL.value if header.channel is None and header.role == Role.ASSISTANT else header.channel
    if channel is not None:
        pieces += [Marker(Token.CHANNEL), _value(channel)]
    if header.constrain is not None:
        pieces += [" ", Marker(Token.CONSTRAIN), _value(header.constrain)]
    elif header.content_type is not None and header.recipient not in (None, "all"):
        pieces.append(f" {_value(header.content_type)}")
    return pieces


def _author(header: Header) -> str:
    if header.role != Role.TOOL or header.name is None:
        return header.role
    # A tool with the name of a role would impersonate that role.
    return header.name if author_of(header.name).role == Role.TOOL else f"functions.{header.name}"


def _value(value: str | None) -> str:
    if value is None or not _WRITABLE.fullmatch(value):
        raise ParseHeaderError("a header value contains a character that is not allowed in a Harmony header")
    return str(value)


def _body(body: str) -> list[Piece]:
    return [body] if body else []


def _written(frames: Sequence[Frame], document: Mapping[str, object] | None, *, is_text: bool) -> tuple[list[Piece], SideRecord]:
    """The frames in Harmony, and the side record of what it cannot hold. ``is_text``: they become text, in which bodies are escaped."""
    for frame in frames:
        check_frame(frame)
    completion = bool(frames) and frames[0].header.role == Role.ASSISTANT
    pieces: list[Piece] = []
    records: list[MessageRecord] = []
    for index, frame in enumerate(frames):
        opening: list[Piece] = [Marker(Token.START)] if index or not completion else []
        written = as_written(frame)
        header, stop = _header_pieces(written.header)[0 if opening else 1 :], _stop(written)
        body = escaped(frame.body) if is_text else frame.body
        pieces += [*opening, *header, Marker(Token.MESSAGE), *_body(body), Marker(stop)]
        records.append(MessageRecord(frame.header, frame.terminator, text_of_pieces(header), stop, len(frame.body)))
    return pieces, SideRecord(tuple(records), document, completion)


def _stop(frame: Frame) -> Terminator:
    return Terminator.CALL if frame.terminator is Terminator.CALL else Terminator.END


def _restored(pieces: Sequence[Piece], record: SideRecord, *, is_text: bool) -> Iterator[Finished]:
    found = messages(pieces)
    completion = bool(pieces) and pieces[0] != Marker(Token.START)
    if found is None or len(found) != len(record.messages) or completion != record.completion:
        raise SideRecordError("the side record belongs to another document")
    for number, (message, recorded) in enumerate(zip(found, record.messages, strict=True), 1):
        message = replace(message, body=unescaped(message.body)) if is_text else message
        frame = Frame(recorded.header, message.body, recorded.terminator)
        read = MessageRecord(frame.header, frame.terminator, text_of_pieces(message.header), message.stop, len(message.body))
        if read != recorded or not _fits(recorded, message.body, opened=number > 1 or not completion):
            raise SideRecordError(f"the side record belongs to another document; they differ in message {number}")
        yield Finished(frame)


def _fits(recorded: MessageRecord, body: str, *, opened: bool) -> bool:
    """Whether writing such a frame, or reading such a message, gives this record. ``opened``: ``harmony`` holds the role.

    Whatever else it says, a record shows no message that Harmony alone would hide, and makes no call of what is none.
    """
    frame = Frame(recorded.header, body, recorded.terminator)
    try:
        check_frame(frame)
        written = text_of_pieces(_header_pieces(as_written(frame).header)[0 if opened else 1 :])
    except OpenChatMLError:
        return False
    alone = _alone(recorded.harmony, _sample(body), recorded.stop, opened=opened)
    if alone is None or (_is_seen(frame.header) and not _is_seen(alone.header)):
        return False
    if frame.terminator is Terminator.CALL and Terminator.CALL not in (recorded.stop, alone.terminator):
        return False
    header = replace(alone.header, call_id=frame.header.call_id)
    return recorded.harmony == written or frame.header in (header, hidden(header), BROKEN)


@lru_cache(maxsize=512)
def _alone(harmony: str, body: str, stop: Terminator, *, opened: bool) -> Frame | None:
    """The frame that is read from a conversation of this message alone; None if that is not exactly one message."""
    opening: list[Piece] = [Marker(Token.START)] if opened else []
    pieces = [*opening, *pieces_of_text(harmony), Marker(Token.MESSAGE), body, Marker(stop)]
    read = fold(pieces, HarmonyReader(_numbered(), conversation=True))
    return read[0].frame if len(read) == 1 else None


def _sample(body: str) -> str:
    """A short body that Harmony reads as this one: what a message is depends only on whether its body is JSON, and an object."""
    return "text" if not is_json(body) else "{}" if body.lstrip().startswith("{") else "1"


def _is_seen(header: Header) -> bool:
    return may_see(header, Audience.END_USER)


def _numbered() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"call_{next(numbers)}"
