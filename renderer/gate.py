"""The gate: the one place that decides what an audience may see of a transcript.

It serves whole frames and streams alike. The table is sections 4 and 5 of the OpenChatML specification as the project reads them (see
``SECURITY.md``). What is not listed is hidden. Only the header decides, so a stream and a reload of the page always agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from renderer.errors import Code, OpenChatMLError
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN, is_document, is_for_people, is_json, is_preamble, is_reasoning, is_tool_line
from renderer.frames import Channel, Frame, Header, Intent, Role


class Audience(StrEnum):
    """Who is looking. DEBUG needs the permission, an opt-in and an audit row; ``chatui.permissions.access`` demands all three. A PROGRAM
    sends requests with its owner's API key. It sees what an END_USER sees, except the lines about our own tools, and also calls of the
    functions that it defined in its request. A TRUSTED_PROGRAM also sees raw reasoning, and nothing else that is hidden: its key allows it,
    its owner has the permission, and each request writes an audit row (``chatui.permissions.programs``)."""

    END_USER = "user"
    PROGRAM = "program"
    TRUSTED_PROGRAM = "trusted program"
    DEBUG = "debug"


class VisibleText(str):
    """Text that passed the gate. Only this module creates it; copies, downloads, titles and pages accept nothing else."""

    __slots__ = ()

    @classmethod
    def joined(cls, parts: Iterable[VisibleText]) -> VisibleText:
        """Several visible texts as one."""
        return cls("".join(parts))


def may_see(header: Header, audience: Audience, own: Collection[str] = ()) -> bool:
    """Whether this audience may see a frame with that header. ``own``: the names of a PROGRAM's own functions, as recipients."""
    if audience is Audience.DEBUG:
        return True
    if audience is Audience.END_USER:
        return why_hidden(header) is None
    if _is_own_traffic(header, own) or (audience is Audience.TRUSTED_PROGRAM and is_reasoning(header)):
        return True
    return why_hidden(header) is None and not is_tool_line(header)


def _is_own_traffic(header: Header, own: Collection[str]) -> bool:
    """Whether the frame is a call of one of the program's own functions, or its reply: both on commentary, without an intent."""
    if header.channel != Channel.COMMENTARY or header.intent is not None:
        return False
    if header.role == Role.ASSISTANT:
        return header.name is None and header.recipient in own
    return header.role == Role.TOOL and header.recipient == Role.ASSISTANT and header.name in own


def why_hidden(header: Header) -> str | None:
    """The table: None if an END_USER may see the frame, else a sentence with the reason why not.

    Fails closed: an unknown role, channel, intent or recipient is hidden. The sentences quote nothing.
    """
    if header.role not in (Role.USER, Role.ASSISTANT):
        return _WHY_ROLE.get(header.role, "This role is unknown, and unknown roles are hidden.")
    if not is_for_people(header.recipient):
        return "It is addressed to a tool or a program, not to people."
    if header.intent is not None and not is_preamble(header):
        return _WHY_INTENT.get(header.intent, "This intent is unknown, and unknown intents are hidden.")
    return _why_user_message_is_hidden(header) if header.role == Role.USER else _why_assistant_message_is_hidden(header)


def _why_user_message_is_hidden(header: Header) -> str | None:
    """The rows of the table for messages from people."""
    if is_document(header):
        return "It is a document attached to a question; its owner can open the file."
    if header.channel not in (None, Channel.FINAL):
        return "A user's message belongs on the final channel, but this one is on another."
    return None if header.intent is None else "A user's message has no intent, but this one declares one."


def _why_assistant_message_is_hidden(header: Header) -> str | None:
    """The rows of the table for messages from a model to people, without an intent or as a preamble."""
    if header.channel in (None, Channel.FINAL):
        return None
    if header.channel == Channel.COMMENTARY:
        return None if is_preamble(header) else "It is commentary that is not marked as a preamble."
    return _WHY_CHANNEL.get(header.channel, "This channel is unknown, and unknown channels are hidden.")


_WHY_ROLE: dict[str, str] = {
    Role.SYSTEM: "System messages are written for the model.",
    Role.DEVELOPER: "Developer messages are written for the model.",
    Role.TOOL: "Tool results are written for the model.",
}
_WHY_CHANNEL: dict[str, str] = {Channel.ANALYSIS: "It is raw reasoning, which is never shown."}
_WHY_INTENT: dict[str, str] = {
    Intent.STATUS: "It is a status line for the product.",
    Intent.DEBUG: "It is meant for debugging.",
}


def show(frame: Frame, audience: Audience, own: Collection[str] = ()) -> VisibleText:
    """The text of a frame that this audience may see. ``own`` as in ``may_see``.

    Raises:
        OpenChatMLError: the frame is hidden from this audience, so the caller should not have called this.
    """
    if not may_see(frame.header, audience, own):
        raise OpenChatMLError("the caller requested a frame that is hidden from this audience", code=Code.PERM_VISIBILITY)
    return VisibleText(frame.body)


