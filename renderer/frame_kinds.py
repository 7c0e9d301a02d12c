"""What kind of frame a header makes: the answer, a preamble, a summary of the product's, or a broken frame that is hidden.

Each question has one answer here. Whether an audience sees the frame is the gate's question (``renderer.gate``).
"""

from __future__ import annotations

from renderer.frames import Channel, Header, Intent, Role

PEOPLE = frozenset({"user", "all"})
"""Recipients that are people. Any other is a tool or a program, or nobody knows who."""

ANSWER = Header(Role.ASSISTANT, Channel.FINAL)
PREAMBLE = Header(Role.ASSISTANT, Channel.COMMENTARY, intent=Intent.PREAMBLE)
ANALYSIS = Header(Role.ASSISTANT, Channel.ANALYSIS)

BROKEN = Header(Role.ASSISTANT, Channel.ANALYSIS, intent=Intent.DEBUG)
"""What was no valid frame, or could not be proven to be meant for people: kept, and hidden."""

SUMMARY_NAME = "reasoning_summary"
SUMMARY = Header(Role.ASSISTANT, Channel.COMMENTARY, name=SUMMARY_NAME, intent=Intent.PREAMBLE)
"""The one frame of a turn that holds the lines of its reasoning summary. It is the product's: a model never sees it again."""

PRODUCT_NAMES = frozenset({SUMMARY_NAME, "tool_activity"})
"""Names of frames that the product writes for people; a model never sees them again."""


def is_for_people(recipient: str | None) -> bool:
    """Whether a frame with this recipient is addressed to people: to them by name, or to nobody in particular."""
    return recipient is None or recipient in PEOPLE


def is_preamble(header: Header) -> bool:
    """Whether the frame is a plan, or a line about what comes, rather than the answer; on whatever channel."""
    return header.intent == Intent.PREAMBLE


def is_answer(header: Header) -> bool:
    """Whether the frame is the answer itself: an assistant's, for people, final or without a channel, and with no intent besides."""
    is_final = header.role == Role.ASSISTANT and header.channel in (None, Channel.FINAL)
    return is_final and header.intent is None and is_for_people(header.recipient)
