"""Classifies a frame by its header: an answer, a preamble, a reasoning summary, a document or a broken frame.

Each kind is defined here and nowhere else. Who may see a frame is decided by ``renderer.gate``.
"""

from __future__ import annotations

from renderer.frames import Channel, Header, Intent, Role

PEOPLE = frozenset({"user", "all"})
"""Recipients that are people. Any other is a tool, a program or unknown."""

ANSWER = Header(Role.ASSISTANT, Channel.FINAL)
PREAMBLE = Header(Role.ASSISTANT, Channel.COMMENTARY, intent=Intent.PREAMBLE)
ANALYSIS = Header(Role.ASSISTANT, Channel.ANALYSIS)

BROKEN = Header(Role.ASSISTANT, Channel.ANALYSIS, intent=Intent.DEBUG)
"""The header of an invalid frame, or of one that cannot be proven to be meant for people. The frame is stored, but hidden."""

SUMMARY_NAME = "reasoning_summary"
SUMMARY = Header(Role.ASSISTANT, Channel.COMMENTARY, name=SUMMARY_NAME, intent=Intent.PREAMBLE)
"""The header of the one frame that holds the reasoning summary of a turn. The product writes it; it is never sent to a model."""

ASIDE = Header(Role.ASSISTANT, Channel.ANALYSIS, name=SUMMARY_NAME, intent=Intent.DEBUG)
"""The header of a summary that only staff see: from an earlier version, or as a model server sent it."""

TOOL_LINE_NAME = "tool_activity"
TOOL_LINE = Header(Role.ASSISTANT, Channel.COMMENTARY, name=TOOL_LINE_NAME, intent=Intent.PREAMBLE)
"""The header of the line that says which tool is at work. The product writes it, in the tool author's words; it is never sent to a
model."""

NOTES = Header(Role.USER, Channel.COMMENTARY)
"""The header of encrypted notes that a program stores for the model: the model reads them as a person's message; nobody else can read
them.
"""

DOCUMENT_NAME = "document"
DOCUMENT = Header(Role.USER, name=DOCUMENT_NAME, content_type="text")
"""The header of a file that was attached to the question that follows: exactly the text that the model was given."""

PRODUCT_NAMES = frozenset({SUMMARY_NAME, TOOL_LINE_NAME})
"""Names of frames that the product writes for people. They are never sent to a model."""

RESERVED_NAMES = PRODUCT_NAMES | {DOCUMENT_NAME}
"""Every name that means something to the product: no author in Harmony has one."""


def is_for_people(recipient: str | None) -> bool:
    """Whether a frame with this recipient is addressed to people, or has no recipient."""
    return recipient is None or recipient in PEOPLE


def addresses_tool(header: Header) -> bool:
    """Whether the frame is an assistant's, addressed to a tool. Such a frame is a call if it ends in ``<|call|>``."""
    return header.role == Role.ASSISTANT and not is_for_people(header.recipient) and header.recipient != Role.ASSISTANT


def may_answer(name: str | None, recipient: str) -> bool:
    """Whether a tool with this name may reply to a call of ``recipient``: the tool itself, or ``browser`` for ``browser.search``."""
    return name is not None and (recipient == name or recipient.startswith(f"{name}."))


def is_preamble(header: Header) -> bool:
    """Whether the frame is a preamble (a plan or a progress note, not the answer), on any channel."""
    return header.intent == Intent.PREAMBLE


def is_reasoning(header: Header) -> bool:
    """Whether the frame is raw reasoning: an assistant's analysis without a recipient, complete."""
    is_analysis = header.role == Role.ASSISTANT and header.channel == Channel.ANALYSIS
    return is_analysis and header.intent is None and is_for_people(header.recipient)


def is_thought(header: Header) -> bool:
    """Whether the frame is raw reasoning, or a model server's own summary of it, which several servers fill with the same text."""
    return is_reasoning(header) or header == ASIDE


def is_tool_line(header: Header) -> bool:
    """Whether the frame is the product's line about a tool at work. Only frames that the product itself writes have that name."""
    return header == TOOL_LINE


def is_document(header: Header) -> bool:
    """Whether the frame is a document. It is not a question: somebody else wrote it, and pages show it separately."""
    return header.role == Role.USER and header.name == DOCUMENT_NAME


def is_json(header: Header) -> bool:
    """Whether the frame's header declares the body as JSON, which pages show as code."""
    return header.constrain is not None and header.constrain.lower() == "json"


def is_answer(header: Header) -> bool:
    """Whether the frame is the answer: from the assistant, for people, final or without a channel, and without an intent."""
    is_final = header.role == Role.ASSISTANT and header.channel in (None, Channel.FINAL)
    return is_final and header.intent is None and is_for_people(header.recipient)
