"""Executes the commands that a browser sends over the WebSocket.

Each runs in a thread of a pool, except ``ask`` and ``see``, which go through the writer. ``access`` decides whether the person is allowed.
A refused command raises an error with a code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from chatui import wire
from chatui.accounts.sessions import SignedIn, read_again
from chatui.answer_formats import DEFAULT_NAME, AnswerFormat, answer_format, schema_of
from chatui.audit_log.record import Visitor
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.display import conversation_actions
from chatui.display.conversation_list import address
from chatui.json_schemas import UnusableError
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.tools import catalogue
from chatui.turns import running, sweep
from chatui.turns.asks import Ask, AskKind, AskRefusedError, QuestionFile
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import RunningTurn
from chatui.wire.bus import PROCESS

if TYPE_CHECKING:
    from chatui.models.conversation import Conversation
    from chatui.models.turn import Turn
    from chatui.models.user import User

C = TypeVar("C")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Following:
    """What a socket follows: a conversation and its last turn. ``running``: where that turn runs; None if it has ended."""

    conversation_id: UUID
    turn_id: UUID | None
    state: str | None
    running: TurnPlace | None


@dataclass(frozen=True, slots=True)
class Caller:
    """The client of a socket: its session when it connected, or None, its network address, and the page's language."""

    session: SignedIn | None
    address: str
    language: str = ""


def run_command(caller: Caller, command: Callable[[Visitor, C], T], argument: C) -> T:
    """Run one of the commands below, with the caller's current person and permissions."""
    return command(visitor_of(caller), argument)


def visitor_of(caller: Caller) -> Visitor:
    """The caller's person, read from the database again; nobody if the session has ended, or the password or account has changed."""
    if caller.session is None:
        return Visitor(None, caller.address, "socket")
    found = read_again(caller.session)
    return Visitor(found[0] if found else None, caller.address, "socket")


async def ask(caller: Caller, command: wire.AskCommand, accept: Callable[[wire.Accepted, Following], None]) -> Following | None:
    """Store the question, and launch its turn. The session is checked in the transaction that stores the question.

    ``accept`` is called in between, with the reply to the browser. Returns what to follow if the turn had already started; None for a new
    turn, because a socket that follows it from ``accept`` on misses nothing. A refused command that names a hidden message is an attempt.
    """
    try:
        return await _ask(caller, command, accept)
    except (AskRefusedError, NotFoundError):
        if isinstance(command, wire.Edit | wire.Regenerate):
            # Only now: what the refusal rolled back would have taken the record with it.
            await pools.commands.run_or_busy(run_command, caller, _record_hidden, command)
        raise


def _record_hidden(visitor: Visitor, command: wire.Edit | wire.Regenerate) -> None:
    access.refusal_of_message(visitor, command.question, _ACTIONS[type(command)])


_ACTIONS: dict[type[wire.AskCommand], str] = {wire.Edit: "edit a question", wire.Regenerate: "regenerate an answer"}


async def _ask(caller: Caller, command: wire.AskCommand, accept: Callable[[wire.Accepted, Following], None]) -> Following | None:
    """Ask as the command says, and accept it once it is stored. Returns the turn to follow if the same question had begun it before."""
    if caller.session is None:
        raise AskRefusedError(ProductCode.SIGNED_OUT)
    parsed = _ask_of(command, caller)
    client_id = str(parsed.client_id)

    def stored(started: RunningTurn) -> None:
        accept(_accepted(client_id, started), _following_turn(started.turn))

    if isinstance(command, wire.Send) and command.answer_format and command.conversation is None:
        # In a thread, because checking a long schema takes a moment.
        parsed = replace(parsed, answer_format=await asyncio.to_thread(_format, command.answer_format))
    started = await running.ask(caller.session.person, parsed, stored)
    return None if started.is_new else _following_turn(started.turn)


def _accepted(client_id: str, started: RunningTurn) -> wire.Accepted:
    turn, near = started.turn, started.near
    return wire.Accepted(
        client_id=client_id,
        conversation=str(turn.conversation_id),
        turn=str(turn.pk),
        question=str(turn.question_id),
        url=address(turn.conversation_id),
        title=turn.conversation.title,
        percent=near.percent if near else None,
        until=near.until.isoformat() if near else None,
    )


