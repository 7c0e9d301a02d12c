"""Compares our reading of token ids with openai-harmony's, message by message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chatui.second_reader.differences import Difference, Kind
from chatui.second_reader.process import Message, ReadMessage, Unreadable
from renderer.frames import HEADER_VALUE, Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, may_see

CONSTRAIN = "<|constrain|>"
_FIELDS = {"role": "role", "name": "name", "channel": "channel", "recipient": "recipient", "content_type": "content type", "text": "body"}


def compare_readings(ours: Sequence[Frame], theirs: Sequence[ReadMessage]) -> Iterator[Difference]:
    """The differences in order; both read the same ids. A header without a body at the end does not count as a message."""
    ours, theirs = _without_cut_header(list(ours), list(theirs))
    for number, (frame, message) in enumerate(zip(ours, theirs, strict=False), 1):
        yield from (Difference(kind, number, detail) for kind, detail in _differing(frame, message))
    if len(ours) != len(theirs):
        yield Difference(Kind.OTHER_COUNT, 0, f"{len(ours)} by ours, {len(theirs)} by openai-harmony")


def as_message(frame: Frame) -> Message:
    """A frame as a message of openai-harmony, with everything that such a message can represent."""
    header = frame.header
    kind = f"{CONSTRAIN}{header.constrain}" if header.constrain is not None else header.content_type
    return Message(header.role, header.name, header.channel, header.recipient, kind, frame.body)


def shown(messages: Sequence[ReadMessage]) -> str:
    """All text that people would see if openai-harmony's reading were used."""
    return "".join(one.text for one in messages if isinstance(one, Message) and may_see(_header(one), Audience.END_USER))


def _header(message: Message) -> Header:
    is_preamble = message.channel == Channel.COMMENTARY and message.content_type is None
    # In Harmony, a message without a channel is not an answer; a stored frame without a channel would be.
    channel = message.channel if message.channel is not None or message.role != Role.ASSISTANT else "none"
    return Header(message.role, channel, message.recipient, intent=Intent.PREAMBLE if is_preamble else None)


def _without_cut_header(ours: list[Frame], theirs: list[ReadMessage]) -> tuple[list[Frame], list[ReadMessage]]:
    if theirs and theirs[-1] == Unreadable("cut-header"):
        theirs = theirs[:-1]
        if len(ours) == len(theirs) + 1 and ours[-1].header.intent == Intent.DEBUG:
            ours = ours[:-1]
    return ours, theirs


def _differing(frame: Frame, message: ReadMessage) -> Iterator[tuple[Kind, str]]:
    is_hidden = frame.header.intent == Intent.DEBUG
    if isinstance(message, Unreadable):
        if frame.header.role == Role.TOOL and frame.header.recipient is None and message.problem == "unknown-role":
            yield Kind.REPLY_WITHOUT_RECIPIENT, ""
        elif not is_hidden:
            yield Kind.NOT_READ, message.problem
        return
    ours = as_message(frame)
    kinds, message = _on_purpose(ours, message)
    fields = [label for name, label in _FIELDS.items() if getattr(ours, name) != getattr(message, name)]
    if fields and is_hidden and frame.body.endswith(message.text):
        yield Kind.HEADER_HIDDEN, ""
    elif fields:
        yield Kind.READ_OTHERWISE, " and ".join(fields)
    else:
        yield from ((kind, "") for kind in kinds)


def _on_purpose(ours: Message, message: Message) -> tuple[list[Kind], Message]:
    """``message`` as our reader reads the same header, and the rules that explain the difference. Others are not on purpose."""
    kinds = []
    if ours.recipient is None and message.content_type is None and (message.recipient or "").startswith(CONSTRAIN):
        kinds.append(Kind.CONSTRAINT_IS_NO_RECIPIENT)
        message = replace(message, recipient=None, content_type=message.recipient)
    if message.content_type != ours.content_type and ours.content_type == _constraint(message.content_type):
        kinds.append(Kind.CONSTRAINT_WORD)
        message = replace(message, content_type=ours.content_type)
    return kinds, message


def _constraint(content_type: str | None) -> str | None:
    """A constraint as our reader normalizes it; anything else unchanged."""
    if content_type is None or not content_type.startswith(CONSTRAIN):
        return content_type
    word = content_type.removeprefix(CONSTRAIN).lower()
    return f"{CONSTRAIN}{word}" if HEADER_VALUE.fullmatch(word) else None
