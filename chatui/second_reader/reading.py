"""Compares our reading of token ids with openai-harmony's, message by message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chatui.second_reader.differences import Difference, Kind
from chatui.second_reader.process import Message, Said, Unreadable
from renderer.frames import HEADER_VALUE, Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, may_see

CONSTRAIN = "<|constrain|>"
_FIELDS = {"role": "role", "name": "name", "channel": "channel", "recipient": "recipient", "content_type": "content type", "text": "body"}


def compare_readings(ours: Sequence[Frame], theirs: Sequence[Said]) -> Iterator[Difference]:
    """The differences in order; both read the same ids. A header without a body at the end does not count as a message."""
    ours, theirs = _without_cut_header(list(ours), list(theirs))
    for number, (frame, said) in enumerate(zip(ours, theirs, strict=False), 1):
        yield from (Difference(kind, number, detail) for kind, detail in _differing(frame, said))
    if len(ours) != len(theirs):
        yield Difference(Kind.OTHER_COUNT, 0, f"{len(ours)} by ours, {len(theirs)} by openai-harmony")


def as_message(frame: Frame) -> Message:
    """A frame as a message of openai-harmony, with everything that such a message can represent."""
    header = frame.header
    kind = f"{CONSTRAIN}{header.constrain}" if header.constrain is not None else header.content_type
    return Message(header.role, header.name, header.channel, header.recipient, kind, frame.body)


def shown(said: Sequence[Said]) -> str:
    """All text that people would see if openai-harmony's reading were used."""
    return "".join(one.text for one in said if isinstance(one, Message) and may_see(_header(one), Audience.END_USER))


def _header(message: Message) -> Header:
    is_preamble = message.channel == Channel.COMMENTARY and message.content_type is None
    # In Harmony, a message without a channel is not an answer; a stored frame without a channel would be.
    channel = message.channel if message.channel is not None or message.role != Role.ASSISTANT else "none"
    return Header(message.role, channel, message.recipient, intent=Intent.PREAMBLE if is_preamble else None)


def _without_cut_header(ours: list[Frame], theirs: list[Said]) -> tuple[list[Frame], list[Said]]:
    if theirs and theirs[-1] == Unreadable("cut-header"):
        theirs = theirs[:-1]
        if len(ours) == len(theirs) + 1 and ours[-1].header.intent == Intent.DEBUG:
            ours = ours[:-1]
    return ours, theirs


def _differing(frame: Frame, said: Said) -> Iterator[tuple[Kind, str]]:
    is_hidden = frame.header.intent == Intent.DEBUG
    if isinstance(said, Unreadable):
        if frame.header.role == Role.TOOL and frame.header.recipient is None and said.problem == "unknown-role":
            yield Kind.REPLY_WITHOUT_RECIPIENT, ""
        elif not is_hidden:
            yield Kind.NOT_READ, said.problem
        return
    ours = as_message(frame)
    kinds, said = _on_purpose(ours, said)
    fields = [told for name, told in _FIELDS.items() if getattr(ours, name) != getattr(said, name)]
    if fields and is_hidden and frame.body.endswith(said.text):
        yield Kind.HEADER_HIDDEN, ""
    elif fields:
        yield Kind.READ_OTHERWISE, " and ".join(fields)
    else:
        yield from ((kind, "") for kind in kinds)


def _on_purpose(ours: Message, said: Message) -> tuple[list[Kind], Message]:
    """``said`` as our reader reads the same header, and the rules that explain the difference. Any other difference is not on purpose."""
    kinds = []
    if ours.recipient is None and said.content_type is None and (said.recipient or "").startswith(CONSTRAIN):
        kinds.append(Kind.CONSTRAINT_IS_NO_RECIPIENT)
        said = replace(said, recipient=None, content_type=said.recipient)
    if said.content_type != ours.content_type and ours.content_type == _constraint(said.content_type):
        kinds.append(Kind.CONSTRAINT_WORD)
        said = replace(said, content_type=ours.content_type)
    return kinds, said


def _constraint(content_type: str | None) -> str | None:
    """A constraint as our reader normalizes it; anything else unchanged."""
    if content_type is None or not content_type.startswith(CONSTRAIN):
        return content_type
    word = content_type.removeprefix(CONSTRAIN).lower()
    return f"{CONSTRAIN}{word}" if HEADER_VALUE.fullmatch(word) else None