def subscribe(visitor: Visitor, conversation: object) -> Following:
    """Follow a conversation of the person's own, given by its id."""
    return _following(access.own_conversation(_person(visitor), conversation))


def see(visitor: Visitor, command: wire.See) -> bool:
    """Mark a conversation of the person's own as seen. Returns whether it had news. This writes, so run it in the writer."""
    return conversation_actions.see(_person(visitor), command.conversation)


def watch(visitor: Visitor, command: wire.Watch) -> Following:
    """Follow the hidden channels of a conversation. Every time, permission and opt-in are checked, and the access is recorded."""
    _person(visitor)
    return _following(access.view_hidden(visitor, command.conversation, action="debug stream"))


def continue_watching(visitor: Visitor, before: Following) -> Following:
    """Continue to follow. Permission and opt-in are checked again; a new turn is recorded as another stream."""
    _person(visitor)
    following = _following(access.recheck_hidden(visitor, before.conversation_id))
    if following.turn_id != before.turn_id:
        access.recheck_hidden(visitor, before.conversation_id, newly_shown="debug stream")
    return following


def own_turn(visitor: Visitor, command: wire.Stop | wire.AnswerNow | wire.MakeWay) -> TurnPlace:
    """A turn that this person may stop, ask to answer now, or have make way for a message: one in their own conversation."""
    conversation = access.own_conversation(_person(visitor), command.conversation)
    turn = access.turn_of(conversation, command.turn)
    return TurnPlace(turn.pk, turn.lease_owner)


def followed_here(following: Following | None, command: wire.Stop) -> TurnPlace | None:
    """The turn that a person may stop although the database is away: their socket follows it, which was allowed only in their own
    conversation, and this process runs it."""
    place = following.running if following is not None else None
    return place if place is not None and place.process == PROCESS and str(place.turn_id) == command.turn else None


def _following(conversation: Conversation) -> Following:
    last = sweep.last_turn(conversation)
    return _following_turn(last) if last else Following(conversation.pk, None, None, None)


def _following_turn(turn: Turn) -> Following:
    place = TurnPlace(turn.pk, turn.lease_owner) if turn.state == "running" else None
    return Following(turn.conversation_id, turn.pk, turn.state, place)


def _person(visitor: Visitor) -> User:
    """The person, if the session behind the socket is still valid."""
    if visitor.user is None:
        raise AskRefusedError(ProductCode.SIGNED_OUT)
    return visitor.user


def _ask_of(command: wire.AskCommand, caller: Caller) -> Ask:
    """The request of a command; what a command of its kind does not have is as in any other ``Ask``."""
    client_id = _client_id(command)
    files: tuple[wire.FileUse, ...] | None = getattr(command, "files", None)
    ids: dict[str, Any] = {field: _uuid(given) for field, name in _IDS.items() if (given := getattr(command, name, None)) is not None}
    return Ask(
        AskKind(command.type),
        client_id,
        getattr(command, "effort", ""),
        **ids,
        collections=tuple(map(_uuid, asked.split(","))) if (asked := getattr(command, "collections", None)) else (),
        tools_off=catalogue.names_of(off) if (off := getattr(command, "tools_off", None)) else frozenset(),
        choice=getattr(command, "choice", None),
        stays_with=getattr(command, "stays_with", None),
        temporary=bool(getattr(command, "temporary", None)),
        text=getattr(command, "text", ""),
        files=tuple(QuestionFile(_uuid(file.id), file.use, file.places) for file in files or ()),
        has_own_files=isinstance(command, wire.Edit) and files is not None,
        session=caller.session,
        language=caller.language,
    )


_IDS = {"conversation": "conversation", "folder": "folder", "assistant": "assistant", "question": "question", "continued_turn": "turn"}
"""The fields of an ``Ask`` that are ids, and those of the commands."""


def _format(schema: str) -> AnswerFormat:
    try:
        return answer_format(DEFAULT_NAME, schema_of(schema))
    except UnusableError:
        raise AskRefusedError(ProductCode.COMMAND) from None


def _client_id(command: wire.AskCommand) -> UUID:
    try:
        return UUID(command.client_id)
    except ValueError:
        raise AskRefusedError(ProductCode.COMMAND) from None


def _uuid(reference: wire.Reference) -> UUID:
    try:
        return UUID(reference)
    except ValueError:
        raise NotFoundError from None
