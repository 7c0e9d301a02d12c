"""Reads and writes the header of one frame, from ``<|start|>`` to ``<|message|>`` (specification sections 6 and 15).

Reading never fails: it returns as much of the header as it understands, and every fault with its position. A strict caller stops at the
first fault; a lenient caller hides the frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from renderer.errors import Code, Location, ParseHeaderError, Problem
from renderer.frame_kinds import PEOPLE
from renderer.frames import Channel, Header, Role, Terminator
from renderer.tokens import TOKEN_RUN, Token

HEADER_LIMIT = 4096
"""The longest frame header that is read, in characters. A reader buffers no more than this while it waits for ``<|message|>``."""

ATTRIBUTES = {
    "to": "recipient",
    "call_id": "call_id",
    "name": "name",
    "intent": "intent",
    "content_type": "content_type",
}
"""The attributes in the order in which they are written, and the Header fields that they set."""

VALUE = re.compile(rf"(?:(?!{'|'.join(re.escape(token) for token in Token)})[!-~])+")
"""A value that is read and written in a header: visible ASCII without a control token.

Values that we create ourselves match the stricter ``HEADER_VALUE``.
"""

_LATE_ATTRIBUTES = frozenset({"call_id", "name"})
_LEGACY_TOOL = re.compile(r"functions\.[A-Za-z0-9_-]+")
_ROLES = frozenset(role.value for role in Role)
_CHANNELS = frozenset(channel.value for channel in Channel)
_ROLES_OF_VERSION_1 = frozenset({Role.SYSTEM.value, Role.USER.value, Role.ASSISTANT.value})
_WORD = re.compile(r"\S+")
_NOT_IN_A_HEADER = re.compile(r"[^\x20-\x7e\t]")


@dataclass(frozen=True, slots=True)
class HeaderFault:
    """An error in a header, or in how calls and replies are used."""

    code: Code
    hint: str
    at: int | None = None
    """A character offset into the raw header; None for the frame."""
    hides: bool = True
    """Whether a lenient reader hides the frame."""
    is_refused: bool = True
    """Whether a strict reader refuses the frame; otherwise it keeps it and flags it."""

    def problem(self, location: Location | None = None) -> Problem:
        """This fault of the frame at ``location``."""
        return Problem(self.code, self.hint, location, self.is_refused)


@dataclass(frozen=True, slots=True)
class HeaderReading:
    """The parts of a header that could be understood. ``is_version_2``: it uses a feature that version 1 did not have."""

    header: Header
    faults: tuple[HeaderFault, ...]
    is_version_2: bool


@lru_cache(maxsize=512)
def read(raw: str) -> HeaderReading:
    """Read the characters between ``<|start|>`` and ``<|message|>``. Results are cached, as most headers repeat."""
    return _Reading(raw).result()


def canonical(header: Header) -> Header:
    """The header itself. A legacy ``functions.x`` role becomes a reply of the tool ``functions.x``."""
    role, name = _tool_name(header.role)
    return header if name is None else replace(header, role=role, name=name)


@lru_cache(maxsize=128)
def write(header: Header) -> str:
    """The canonical header, with ``<|start|>`` and ``<|message|>``. Raises ParseHeaderError if strict reading would refuse it.

    Results are cached: most frames have one of a few headers, and each is written when it is checked and again when it is stored.
    """
    if header.name not in (None, canonical(header).name):
        raise ParseHeaderError("a role of a tool and another name")
    header = canonical(header)
    if header.role not in _ROLES:
        raise ParseHeaderError("an unknown role")
    if header.role == Role.TOOL and header.name is None:
        raise ParseHeaderError("a tool reply without a name")
    if header.channel is not None and header.channel not in _CHANNELS:
        raise ParseHeaderError("an unknown channel")
    if not all(VALUE.fullmatch(value) for value in header.as_written().values()):
        raise ParseHeaderError("a header value contains a character that is not allowed")
    text = spelled(header)
    if len(text) > HEADER_LIMIT:
        raise ParseHeaderError("the frame header is too long")
    return f"{Token.START}{text}{Token.MESSAGE}"


def spelled(header: Header) -> str:
    """The characters between ``<|start|>`` and ``<|message|>``. All values must be allowed in a header."""
    values = ((word, getattr(header, field)) for word, field in ATTRIBUTES.items())
    text = header.role + "".join(f" {word}={value}" for word, value in values if value is not None)
    for token, value in ((Token.CHANNEL, header.channel), (Token.CONSTRAIN, header.constrain)):
        if value is not None:
            text = f"{_before_token(text)}{token}{value}"
    return _before_token(text)


def _before_token(text: str) -> str:
    """A ``<`` directly before a token would make it text."""
    return f"{text} " if text.endswith("<") else text


def fault_of_terminator(header: Header, terminator: Terminator) -> HeaderFault | None:
    """The reason why ``terminator`` may not end this frame, or None: ``<|call|>`` needs an assistant, a tool and a call id."""
    if terminator is not Terminator.CALL:
        return None
    if header.recipient is None or header.call_id is None:
        return HeaderFault(Code.PARSE_HEADER, "a call without to= or call_id=")
    if header.role != Role.ASSISTANT or header.recipient in PEOPLE:
        return HeaderFault(Code.CALL_SCHEMA, "only an assistant can call a tool, and the recipient must be a tool")
    return None


def _tool_name(role: str) -> tuple[str, str | None]:
    """The role, and for a legacy ``functions.x`` role the name of the tool."""
    return (Role.TOOL.value, role) if _LEGACY_TOOL.fullmatch(role) else (role, None)


class _Reading:
    """One header being read. If a value occurs twice, the first counts."""

    def __init__(self, raw: str) -> None:
        self.values: dict[str, str] = {}
        self.faults: list[HeaderFault] = []
        self.role = ""
        if foreign := _NOT_IN_A_HEADER.search(raw):
            self._fault("a character that is not allowed in a header", foreign.start())
        start, section = 0, None
        for match in TOKEN_RUN.finditer(raw):
            self._section(section, raw, start, match.start(2))
            section, start = Token(match[2]), match.end()
            if match[1]:
                self._fault("a control token written as text in a header", match.start())
        self._section(section, raw, start, len(raw))
        if self.role == Role.TOOL and "name" not in self.values:
            self._fault("a tool reply without a name", 0)

    def result(self) -> HeaderReading:
        faults = tuple(sorted(self.faults, key=lambda fault: fault.at or 0))
        is_version_2 = bool(self.values) or self.role not in _ROLES_OF_VERSION_1
        return HeaderReading(Header(role=self.role, **self.values), faults, is_version_2)

    def _section(self, token: Token | None, raw: str, start: int, end: int) -> None:
        words = [(match[0], match.start()) for match in _WORD.finditer(raw, start, end)]
        match token:
            case None:
                self._begin(words)
            case Token.CHANNEL:
                self._channel(words, start)
            case Token.CONSTRAIN:
                self._constrain(words, start)
            case _:
                self._fault("a control token that is not allowed here", start)

    def _begin(self, words: list[tuple[str, int]]) -> None:
        if not words:
            self._fault("a frame header without a role", 0)
            return
        (word, at), *rest = words
        self.role, name = _tool_name(word)
        if name is not None:
            self.values["name"] = name
        if self.role not in _ROLES:
            self._fault("an unknown role", at)
        for word, at in rest:
            self._attribute(word, at, is_late=False)

    def _channel(self, words: list[tuple[str, int]], at: int) -> None:
        if "channel" in self.values:
            self._fault("more than one channel", at)
        elif "constrain" in self.values:
            self._fault("a channel after a constraint", at)
        if not words:
            self._fault("a channel without a name", at)
            return
        (channel, at), *rest = words
        self.values.setdefault("channel", channel)
        if channel not in _CHANNELS:
            self._fault("an unknown channel", at)
        for word, at in rest:
            self._attribute(word, at, is_late=True)

    def _constrain(self, words: list[tuple[str, int]], at: int) -> None:
        if "constrain" in self.values:
            self._fault("more than one constraint", at)
        if len(words) != 1:
            self._fault("a constraint must be exactly one word", at)
        if words:
            self.values.setdefault("constrain", words[0][0])

    def _attribute(self, word: str, at: int, *, is_late: bool) -> None:
        key, separator, value = word.partition("=")
        field = ATTRIBUTES.get(key)
        if field is None or not separator or not value:
            self._fault("an unknown attribute, or one without a value", at)
        elif self.values.setdefault(field, value) != value:
            self._fault("an attribute appears twice with different values", at)
        elif is_late and key in _LATE_ATTRIBUTES:
            self._fault("an attribute that must come before the channel", at, hides=False)

    def _fault(self, hint: str, at: int, *, hides: bool = True) -> None:
        self.faults.append(HeaderFault(Code.PARSE_HEADER, hint, at, hides))
