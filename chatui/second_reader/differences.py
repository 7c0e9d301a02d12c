"""The kinds of differences between two Harmony readers or writers, and which of them are on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of differences, by the names that reports and scripts use."""

    NAME_LEFT_OUT = "name-left-out"
    CHANNEL_ADDED = "channel-added"
    CONTENT_TYPE_LEFT_OUT = "content-type-left-out"
    NO_CALL = "no-call"
    HIDDEN_ON_ANALYSIS = "hidden-on-analysis"
    REASONING_KEPT = "reasoning-kept"
    REPLY_WITHOUT_RECIPIENT = "reply-without-recipient"
    CONSTRAINT_IS_NO_RECIPIENT = "constraint-is-no-recipient"
    CONSTRAINT_WORD = "constraint-word"
    HEADER_HIDDEN = "header-hidden"
    WRITTEN_OTHERWISE = "written-otherwise"
    NOT_WRITTEN = "not-written"
    READ_OTHERWISE = "read-otherwise"
    NOT_READ = "not-read"
    OTHER_COUNT = "other-count"

    @property
    def is_on_purpose(self) -> bool:
        """Whether our reader or writer differs on purpose."""
        return self in _ON_PURPOSE

    @property
    def sentence(self) -> str:
        """What differs, and why if it is on purpose."""
        return _ON_PURPOSE.get(self) or _OTHERS[self]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the two readers. ``message`` counts from 1; 0 means the whole. ``detail``: what differs; it quotes nothing."""

    kind: Kind
    message: int = 0
    detail: str = ""


_ON_PURPOSE: dict[Kind, str] = {
    Kind.NAME_LEFT_OUT: (
        "We leave out the name of a person or an assistant, which the side record keeps: "
        "openai-harmony writes it behind the role and cannot read that again."
    ),
    Kind.CHANNEL_ADDED: (
        "We write an assistant's message without a channel on final, which is what OpenChatML means by it: "
        "Harmony wants a channel of every message."
    ),
    Kind.CONTENT_TYPE_LEFT_OUT: (
        "We leave out a content type where there is no recipient, and the side record keeps it: "
        "openai-harmony writes it and then reads it as the recipient."
    ),
    Kind.NO_CALL: "We end a message that is no call with <|end|>: openai-harmony ends any message that has a recipient as a call.",
    Kind.HIDDEN_ON_ANALYSIS: (
        "We write on analysis what people may not see, but would be shown if this were read without the side record: "
        "Harmony has no place for intents, and openai-harmony leaves them out."
    ),
    Kind.REASONING_KEPT: (
        "A transcript is the record, so we write all of it: openai-harmony drops the reasoning before the first answer, "
        "where a prompt has to drop that before the last."
    ),
    Kind.REPLY_WITHOUT_RECIPIENT: "We read a tool's reply that has no recipient: openai-harmony takes its author for an unknown role.",
    Kind.CONSTRAINT_IS_NO_RECIPIENT: "We read a constraint without a recipient as one: openai-harmony takes it for the recipient.",
    Kind.CONSTRAINT_WORD: "We read a constraint in small letters, and only where it is a plain word: openai-harmony reads any characters.",
    Kind.HEADER_HIDDEN: "We hide a message whose header is not clear: openai-harmony guesses.",
}
_OTHERS: dict[Kind, str] = {
    Kind.WRITTEN_OTHERWISE: "The token ids differ.",
    Kind.NOT_WRITTEN: "openai-harmony cannot write it.",
    Kind.READ_OTHERWISE: "The readers differ.",
    Kind.NOT_READ: "openai-harmony cannot read it.",
    Kind.OTHER_COUNT: "One reader finds more messages than the other.",
}
