"""Conversations that programs begin by themselves: what they put into them, and where an answer continues them.

A conversation is an ordinary one of the key's owner, in the archive. A program's messages are stored as those that it sends with a request
(``program_start``), and its instructions beside them: they are no part of the transcript before an answer is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4

from django.utils import timezone

from chatui.database.connections import short_transaction
from chatui.database.statements import insert, new
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.programs import ProgramAnswer, ProgramConversation
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access, programs
from chatui.store import titles, transcripts
from chatui.turns import program_start
from chatui.turns.asks import EarlierMessage
from chatui.turns.program_start import Each, StillRunningError
from renderer import characters
from renderer.frames import Role


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """A program's conversation without what is in it. ``metadata``: texts of the program's own."""

    id: UUID
    created_at: datetime
    metadata: Mapping[str, str] = field(repr=False)


def head_of(found: ProgramConversation) -> ConversationHead:
    return ConversationHead(found.conversation_id, found.conversation.created_at, found.metadata)


@dataclass(frozen=True, slots=True)
class SentItems:
    """What a program puts into a conversation. ``orders``: its system and developer messages, each after so many messages."""

    messages: Sequence[Each] = field(default=(), repr=False)
    orders: Sequence[tuple[int, str]] = field(default=(), repr=False)


class ConversationFullError(Exception):
    """The conversation cannot take that many messages."""


class OfResponseError(Exception):
    """The item belongs to a response, or was answered by one: it goes with that."""


MAX_MESSAGES = 10_000
"""The most messages in a conversation to which a program adds."""


def create(person: User, key: UUID, metadata: Mapping[str, str], items: SentItems) -> ConversationHead:
    """Begin a conversation with these items. Raises as ``add``."""
    with short_transaction():
        row = new(Conversation, owner=person, title=titles.first_title(""), archived_at=timezone.now())
        insert([row])
        found = ProgramConversation.objects.create(conversation=row, key_id=key, metadata=dict(metadata))
        if items.messages or items.orders:
            _add(person, found, items)
        return head_of(found)


def read(person: User, conversation_id: UUID, only_key: UUID | None) -> ConversationHead:
    """A conversation, as any program may see it. ``only_key``: see ``permissions.programs.conversation_of``, which says what is raised."""
    return head_of(programs.conversation_of(person, conversation_id, only_key))


def add(person: User, conversation_id: UUID, key: UUID, items: SentItems) -> list[UUID]:
    """Put items at the end of a conversation. Returns the keys of the new ones, in order.

    Raises:
        NotFoundError: this key has begun no such conversation.
        ConversationFullError: it has too many messages.
        StillRunningError: an answer is being written in it.
        UnknownCallError, UnreadableSummaryError: see ``program_start.begin``.
    """
    with short_transaction():
        found = programs.conversation_of(person, conversation_id, key, locked=True)
        return _add(person, found, items)


def _add(person: User, program_row: ProgramConversation, items: SentItems) -> list[UUID]:
    row = program_row.conversation
    if Turn.objects.filter(conversation=row, state=TurnState.RUNNING).exists():
        raise StillRunningError
    if len(items.messages) + len(items.orders) + len(program_row.orders) + transcripts.count_in(row) > MAX_MESSAGES:
        raise ConversationFullError
    place = program_start.place_in(program_row)
    opened = [each for message in items.messages for each in program_start.opened(person, message)]
    frames = list(program_start.frames_of(opened, place.waiting, place.stored))
    if place.leaf is None:
        name(row, opened)
    stored = [(frame, author, transcripts.FrameMetadata()) for frame, author in frames]
    messages = transcripts.append_chain(row, place.leaf, stored) if stored else []
    if messages:
        transcripts.activate(row, person, messages[-1])
        program_row.leaf = messages[-1].pk
    orders = _note(program_row, items.orders, [place.leaf, *messages])
    program_row.save(update_fields=["leaf", "orders"])
    Conversation.objects.filter(pk=row.pk).update(active_at=timezone.now(), title=row.title)
    return [*orders, *(message.pk for message in messages)]


def name(row: Conversation, messages: Sequence[Each]) -> None:
    """Give a conversation that is still empty the title of its first question."""
    if not row.title_is_custom:
        questions = (each.text for each in messages if isinstance(each, EarlierMessage) and each.is_person)
        row.title = titles.first_title(characters.storable(next(questions, "")))


def _note(found: ProgramConversation, orders: Sequence[tuple[int, str]], messages: Sequence[Message | None]) -> list[UUID]:
    """Add instructions to those of a conversation. ``messages``: the one before the new ones, and those. Returns their keys; the row is not
    saved."""
    keys = [uuid4() for _ in orders]
    for key, (count, text) in zip(keys, orders, strict=True):
        after = messages[min(count, len(messages) - 1)]
        found.orders = [*found.orders, program_start.order(text, after, key)]
    return keys


def update(person: User, conversation_id: UUID, key: UUID, metadata: Mapping[str, str]) -> ConversationHead:
    """Replace the texts of the program's own. Raises NotFoundError as ``add``."""
    found = programs.conversation_of(person, conversation_id, key)
    found.metadata = dict(metadata)
    found.save(update_fields=["metadata"])
    return head_of(found)


def delete(person: User, conversation_id: UUID, key: UUID) -> bool:
    """Put a conversation into the bin, unless a person has asked in it: then only no program finds it any more, nor a response in it.
    Returns whether it is in the bin.

    Raises:
        NotFoundError: as ``add``.
    """
    with short_transaction():
        found = programs.conversation_of(person, conversation_id, key, locked=True)
        row = found.conversation
        # If a person has asked in it, it is no longer in the archive, where programs' conversations are.
        if row.archived_at is None:
            ProgramAnswer.objects.filter(turn__conversation=row, is_kept=True).delete()
            found.delete()
            return False
        Conversation.objects.filter(pk=row.pk).update(deleted_at=timezone.now())
    return True


def delete_item(person: User, conversation_id: UUID, key: UUID, item_id: UUID) -> ConversationHead:
    """Remove what a program has put into a conversation, for good.

    Raises:
        NotFoundError: there is no such item.
        OfResponseError: an answer was given to it, or it is part of one.
        StillRunningError: an answer is being written.
    """
    with short_transaction():
        program_row = programs.conversation_of(person, conversation_id, key, locked=True)
        row, orders = program_row.conversation, [each for each in program_row.orders if each["id"] != item_id.hex]
        if Turn.objects.filter(conversation=row, state=TurnState.RUNNING).exists():
            raise StillRunningError
        if len(orders) != len(program_row.orders):
            program_row.orders = orders
            program_row.save(update_fields=["orders"])
            return head_of(program_row)
        message = access.existing(transcripts.message_in(row, item_id))
        place = program_start.place_in(program_row)
        if place.leaf is None or message.pk not in transcripts.path(row.pk, place.leaf.pk) or message.role == Role.DEVELOPER:
            raise access.NotFoundError
        if message.turn_id is not None or Turn.objects.filter(question=message).exists():
            raise OfResponseError
        _remove(program_row, message)
        return head_of(program_row)


def _remove(found: ProgramConversation, message: Message) -> None:
    before, key = message.parent_id, message.pk
    transcripts.take_out(message)
    if found.leaf == key:
        found.leaf = before
    hexadecimal = before.hex if before else None
    found.orders = [each | {"after": hexadecimal} if each["after"] == key.hex else each for each in found.orders]
    found.save(update_fields=["leaf", "orders"])
