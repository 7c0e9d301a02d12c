"""Reads some neighbouring exchanges of a branch, with everything that a page shows with them, in one call.

An exchange is a question with everything that follows it up to the next question. Which ones are read is defined by a message, the anchor,
and a range relative to it: 0 is the anchor's own exchange, 1 the one above it, -1 the one below. What that costs does not depend on the
length of the branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from uuid import UUID

from django.db import connection

from chatui.database.connections import as_parameter, as_uuid
from chatui.database.statements import one_of, read
from chatui.models.conversation import Conversation
from chatui.models.files import SentDocument, StoredFile
from chatui.models.message import Message
from chatui.models.turn import BY_TIME, Turn
from chatui.store import documents, files, opened_pages, transcripts
from chatui.store.continuation import is_answer
from renderer.frames import Terminator
from renderer.markup.citations import CitableSource

_OPEN_LEAF = "(SELECT message_id FROM chatui_activeleaf WHERE conversation_id = %(conversation)s AND person_id = %(owner)s)"
_WINDOW = (
    "WITH RECURSIVE up(id, parent_id, depth, is_shown, is_question, below, anchor) AS ("
    "SELECT id, parent_id, 0, is_visible, role = 'user' AND is_visible, 0, CASE WHEN id = {anchor} THEN 0 END "
    "FROM chatui_message WHERE id = {leaf} AND conversation_id = %(conversation)s "
    "UNION ALL "
    "SELECT above.id, above.parent_id, up.depth + 1, above.is_visible, above.role = 'user' AND above.is_visible, "
    "up.below + CASE WHEN up.is_question THEN 1 ELSE 0 END, "
    "COALESCE(up.anchor, CASE WHEN above.id = {anchor} THEN up.below + CASE WHEN up.is_question THEN 1 ELSE 0 END END) "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id "
    # The recursion ends at the first visible message above the window, which shows that there is more.
    "WHERE up.anchor IS NULL OR NOT up.is_shown OR up.below < up.anchor + %(stop)s) "
    "SELECT id, below, is_shown, (SELECT MAX(anchor) FROM up) FROM up "
    "WHERE below >= (SELECT MAX(anchor) FROM up) + %(start)s ORDER BY depth DESC"
)
_EVERYTHING = range(1_000_000_000)


@dataclass(frozen=True, slots=True)
class StoredExchanges:
    """Messages of a branch, in order and without documents, with what belongs to them."""

    conversation: Conversation
    messages: Sequence[Message]
    versions: Versions
    """The answers to each question with a continued one."""
    children: Mapping[UUID | None, Sequence[Message]]
    """By parent, the siblings of questions and of answers."""
    latest: Mapping[UUID, Turn]
    """The last turn of each question below which nothing is stored."""
    pages: Mapping[int, CitableSource]
    """Those that the texts may cite."""
    files: Mapping[UUID, Sequence[StoredFile]]
    """By turn, those that its calls made."""
    documents: Mapping[UUID, Sequence[SentDocument]]
    """Those that came with a question, by its key."""
    window: Window | None = None
    """Their position on the branch; None if that was not requested."""


def at(row: Conversation, reach: range, *, anchor: UUID | None = None, leaf: UUID | None = None) -> StoredExchanges | None:
    """The exchanges in ``reach`` around the anchor. None if it is not on the branch.

    ``leaf``: the end of the branch; None for the one that its owner has open. ``anchor``: None for the end of the branch.
    """
    asked = _window(row, reach, anchor, leaf)
    if asked is None:
        return None
    versions = Versions(asked.keys)
    found = _window(row, reach, anchor, leaf) or asked  # again, so that messages added meanwhile are on the page
    return of_messages(row, transcripts.loaded(row, found.keys, for_page=True), versions, found)


def whole(row: Conversation, at_once: int) -> Iterator[StoredExchanges]:
    """The whole branch that its owner has open, ``at_once`` exchanges at a time, from the start."""
    found = _window(row, _EVERYTHING, None, None)
    exchanges = found.exchanges if found else ()
    for start in range(0, len(exchanges), at_once):
        yield of_keys(row, list(chain.from_iterable(exchanges[start : start + at_once])))


def of_keys(row: Conversation, keys: Sequence[UUID]) -> StoredExchanges:
    versions = Versions(keys)
    return of_messages(row, transcripts.loaded(row, keys, for_page=True), versions)


@dataclass(frozen=True, slots=True)
class Window:
    """Exchanges as the keys of their messages."""

    exchanges: Sequence[Sequence[UUID]]
    anchored: int
    """The number of exchanges below the anchor's own."""
    has_earlier: bool
    """Whether the branch has more visible messages above."""
    has_later: bool
    """Whether the branch has more visible messages below."""

    @property
    def keys(self) -> list[UUID]:
        return list(chain.from_iterable(self.exchanges))


