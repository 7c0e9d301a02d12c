"""Prepares a branch for the debug view: its frames, grouped by the turns that wrote them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from chatui.display.debug import branches, sections, turns
from chatui.display.debug.values import Group, Partner, ShownFrame, ShownTurn, View
from chatui.display.files import attachments
from chatui.display.tools import cards
from chatui.languages.sentences import translated
from chatui.model_servers import connected
from chatui.models import Conversation, Message, Turn, User
from chatui.models.keys import moment_of
from chatui.models.message import Author
from chatui.models.turn import BY_TIME, LATEST_FIRST, TurnState
from chatui.permissions import access
from chatui.store import transcripts
from renderer.frames import Frame, Role, Terminator
from renderer.gate import Audience, VisibleText, as_debug_text, show, why_hidden
from renderer.harmony.vocabulary import Vocabulary, VocabularyError

_MAX_COUNTED = 1_000_000
"""Tokens are counted for this many characters of a branch, which takes a fifth of a second. Frames after that have no count."""
_MAX_LAID_OUT = 100_000


def view(row: Conversation, person: User, leaf_id: object | None = None) -> View:
    """The whole branch that ends in ``leaf_id``; without it, the branch that this person, or otherwise the owner, has open.

    Raises:
        NotFoundError: there is no such message in this conversation.
    """
    # Read before the frames: if the turn ends in between, the page asks to be loaded again.
    newest = row.turns.order_by(*LATEST_FIRST).only("state").first()
    leaf = leaf_of(row, person, leaf_id)
    counter = _Counter()
    listed, left_out = branches.listed_branches(row, leaf)
    groups = _Page(row, transcripts.branch(row, leaf), counter).groups()
    return View(groups, listed, left_out, newest.pk if newest and newest.state != TurnState.RUNNING else None)


def leaf_of(row: Conversation, person: User, leaf_id: object | None) -> Message | None:
    """The last message of the branch to show. For a frame in the middle, the newest branch through it.

    Raises:
        NotFoundError: there is no such message in this conversation.
    """
    if leaf_id is None:
        return transcripts.active_leaf(row, person)
    return transcripts.deepest(row, access.message_of(row, leaf_id))


def raw_branch(row: Conversation, person: User, leaf_id: object | None) -> VisibleText:
    """The same branch as an OpenChatML document, including hidden frames.

    Raises:
        NotFoundError: there is no such message in this conversation.
    """
    messages = transcripts.branch(row, leaf_of(row, person, leaf_id))
    return as_debug_text(transcripts.document(row, messages, Audience.DEBUG))


def raw_frame(row: Conversation, message_id: object) -> VisibleText:
    """One frame as it is stored.

    Raises:
        NotFoundError: there is no such frame in this conversation.
    """
    return as_debug_text(access.message_of(row, message_id).text)


class _Page:
    """Converts one branch. Holds its rows, and the data that is loaded once for all of them."""

    def __init__(self, row: Conversation, messages: Sequence[Message], counter: _Counter) -> None:
        self._row = row
        self._messages = messages
        self._frames = {message.pk: transcripts.frame_of(message) for message in messages}
        self._counter = counter
        # A request may be megabytes long, so only its existence is read here.
        self._with_request = set(row.turns.exclude(request=None).values_list("pk", flat=True))
        self._continued = dict(row.turns.exclude(continued_message=None).values_list("pk", "continued_message__position"))
        self._calls: dict[str, Message] = {}
        self._replies: dict[str, Message] = {}
        for message in messages:
            if message.call_id and message.terminator == Terminator.CALL:
                self._calls.setdefault(message.call_id, message)
            elif message.call_id and message.role == Role.TOOL:
                self._replies.setdefault(message.call_id, message)
        self._files = attachments.of_messages(messages)
        self._decisions = cards.decisions_of(row) if self._calls else {}

    def groups(self) -> tuple[Group, ...]:
        cut: list[tuple[Turn | None, list[Message]]] = []
        for message in self._messages:
            turn = message.turn
            if not cut or _is_question(message) or (turn and cut[-1][0] and turn != cut[-1][0]):
                cut.append((turn, [message]))
            else:
                cut[-1] = (cut[-1][0] or turn, [*cut[-1][1], message])
        silent = self._silent_turns()
        found: list[Group] = []
        for turn, messages in cut:
            empty = silent.get(messages[0].pk, [])
            if turn is None and empty:
                turn = empty.pop()
            found.append(self._group(turn, messages))
            found += [self._group(other, []) for other in empty]
        return tuple(found)

    def _silent_turns(self) -> dict[UUID, list[Turn]]:
        """The turns without any frame, by question. No message refers to them."""
        questions = [message for message in self._messages if _is_question(message)]
        silent: dict[UUID, list[Turn]] = {}
        asked = self._row.turns.filter(question__in=questions, messages=None)
        for turn in asked.defer("request").order_by(*BY_TIME):
            silent.setdefault(turn.question_id, []).append(turn)
        return silent

    def _group(self, turn: Turn | None, messages: Sequence[Message]) -> Group:
        shown: list[ShownFrame] = []
        before = turn.started_at if turn else None
        for message in messages:
            is_of_turn = turn is not None and message.turn_id == turn.pk
            # A summary is written during the reasoning, and stored just before the answer: its time counts for the next frame.
            takes_time = is_of_turn and (message.author != Author.PRODUCT or message.role == Role.TOOL)
            shown.append(self._shown(message, turn if is_of_turn else None, before if takes_time else None))
            before = message.created_at if takes_time else before
        facts = self._facts(turn, shown) if turn else None
        return Group(facts, tuple(shown))

    def _facts(self, turn: Turn, shown: Sequence[ShownFrame]) -> ShownTurn:
        has_request = turn.pk in self._with_request
        facts = turns.shown_turn(turn, shown, continued_position=self._continued.get(turn.pk), has_request=has_request)
        return replace(facts, files=self._files.get(turn.pk, ()))

    def _shown(self, message: Message, turn: Turn | None, before: datetime | None) -> ShownFrame:
        frame = self._frames[message.pk]
        why = why_hidden(frame.header)
        return ShownFrame(
            message_id=str(message.pk),
            position=message.position,
            header=frame.header.as_written(),
            text=show(frame, Audience.DEBUG),
            sections=sections.sections(frame),
            laid_out=_laid_out(frame),
            seen=None if why else show(frame, Audience.END_USER),
            why_hidden=translated(why) if why else None,
            terminator=frame.terminator.value,
            fault=turns.fault(message.error_code),
            header_as_it_came=as_debug_text(bytes(message.raw).decode("utf-8", "replace")) if message.raw else None,
            author=message.author,
            created_at=message.created_at,
            offset=_seconds(turn.started_at, message.created_at) if turn else None,
            took=_seconds(_began(message, before), message.created_at) if turn and before else None,
            characters=len(frame.body),
            tokens=self._counter.count(frame.body),
            reply=_partner(message, self._replies.get(message.call_id)) if message.terminator == Terminator.CALL else None,
            call=_partner(message, self._calls.get(message.call_id)) if message.role == Role.TOOL else None,
            decision=self._decisions.get((message.turn_id, message.call_id), "") if message.terminator == Terminator.CALL else "",
        )


class _Counter:
    """Counts tokens if the vocabulary is on this machine, up to the limit for one page."""

    def __init__(self) -> None:
        self.vocabulary: Vocabulary | None = None
        self._left = _MAX_COUNTED
        try:
            self.vocabulary = connected.gpt_oss_vocabulary()
        except VocabularyError:
            return

    def count(self, text: str) -> int | None:
        """The number of tokens in a body, without the markers around it."""
        self._left -= len(text)
        return None if self.vocabulary is None or self._left < 0 else len(self.vocabulary.encode(text))


def _is_question(message: Message) -> bool:
    return message.role == Role.USER and message.is_visible


def _partner(message: Message, other: Message | None) -> Partner | None:
    if other is None:
        return None
    return Partner(str(other.pk), other.position, abs(_seconds(message.created_at, other.created_at)))


def _began(message: Message, before: datetime) -> datetime:
    """When a frame of a turn began. ``before``: when the frame before it ended, or the turn began."""
    # A tool works from its call to its reply. A model waits first, for a slot or for a tool, and its frame has its key from its beginning.
    began = moment_of(message.pk) if message.role != Role.TOOL else None
    return began if began is not None and before <= began <= message.created_at else before


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()


def _laid_out(frame: Frame) -> VisibleText | None:
    """A JSON object or array with one value on each line. Bodies that already have several lines are left alone."""
    text = frame.body.strip()
    if not text.startswith(("{", "[")) or "\n" in text or len(text) > _MAX_LAID_OUT:
        return None
    try:
        laid_out = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return as_debug_text(laid_out) if "\n" in laid_out else None
