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
        "We leave out the name of a person or an assistant, and the side record stores it: "
        "openai-harmony writes it after the role, but cannot read it there."
    ),
    Kind.CHANNEL_ADDED: (
        "We write an assistant's message without a channel on final, which is its meaning in OpenChatML: "
        "Harmony requires a channel for every message."
    ),
    Kind.CONTENT_TYPE_LEFT_OUT: (
        "We leave out a content type without a recipient, and the side record stores it: "
        "openai-harmony writes it and then reads it as the recipient."
    ),
    Kind.NO_CALL: "We end a message that is not a call with <|end|>: openai-harmony ends any message that has a recipient as a call.",
    Kind.HIDDEN_ON_ANALYSIS: (
        "We write a message on analysis if people may not see it, but would if this were read without the side record: "
        "Harmony cannot represent intents, and openai-harmony leaves them out."
    ),
    Kind.REASONING_KEPT: (
        "A transcript is a record, so we write all of it: openai-harmony drops the reasoning before the first answer. "
        "A prompt would have to drop the reasoning before the last answer."
    ),
    Kind.REPLY_WITHOUT_RECIPIENT: "We read a tool's reply without a recipient: openai-harmony treats its author as an unknown role.",
    Kind.CONSTRAINT_IS_NO_RECIPIENT: "We read a constraint without a recipient as a constraint: openai-harmony reads it as the recipient.",
    Kind.CONSTRAINT_WORD: "We read a constraint in lower case, and only if it is a plain word: openai-harmony reads any characters.",
    Kind.HEADER_HIDDEN: "We hide a message whose header is ambiguous: openai-harmony guesses.",
}
_OTHERS: dict[Kind, str] = {
    Kind.WRITTEN_OTHERWISE: "The token ids differ.",
    Kind.NOT_WRITTEN: "openai-harmony cannot write it.",
    Kind.READ_OTHERWISE: "The readers differ.",
    Kind.NOT_READ: "openai-harmony cannot read it.",
    Kind.OTHER_COUNT: "One reader finds more messages than the other.",
}