def _window(row: Conversation, reach: range, anchor: UUID | None, leaf: UUID | None) -> Window | None:
    """The query starts at the leaf: with the anchor itself as the leaf, loading the exchanges above it takes the same time in every
    conversation."""
    given = {"conversation": row.pk, "owner": row.owner_id, "anchor": anchor, "leaf": leaf}
    parameters = {name: as_parameter(key) for name, key in given.items() if key is not None}
    end = "%(leaf)s" if leaf else _OPEN_LEAF
    with connection.cursor() as cursor:
        sql = _WINDOW.format(leaf=end, anchor="%(anchor)s" if anchor else end)
        cursor.execute(sql, {**parameters, "start": reach.start, "stop": reach.stop})
        rows: Sequence[tuple[object, int, object, int | None]] = cursor.fetchall()
    if not rows or (anchored := rows[0][3]) is None:
        return None
    here = [(as_uuid(key), below) for key, below, _, _ in rows if below < anchored + reach.stop]
    return Window(
        [[key for key, _ in each] for _, each in groupby(here, key=lambda pair: pair[1])],
        anchored,
        has_earlier=any(is_shown and below >= anchored + reach.stop for _, below, is_shown, _ in rows),
        has_later=anchored + reach.start > 0,
    )


def of_messages(row: Conversation, messages: Sequence[Message], versions: Versions, window: Window | None = None) -> StoredExchanges:
    """The exchanges of messages that were already loaded, after the ``versions``. ``window``: what they are of the branch."""
    questions, keys = [message for message in messages if message.is_question], {message.pk for message in messages}
    below = [*messages[1:], None]  # one longer where there are no messages
    bare = [each for each, then in zip(messages, below, strict=False) if each.is_question and (not then or then.is_question)]
    asked = Turn.objects.filter(question__in=bare).defer("request").order_by(*BY_TIME) if bare else ()
    # Only calls make files. A question directly after a message that is no document came without any.
    callers = {message.turn_id for message in messages if message.terminator == Terminator.CALL and message.turn_id}
    below_others = [question for question in questions if question.parent_id and question.parent_id not in keys]
    return StoredExchanges(
        row,
        messages,
        versions,
        children=transcripts.siblings(row, {q.parent_id for q in questions} | {q.pk for q in questions}, messages),
        latest={turn.question_id: turn for turn in asked},
        pages=opened_pages.cited_by(row.pk, (message.text for message in messages if message.is_visible)),
        files=files.of_turns(callers) if callers else {},
        documents=documents.of_questions(below_others) if below_others else {},
        window=window,
    )


class Versions:
    """The answers to a question if one of them was continued.

    Such answers branch below the question. ``asked``: the keys of the questions; keys of other messages are ignored. Load this before the
    messages: messages that are added in between are then loaded too, and their turn does not look like an attempt without a result.
    """

    def __init__(self, asked: Iterable[UUID]) -> None:
        keys = list(asked)
        where = f"question_id {one_of(keys)} AND continued_message_id IS NOT NULL ORDER BY started_at"
        continuing = [turn for turn, _ in read(Turn, where, *keys, without=("request",))] if keys else []
        messages = transcripts.answers({turn.question_id for turn in continuing}) if continuing else []
        self._by_question: dict[UUID, list[Message]] = {}
        for message in messages:
            if message.turn:
                self._by_question.setdefault(message.turn.question_id, []).append(message)
        answered = {message.turn_id for message in messages if is_answer(message)}
        # Reasoning and preambles before a continuation are stored beside the cut text; alone they are not an answer.
        texts = {message.pk for message in messages if is_answer(message)}
        self._attempts = {turn.continued_message_id: turn for turn in continuing if turn.pk not in answered}
        self._vain = {turn.pk for turn in continuing if turn.pk not in answered and turn.continued_message_id in texts}

    def attempt(self, end: Message) -> Turn | None:
        """The last turn that tried, or is trying, to continue this message, and has added nothing yet."""
        return self._attempts.get(end.pk)

    def ends(self, question: Message) -> list[Message]:
        """The last message of each answer, in the order in which they were stored. Empty if no answer was continued."""
        mine = self._by_question.get(question.pk, [])
        parents = {message.parent_id for message in mine}
        return [message for message in mine if message.pk not in parents and message.turn_id not in self._vain]
