"""Interprets the header of a Harmony message from a model. If anything in it is unclear, the message is hidden."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from renderer.errors import Code
from renderer.frame_kinds import BROKEN, PEOPLE, PRODUCT_NAMES, is_for_people
from renderer.frames import HEADER_VALUE, Channel, Header, Intent, Role
from renderer.tokens import Token


@dataclass(slots=True)
class Section:
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
        self.sections = [Section(None)]

    def begin(self, marker: Token) -> None:
        self.sections.append(Section(marker))

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
            case [role, Section(marker=Token.CHANNEL) as channel] if role.text.split() == ([] if self.implied else [Role.ASSISTANT]):
                found = _FINAL_AND_MORE.fullmatch(channel.text)
                return found[1] if found and "<|" not in channel.text else None
        return None


_FINAL_AND_MORE = re.compile(r"final\s+(?!to\b)(\S.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a header means. ``is_foreign``: the model writes as an author other than the assistant."""

    header: Header
    error: Code | None = None
    is_foreign: bool = False


_BROKEN = Interpretation(BROKEN, Code.PARSE_HEADER)
_FOREIGN = Interpretation(BROKEN, Code.PARSE_HEADER, is_foreign=True)
_NO_CHANNEL = Interpretation(BROKEN, Code.PARSE_CHANNEL_MISSING)
_CONTENT_TYPES = frozenset({"json", "code", "text", "markdown", "application/json", "text/markdown", "text/plain"})


def interpret(head: HeaderBuilder, *, conversation: bool) -> Interpretation:
    """What a header means. ``conversation``: authors other than the assistant are accepted."""
    role, *rest = head.sections
    # The prompt ended in the role, so what a model writes directly after it (``:NAME``, or the role again) is part of that word.
    word, *attributes = (Role.ASSISTANT + role.text if head.implied else role.text).split() or [Role.ASSISTANT]
    author = author_of(word)
    if author.role != Role.ASSISTANT and not head.implied:
        return _interpret_other(author, attributes, rest) if conversation else _FOREIGN
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
class Author:
    """Who writes a Harmony message: a role, for a tool with its name, and perhaps the name of a person or an assistant."""

    role: str
    name: str | None = None
    is_clear: bool = True


def author_of(word: str) -> Author:
    """The author that the first word of a header names.

    ``user:NAME`` is a role and a name, as openai-harmony writes it; a doubled role word is the role. Anything that is not a role is a tool
    name, as in Harmony. Names of the product's own frames are omitted, so that no model can forge them.
    """
    role, separator, name = word.partition(":")
    role = _DOUBLED.get(role, role)
    if role not in _AUTHORS:
        return Author(Role.TOOL, word)
    return Author(role, name if separator and name not in PRODUCT_NAMES else None, not separator or bool(HEADER_VALUE.fullmatch(name)))


_AUTHORS = frozenset(Role) - {Role.TOOL}
_DOUBLED = {str(role) * 2: str(role) for role in _AUTHORS}


def _interpret_other(author: Author, attributes: list[str], sections: list[Section]) -> Interpretation:
    """A message of another author in a whole conversation."""
    words = {marker: [s.text.split() for s in sections if s.marker is marker] for marker in (Token.CHANNEL, Token.CONSTRAIN)}
    channels, constraints = words[Token.CHANNEL], words[Token.CONSTRAIN]
    if not author.is_clear or len(channels) > 1 or len(constraints) > 1 or not all([*channels, *constraints]):
        return _BROKEN
    attributes = [*attributes, *(word for section in (*channels, *constraints) for word in section[1:])]
    recipients = {word.removeprefix("to=") for word in attributes if word.startswith("to=")}
    others = {word for word in attributes if not word.startswith("to=")}
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
    recipients = {word.removeprefix("to=") for word in attributes if word.startswith("to=")}
    others = {word for word in attributes if not word.startswith("to=")}
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
