"""Stores the earlier messages that a program sends: texts, calls to its own functions, and their results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import uuid4

from chatui.models import Conversation, Message, Turn, User
from chatui.models.message import Author
from chatui.store import transcripts
from chatui.turns.calls.requested import unanswered
from chatui.turns.requests.by_program import EarlierCall, EarlierMessage, EarlierReply
from chatui.turns.requests.offered_tools import FUNCTIONS
from renderer.frame_kinds import ANALYSIS, ANSWER, NOTES, PREAMBLE
from renderer.frames import HEADER_VALUE, Channel, Frame, Header, Intent, Role, Terminator

Each = EarlierMessage | EarlierCall | EarlierReply


class UnknownCallError(Exception):
    """A program sent the reply of a function, but no call is waiting for it."""


def calls_of(turn: Turn) -> dict[str, Header]:
    """The calls in a turn that its program must carry out, by id."""
    frames = [transcripts.frame_of(message) for message in transcripts.of_turn(turn)]
    # A call whose text was removed is left out of the prompt, and so is the reply to it.
    known = (frame.header for frame in unanswered(frames) if frame.header.intent != Intent.DEBUG)
    return {header.call_id: header for header in known if header.call_id}


def store(conversation: Conversation, person: User, frames: Sequence[tuple[Frame, Author]], turn: Turn | None = None) -> Message | None:
    """Append frames to the open branch in one go: one by one, thousands of them would block all other writes of the process, and other
    turns would lose their leases. Returns the last message of the branch."""
    leaf = transcripts.active_leaf(conversation, person)
    metadata = transcripts.FrameMetadata(turn_id=turn.pk if turn else None)
    return _append(conversation, person, leaf, [(frame, author, metadata) for frame, author in frames])


def store_first(conversation: Conversation, person: User, frames: Sequence[tuple[Frame, Author]]) -> Message | None:
    """As ``store``, for an empty conversation."""
    return _append(conversation, person, None, [(frame, author, transcripts.FrameMetadata()) for frame, author in frames])


def _append(
    conversation: Conversation, person: User, leaf: Message | None, frames: Sequence[tuple[Frame, Author, transcripts.FrameMetadata]]
) -> Message | None:
    if frames:
        leaf = transcripts.append_chain(conversation, leaf, frames)
        transcripts.activate(conversation, person, leaf)
    return leaf


def frames_of(messages: Iterable[Each], waiting: Mapping[str, Header]) -> Iterator[tuple[Frame, Author]]:
    """The frames of earlier messages. ``waiting``: earlier calls that still wait for a reply, by id.

    A call id that is used a second time is replaced, in the call and in its reply: some programs restart their numbering in each answer.

    Raises:
        UnknownCallError: a reply belongs to no call.
    """
    open_calls, used = dict(waiting), set(waiting)
    for each in messages:
        match each:
            case EarlierMessage():
                yield _message(each)
            case EarlierCall(call_id=call_id) if call_id in waiting and call_id in open_calls:
                continue  # repeated next to its reply; it is already stored
            case EarlierCall(call_id=call_id):
                header = _call_header(each, _unused(call_id, used))
                used.add(header.call_id or "")
                open_calls[call_id] = header
                yield Frame(header, transcripts.storable(each.arguments), Terminator.CALL), Author.IMPORT
            case EarlierReply(call_id=call_id, output=output):
                if (call := open_calls.pop(call_id, None)) is None:
                    raise UnknownCallError
                yield Frame(_reply_header(call), transcripts.storable(output)), Author.IMPORT


def _message(message: EarlierMessage) -> tuple[Frame, Author]:
    text = transcripts.storable(message.text)
    if message.is_person:
        return Frame(Header(Role.USER), text), Author.PERSON
    if message.is_compacted:
        # A message in the person's role cannot override the operator's instructions, whatever it contains. A model wrote it, so it must not
        # count as a person's question, become the title, or supply addresses that tools may open; it was sealed, so nobody reads it here.
        return Frame(NOTES, text), Author.IMPORT
    if message.is_thought:
        return Frame(ANALYSIS, text), Author.IMPORT
    # Only the program says that a model wrote this; nothing here can verify it.
    return Frame(PREAMBLE if message.is_preamble else ANSWER, text), Author.IMPORT


def _unused(call_id: str, used: set[str]) -> str:
    return call_id if HEADER_VALUE.fullmatch(call_id) and call_id not in used else f"call_{uuid4().hex}"


def _call_header(call: EarlierCall, call_id: str) -> Header:
    recipient = f"{FUNCTIONS}{call.function}"
    constrain = "json" if _is_object(call.arguments) else None
    return Header(Role.ASSISTANT, Channel.COMMENTARY, recipient=recipient, call_id=call_id, constrain=constrain)


def _reply_header(call: Header) -> Header:
    return Header(Role.TOOL, Channel.COMMENTARY, recipient=Role.ASSISTANT.value, call_id=call.call_id, name=call.recipient)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
