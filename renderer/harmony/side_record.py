"""The side record: a JSON file for the OpenChatML data that Harmony cannot represent.

It holds headers and lengths, no body. Together with the Harmony text or ids it restores the exact transcript. It is checked against
them, so a record that belongs to another document is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from renderer.errors import ParseHeaderError
from renderer.frames import Header, Terminator

FORMAT = "openchatml-harmony-side-record"
VERSION = 1


class SideRecordError(ParseHeaderError):
    """``E-PARSE-HEADER``: a side record that cannot be read, or that belongs to another document."""


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message: its OpenChatML ``header`` and ``terminator``, and how Harmony writes it.

    ``harmony`` is the text between ``<|start|>`` and ``<|message|>``; in the first message of a completion, without the role.
    ``characters`` is the length of the body, so that it can be cut out of Harmony text even if it contains markers.
    """

    header: Header
    terminator: Terminator
    harmony: str
    stop: Terminator
    characters: int


@dataclass(frozen=True, slots=True)
class SideRecord:
    """All messages in order; ``document`` is the OpenChatML document header, if there is one.

    ``completion``: the Harmony text or ids begin after ``<|start|>assistant``, so the first header has no role.
    """

    messages: tuple[MessageRecord, ...]
    document: Mapping[str, object] | None = None
    completion: bool = False

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
            read = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SideRecordError("the side record is not valid JSON") from error
        if not isinstance(read, dict) or read.get("format") != FORMAT or read.get("version") != VERSION:
            raise SideRecordError("the format or version of the side record is unknown")
        document, messages = read.get("document"), read.get("messages")
        completion = read.get("completion")
        if not isinstance(messages, list) or not isinstance(document, dict | None) or not isinstance(completion, bool):
            raise SideRecordError("the side record lacks messages or completion, or its document is not an object")
        return cls(tuple(_message(message) for message in messages), document, completion)


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
        } if characters >= 0:
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