def as_debug_text(text: str) -> VisibleText:
    """Text of a frame that is not its body (such as the header of a broken one), for the DEBUG audience, which sees everything."""
    return VisibleText(text)


def approval_text(text: str) -> VisibleText:
    """Part of a tool call that waits for approval, or of what a tool's server says to the conversation's owner, who alone sees it. These
    are the only exceptions to the table: nobody can approve what they cannot read, and what a server says to the owner is in no frame. The
    frames of the call and of its reply stay hidden, from the owner too.
    """
    return VisibleText(text)


def visible(frames: Iterable[Frame], audience: Audience) -> Iterator[Frame]:
    """The frames that this audience may see, in order. Leaving the others out does not count as an attempt to see them."""
    return (frame for frame in frames if may_see(frame.header, audience))


@dataclass(frozen=True, slots=True)
class ExcerptPiece:
    """A piece of a visible text. ``is_hit``: it matches the search."""

    text: VisibleText = field(repr=False)
    is_hit: bool


def excerpt(text: VisibleText, hits: Sequence[tuple[int, int]], length: int = 200) -> tuple[ExcerptPiece, ...]:
    """About ``length`` characters of a visible text around the first of ``hits``, in pieces that a page shows one after the other.

    ``hits`` are positions in ``text``, in order, without overlap.
    """
    first = hits[0][0] if hits else 0
    near = max(first - length // 4, 0)
    # Never further back than ``length``: a page must be short, and the pattern is slow on a long run of white space.
    begin = (text.rfind(" ", max(first - length, 0), near) + 1 or near) if first > length // 2 else 0
    end = begin + length
    pieces = [ExcerptPiece(VisibleText("…"), is_hit=False)] if begin else []
    at = begin
    for start, stop in [hit for hit in hits if hit[0] < end]:
        pieces += [ExcerptPiece(VisibleText(text[at:start]), is_hit=False), ExcerptPiece(VisibleText(text[start:stop]), is_hit=True)]
        at = stop
    pieces.append(ExcerptPiece(VisibleText(text[at:end]), is_hit=False))
    if max(at, end) < len(text):
        pieces.append(ExcerptPiece(VisibleText("…"), is_hit=False))
    return tuple(piece for piece in pieces if piece.text)


@dataclass(frozen=True, slots=True)
class VisibleOpened:
    """A visible frame began. ``header`` is complete for DEBUG; for an END_USER it only distinguishes the answer, a preamble and a tool's
    line, and says whether the body is JSON.
    """

    header: Header


@dataclass(frozen=True, slots=True)
class VisibleDelta:
    """More text of the open visible frame."""

    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class VisibleWithdrawn:
    """The open visible frame is hidden from now on, including the text already shown. ``header``: its new header, for DEBUG."""

    header: Header


@dataclass(frozen=True, slots=True)
class VisibleClosed:
    """The open visible frame ended. ``event`` is the raw event; it holds only the error code and the terminator."""

    event: FrameClosed


@dataclass(frozen=True, slots=True)
class Working:
    """The model is writing something hidden. Sent once, when it begins, so that neither its length nor its speed is revealed."""


VisibleEvent = VisibleOpened | VisibleDelta | VisibleWithdrawn | VisibleClosed | Working


class Gate:
    """Turns raw events into visible events for one audience. Stores no text, only whether the open frame is visible."""

    def __init__(self, audience: Audience, own: Collection[str] = ()) -> None:
        """``own`` as in ``may_see``."""
        self.audience = audience
        self._own = frozenset(own)
        self._open_is_visible = False
        self._has_sent_working = False

    def admit(self, event: RawEvent) -> VisibleEvent | None:
        """What this audience may see of ``event``, or None. Text outside an open visible frame is dropped."""
        match event:
            case FrameOpened(header=header):
                self._open_is_visible = may_see(header, self.audience, self._own)
                if self._open_is_visible:
                    self._has_sent_working = False
                    return VisibleOpened(header if self.audience is Audience.DEBUG else _outline(header))
                if self._has_sent_working:
                    return None
                self._has_sent_working = True
                return Working()
            case FrameText(text=text):
                return VisibleDelta(VisibleText(text)) if self._open_is_visible and text else None
            case FrameWithdrawn():
                was_visible, self._open_is_visible = self._open_is_visible, may_see(BROKEN, self.audience)
                return VisibleWithdrawn(BROKEN) if was_visible else None
            case FrameClosed():
                closed_visible, self._open_is_visible = self._open_is_visible, False
                return VisibleClosed(event) if closed_visible else None


def _outline(header: Header) -> Header:
    name, constrain = header.name if is_tool_line(header) else None, "json" if is_json(header) else None
    return Header(role=header.role, channel=header.channel, name=name, intent=header.intent, constrain=constrain)
