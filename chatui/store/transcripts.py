"""Loads and stores the messages of a conversation as OpenChatML frames. Holds hidden text; nothing here shows it.

A branch is followed inside the database, only as far as necessary, and without reading messages of other branches.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, UUIDField
from django.db.models.expressions import RawSQL

from chatui.database.connections import as_parameter, as_uuid
from chatui.database.statements import insert, new, one_of, query, read, update
from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.files import SentDocument
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import document_headers, search_index
from renderer.activities.activity import Activity, as_stored
from renderer.characters import storable
from renderer.errors import Code
from renderer.frame_kinds import ASIDE, DOCUMENT_NAME, PRODUCT_NAMES, SUMMARY_NAME, is_document
from renderer.frames import Frame, Header, Role, Transcript
from renderer.gate import Audience, VisibleText, may_see, show, visible
from renderer.ocml import document as ocml


def frame_of(message: Message) -> Frame:
    """The frame that is stored in a row; with the header ASIDE, a reasoning summary of an earlier version."""
    if message.written is None or message.written[0] != message.text:
        message.written = (message.text, ocml.parse_frame(message.text))
    frame = message.written[1]
    # The text is asked first: rows are also loaded with nothing else.
    return replace(frame, header=ASIDE) if frame.header.name == SUMMARY_NAME and message.is_old_summary else frame


def header_of(message: Message) -> Header:
    """The header from a row's columns: enough to know the kind of frame without loading the text."""
    return Header(
        message.role, message.channel or None, message.recipient or None, name=message.name or None, intent=message.intent or None
    )


@dataclass(frozen=True, slots=True)
class FrameMetadata:
    """Stored with a frame besides its text and author: turn, ``key`` (None: a new one), completeness, error code, end (None: now), and the
    lines of a reasoning summary as values. ``places``: the frame of each line, if a program asked, which reads them in their places."""

    turn_id: UUID | None = None
    key: UUID | None = None
    is_complete: bool = True
    error_code: str = ""
    ended_at: datetime | None = None
    activities: tuple[Activity, ...] | None = field(default=None, repr=False)
    places: tuple[UUID, ...] = ()


_NO_METADATA = FrameMetadata()
COLUMN_CHARS = 128
"""Imported header values can be longer than our own; the frame's text contains them in full."""


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row that is not stored yet and has no place in the tree; ``found_by``: its text for the search index, if any."""

    message: Message
    found_by: VisibleText | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class TreePosition:
    """Where a message goes: its parent's key, None for a root, and the next free position in its conversation."""

    parent_id: UUID | None
    position: int


def append_chain(
    conversation: Conversation, parent: Message | None, frames: Sequence[tuple[Frame, Author, FrameMetadata]]
) -> list[Message]:
    """Store frames below ``parent``, each below the previous one. Returns their messages. Call inside a transaction: the next position is
    read first."""
    return append_chain_at(conversation, TreePosition(parent.pk if parent else None, _next_position(conversation)), frames)


def append_at(
    conversation: Conversation, place: TreePosition, frame: Frame, author: Author, metadata: FrameMetadata = _NO_METADATA
) -> Message:
    """Store a frame at a place read in the same transaction. Reads nothing: the keys of ``conversation`` and its kind are enough."""
    return append_chain_at(conversation, place, [(frame, author, metadata)])[-1]


def append_chain_at(
    conversation: Conversation, place: TreePosition, frames: Sequence[tuple[Frame, Author, FrameMetadata]]
) -> list[Message]:
    """The same for several frames, each below the previous one, in two statements. Returns their messages."""
    rows = [row_of(conversation, frame, author, metadata) for frame, author, metadata in frames]
    parent_id = place.parent_id
    for offset, row in enumerate(rows):
        row.message.parent_id, row.message.position = parent_id, place.position + offset
        parent_id = row.message.pk
    insert([row.message for row in rows])
    search_index.add([(row.message, row.found_by) for row in rows if row.found_by is not None])
    return [row.message for row in rows]


def message_in(conversation: Conversation, key: UUID) -> Message | None:
    """The message with this key, if it is in the conversation."""
    return Message.objects.filter(conversation=conversation, pk=key).first()


def count_in(conversation: Conversation) -> int:
    """How many messages a conversation has, on all branches."""
    return Message.objects.filter(conversation=conversation).count()


def take_out(message: Message) -> None:
    """Delete a message for good: what followed it follows the one before. It must not be the question of a turn."""
    Message.objects.filter(parent=message).update(parent=message.parent_id)
    leaves = ActiveLeaf.objects.filter(message=message)
    if message.parent_id is None:
        leaves.delete()
    else:
        leaves.update(message=message.parent_id)
    message.delete()


def replace_text(key: UUID, frame: Frame) -> None:
    """Replace a message's frame with one of the same kind, when a person has deleted its content for good."""
    Message.objects.filter(pk=key).update(text=ocml.dump_frame(frame), raw=None)


def replace_frames(frames: Iterable[tuple[Message, Frame]]) -> int:
    """Replace the frames of messages, with any kind; returns their number. Each frame must be valid."""
    rows = []
    for message, frame in frames:
        message.raw = None
        for name, value in _columns(frame).items():
            setattr(message, name, value)
        rows.append(message)
    return Message.objects.bulk_update(rows, ["raw", *_columns(Frame(Header(Role.USER), ""))]) if rows else 0


def mark_as_former_owners(conversation: Conversation) -> None:
    Message.objects.filter(conversation=conversation, author=Author.PERSON).update(author=Author.FORMER)


def hide_summaries(conversation: Conversation) -> None:
    """Hide the reasoning summaries in a conversation, imported ones too: only staff can see them."""
    found = Message.objects.filter(conversation=conversation, name=SUMMARY_NAME, is_visible=True)
    replace_frames((message, replace(frame_of(message), header=ASIDE)) for message in found if not message.is_imported_note)


def replace_replies(conversation_id: UUID, name: str, body: str) -> None:
    """Replace every reply of a tool in a conversation with ``body``, for the same reason. ``name``: the name in its replies."""
    for message in Message.objects.filter(conversation=conversation_id, role=Role.TOOL, name=name):
        replace_text(message.pk, replace(frame_of(message), body=body))


def row_of(conversation: Conversation, frame: Frame, author: Author, metadata: FrameMetadata) -> NewRow:
    """The row of a frame, repaired if it could not be written unchanged."""
    is_repaired = (writable := ocml.writable(frame)) is not frame
    known = {name: value for name, value in (("id", metadata.key), ("created_at", metadata.ended_at)) if value}
    message = new(
        Message,
        conversation=conversation,
        turn_id=metadata.turn_id,
        raw=json.dumps(frame.header.as_written()).encode() if is_repaired else None,
        is_complete=metadata.is_complete,
        error_code=metadata.error_code or (Code.PARSE_HEADER if is_repaired else ""),
        author=author,
        activities=None if metadata.activities is None else as_stored(metadata.activities, metadata.places),
        **_columns(writable),
        **known,
    )
    message.written = (message.text, writable)
    # Reasoning summaries are not indexed: they are folded into an answer, so a result could not link to them.
    is_found = message.is_visible and message.name not in PRODUCT_NAMES and conversation.temporary_until is None
    return NewRow(message, show(writable, Audience.END_USER) if is_found else None)


def _columns(frame: Frame) -> dict[str, Any]:
    """The canonical text of a frame, and the columns derived from it."""
    header = frame.header
    return {
        "text": ocml.dump_frame(frame),
        "role": header.role,
        "channel": header.channel or "",
        "intent": (header.intent or "")[:COLUMN_CHARS],
        "recipient": (header.recipient or "")[:COLUMN_CHARS],
        "name": (header.name or "")[:COLUMN_CHARS],
        "call_id": (header.call_id or "")[:COLUMN_CHARS],
        "terminator": frame.terminator,
        "is_visible": may_see(header, Audience.END_USER),
    }


def problem_counts() -> dict[str, int]:
    """How many stored frames have a problem, by error code."""
    return dict(Message.objects.exclude(error_code="").values_list("error_code").annotate(count=Count("pk")).order_by())


def branch(conversation: Conversation, leaf: Message | None, since: UUID | None = None, *, for_page: bool = False) -> list[Message]:
    """The messages from the root, or from ``since`` above ``leaf``, to ``leaf``, in order.

    Empty if there is no leaf. ``for_page``: see ``loaded``.
    """
    keys = path(conversation.pk, leaf.pk) if leaf else []
    if since is not None:
        keys = keys[: keys.index(since) + 1]
    return loaded(conversation, keys[::-1], for_page=for_page)


def loaded(conversation: Conversation, keys: Sequence[UUID], *, for_page: bool = False) -> list[Message]:
    """The messages with these keys, in this order, each with its turn. ``for_page``: without documents, which may be megabytes long.

    Raises KeyError if one does not exist, unless ``for_page``: then it may be a document.
    """
    # The request to the model may be megabytes long, so it is only loaded for single turns. The conversation is checked on the rows: as a
    # condition, it would make SQLite scan the whole conversation.
    rows: dict[UUID, Message] = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        where = f"chatui_message.id {one_of(some)}" + (f" AND NOT ({_IS_DOCUMENT})" if for_page else "")
        rows |= {row.pk: row for row, _ in read(Message, where, *some, with_its="turn", without=("request",))}
    return [rows[key] for key in keys if (key in rows or not for_page) and rows[key].conversation_id == conversation.pk]


_AT_ONCE = 900
_IS_DOCUMENT = f"chatui_message.role = '{Role.USER}' AND chatui_message.name = '{DOCUMENT_NAME}'"


@dataclass(frozen=True, slots=True)
class BranchText:
    """A visible message of a branch. ``text``: its frame as it is stored, with more than its words."""

    key: UUID
    text: str = field(repr=False)

    @property
    def frame(self) -> Frame:
        return ocml.parse_frame(self.text)


def visible_texts(conversation: Conversation, leaf: Message) -> list[BranchText]:
    """The visible messages from the root to ``leaf``, in order, without the product's own. Hidden text is not read. One statement."""
    names = list(PRODUCT_NAMES)
    found = query(f"{_VISIBLE_TEXTS} {one_of(names)} ORDER BY up.depth DESC", leaf.pk, conversation.pk, conversation.pk, *names)
    return [BranchText(as_uuid(key), text) for key, text in found]


def of_turn(turn: Turn) -> list[Message]:
    """The messages that a turn wrote, in the order in which they were stored."""
    return list(Message.objects.filter(turn=turn).order_by("position"))


def of_turns(keys: Collection[UUID], turns: QuerySet[Turn]) -> list[Message]:
    """The messages with these keys that belong to one of the turns: to its answer, to its question, or to what a program sent before the
    question. Without calls that the product refused, whose arguments no program gets."""
    asking = Turn.objects.filter(question=OuterRef("pk"))
    is_before_question = Q(turn=None) & ~Exists(asking)
    is_question = Q(turn=None) & Exists(asking.filter(pk__in=turns))
    replies = Message.objects.filter(turn=OuterRef("turn"), role=Role.TOOL, call_id=OuterRef("call_id")).exclude(call_id="")
    is_refused = Exists(replies.exclude(author=Author.IMPORT))  # a program's own replies are imports
    belongs = Q(turn__in=turns) | is_question | is_before_question
    return list(Message.objects.filter(belongs, ~is_refused, pk__in=keys, conversation__in=turns.values("conversation")))


_ABOVE = (
    "WITH RECURSIVE up(id, parent_id, depth) AS ("
    "SELECT id, parent_id, 0 FROM chatui_message WHERE id = %s AND conversation_id = %s "
    "UNION ALL SELECT above.id, above.parent_id, up.depth + 1 FROM up JOIN chatui_message above ON above.id = up.parent_id) "
)
_PATH = f"{_ABOVE}SELECT id FROM up ORDER BY depth"  # noqa: S608 - all are ours
_VISIBLE_TEXTS = (
    f"{_ABOVE}SELECT message.id, message.text FROM up JOIN chatui_message message ON message.id = up.id "  # noqa: S608 - so are these
    "WHERE message.is_visible AND message.conversation_id = %s AND message.name NOT"
)


def path(conversation_id: UUID, leaf_id: UUID) -> list[UUID]:
    """The keys from a message up to the root."""
    with connection.cursor() as cursor:
        cursor.execute(_PATH, [as_parameter(leaf_id), as_parameter(conversation_id)])
        return [as_uuid(key) for (key,) in cursor.fetchall()]


def active_leaf(conversation: Conversation, person: User) -> Message | None:
    """The last message of the branch that this person has open; for someone who has opened none, that of the owner's branch."""
    leaves = {
        leaf.person_id: leaf.message
        for leaf in ActiveLeaf.objects.filter(conversation=conversation, person__in={person.pk, conversation.owner_id}).select_related(
            "message"
        )
    }
    return leaves.get(person.pk) or leaves.get(conversation.owner_id)


def activate(conversation: Conversation, person: User, leaf: Message) -> None:
    row = new(ActiveLeaf, conversation_id=conversation.pk, person_id=person.pk, message_id=leaf.pk)
    insert([row], "ON CONFLICT (conversation_id, person_id) DO UPDATE SET message_id = EXCLUDED.message_id")


def follow(person_id: UUID, leaf: Message, end: UUID | None, *, instead_of: UUID | None = None) -> None:
    """Move this person's open branch to ``leaf``, if that branch ends in ``end`` or in the replaced message. A branch that
    they have switched to stays open."""
    if ends := [each for each in (end, instead_of) if each]:
        at_an_end = "conversation_id = %s AND person_id = %s AND message_id IN (%s, %s)"
        update("chatui_activeleaf", {"message_id": leaf.pk}, at_an_end, leaf.conversation_id, person_id, ends[0], ends[-1])


def deepest(conversation: Conversation, message: Message) -> Message:
    """The end of the branch through ``message``: at each fork, the child that was stored last."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST_LEAF, [as_parameter(message.pk)])
        key = as_uuid(cursor.fetchone()[0])
    return Message.objects.defer("text", "raw").get(pk=key, conversation=conversation)


# At each fork it takes the child that was stored last.
_NEWEST_LEAF = (
    "WITH RECURSIVE down(id, depth) AS ("
    "SELECT id, 0 FROM chatui_message WHERE id = %s "
    "UNION ALL SELECT child.id, down.depth + 1 FROM down JOIN chatui_message child ON child.parent_id = down.id "
    "WHERE child.position = (SELECT MAX(position) FROM chatui_message newest WHERE newest.parent_id = down.id)) "
    "SELECT id FROM down ORDER BY depth DESC LIMIT 1"
)


def siblings(conversation: Conversation, parents: Iterable[UUID | None], known: Iterable[Message] = ()) -> dict[UUID | None, list[Message]]:
    """The children of each of these parents, in the order in which they were stored. None is the parent of roots. Most questions have one
    child, which is on the page: the ``known`` messages are not read again."""
    wanted = set(parents)
    by_parent: dict[UUID | None, list[Message]] = {parent: [] for parent in wanted}
    rows: list[tuple[Any, ...]] = []
    select = "SELECT parent_id, id FROM chatui_message WHERE parent_id"
    if below := [parent for parent in wanted if parent is not None]:
        rows += query(f"{select} {one_of(below)} ORDER BY position", *below)
    if None in wanted:
        rows += query(f"{select} IS NULL AND conversation_id = %s ORDER BY position", conversation.pk)
    pairs = [(as_uuid(parent) if parent else None, as_uuid(key)) for parent, key in rows]
    by_key = {message.pk: message for message in known}
    if others := [key for _, key in pairs if key not in by_key]:
        by_key |= {row.pk: row for row, _ in read(Message, f"id {one_of(others)}", *others, without=("text", "raw"))}
    for parent, key in pairs:
        if key in by_key:  # not erased in between
            by_parent[parent].append(by_key[key])
    return by_parent


def question_versions(conversation: Conversation, base_id: UUID | None) -> tuple[UUID, ...]:
    """The keys of the visible questions below a message, or below its documents, in the order in which they were stored."""
    is_below, base = ("IS NULL", ()) if base_id is None else ("= %s", (base_id,))
    found = query(_VERSIONS.replace("IS BASE", is_below), conversation.pk, *base, *base, conversation.pk)
    return tuple(as_uuid(key) for (key,) in found)


_VERSIONS = (
    "SELECT id FROM chatui_message question WHERE conversation_id = %s AND role = 'user' AND is_visible AND (parent_id IS BASE OR "
    "parent_id IN (SELECT sent.end_id FROM chatui_sentdocument sent JOIN chatui_message document ON document.id = sent.message_id "
    "WHERE document.parent_id IS BASE AND document.conversation_id = %s)) ORDER BY position"
)


def base_of(question: Message) -> UUID | None:
    """The key of the message above the documents of a question, or above the question if it has none. At most one statement."""
    if question.parent_id is None:
        return None
    first = SentDocument.objects.filter(end=question.parent_id).order_by("message__position").values_list("message__parent").first()
    return first[0] if first else question.parent_id


def versions_of(
    conversation: Conversation, question: Message, children: Mapping[UUID | None, Sequence[Message]], *, has_documents: bool
) -> Sequence[UUID]:
    """The keys of all versions of a question, in the order in which they were stored. ``children``: those of its parent. At most two
    statements, and none if no version has documents."""
    base = base_of(question) if has_documents else question.parent_id
    beside = children.get(base)
    if beside is None or any(is_document(header_of(each)) for each in beside):
        return question_versions(conversation, base)
    return [each.pk for each in beside if each.is_question]


def written_by(turn: Turn) -> list[Message]:
    """The messages that a turn wrote, in the order in which they were stored, without their text; each with the turn."""
    found = list(Message.objects.filter(turn=turn).order_by("position").defer("raw", "text"))
    for message in found:
        message.turn = turn
    return found


def answers(questions: Iterable[UUID]) -> list[Message]:
    """The messages of all answers to these questions, in the order in which they were stored, without their text."""
    asked = list(questions)
    where = f"chatui_turn.question_id {one_of(asked)} ORDER BY chatui_message.position"
    return [row for row, _ in read(Message, where, *asked, with_its="turn", without=("text", "raw", "request"))]


# Messages that history.frames_for_prompt would drop are not read: reasoning above an answer may be many times as long as everything else.
# Nor is reasoning that was cut, because a model may continue it in the answer. A document that fits may have four times as many characters
# per token as people's text, for example in a table of spaces.
_PROMPT_MESSAGES = (
    "WITH RECURSIVE up(id, parent_id, depth, chars, is_answer, is_past_answer) AS ("
    "SELECT id, parent_id, 0, LENGTH(text), role = 'assistant' AND channel = 'final' AND intent = '' AND is_visible, FALSE "
    "FROM chatui_message WHERE id = %s "
    "UNION ALL SELECT above.id, above.parent_id, up.depth + 1, "
    "up.chars + CASE WHEN above.channel = 'analysis' AND (up.is_past_answer OR up.is_answer) THEN 0 "
    "WHEN above.role = 'user' AND above.name = 'document' THEN LENGTH(above.text) / 4 ELSE LENGTH(above.text) END, "
    "above.role = 'assistant' AND above.channel = 'final' AND above.intent = '' AND above.is_visible, up.is_past_answer OR up.is_answer "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id WHERE up.chars < %s) "
    "SELECT message.id, up.parent_id, message.role, message.name, message.is_visible, message.text, message.author "
    "FROM up JOIN chatui_message message ON message.id = up.id "
    "WHERE NOT (message.channel = 'analysis' AND (up.is_past_answer OR NOT message.is_complete)) ORDER BY up.depth DESC"
)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of a branch, with the columns that a prompt needs. ``author``: a value of ``Author``."""

    key: UUID
    parent_id: UUID | None
    role: str
    name: str
    is_visible: bool
    text: str = field(repr=False)
    author: str


def prompt_messages(leaf_id: UUID, max_chars: int) -> list[PromptMessage]:
    """The last messages up to ``leaf_id`` that may be sent to a model, in order, with about ``max_chars`` characters."""
    with connection.cursor() as cursor:
        cursor.execute(_PROMPT_MESSAGES, [as_parameter(leaf_id), max_chars])
        rows: Sequence[tuple[object, object, str, str, object, str, str]] = cursor.fetchall()
    return [
        PromptMessage(as_uuid(key), as_uuid(parent) if parent else None, role, name, bool(is_visible), text, author)
        for key, parent, role, name, is_visible, text, author in rows
    ]


_QUESTIONS = (
    "WITH RECURSIVE up(id, parent_id, is_question) AS ("
    "SELECT id, parent_id, role = 'user' AND is_visible FROM chatui_message WHERE id = %s "
    "UNION ALL SELECT above.id, above.parent_id, above.role = 'user' AND above.is_visible "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id) "
    "SELECT COUNT(*) FROM up WHERE is_question"
)


def questions_from(message_id: UUID) -> int:
    """How many questions there are on the branch that ends with this message."""
    with connection.cursor() as cursor:
        cursor.execute(_QUESTIONS, [as_parameter(message_id)])
        return int(cursor.fetchone()[0])


_NEAREST_QUESTION = (
    "(WITH RECURSIVE up(id, parent_id, is_question) AS ("
    "SELECT start.id, start.parent_id, start.role = 'user' AND start.is_visible FROM chatui_message start WHERE start.id = {start} "
    "UNION ALL SELECT above.id, above.parent_id, above.role = 'user' AND above.is_visible "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id WHERE NOT up.is_question) "
    "SELECT id FROM up WHERE is_question)"
)


def _nearest_question(start: str) -> RawSQL:
    """An expression for a query: the key of the last question at or above the message ``start``, an SQL expression."""
    return RawSQL(_NEAREST_QUESTION.format(start=start), [], output_field=UUIDField())  # noqa: S611 - the expression is our own


def question_at() -> RawSQL:
    """An expression for a query of one message: the key of the last question at or above it; NULL if there is none."""
    return _nearest_question("chatui_message.id")


def question_before() -> RawSQL:
    """An expression for a query of one message: the key of the last question above it; NULL if there is none."""
    return _nearest_question("chatui_message.parent_id")


_OPEN_LEAF = (
    "(SELECT message_id FROM chatui_activeleaf WHERE conversation_id = chatui_conversation.id AND person_id = chatui_conversation.owner_id)"
)
TREE_END = (
    _OPEN_LEAF,
    _NEAREST_QUESTION.format(start=_OPEN_LEAF),
    "(SELECT MAX(position) FROM chatui_message WHERE conversation_id = chatui_conversation.id)",
)
"""SQL expressions for a query of conversations: the keys of the last message and the last question on the branch that its owner has open,
and the position of its last message. NULL if there is none."""


def transcript(conversation: Conversation, messages: Sequence[Message], audience: Audience) -> Transcript:
    """A branch as a transcript: whole for DEBUG, visible frames for an END_USER. Its header is the conversation's for both."""
    return document_headers.transcript(conversation, visible((frame_of(message) for message in messages), audience))


def document(conversation: Conversation, messages: Sequence[Message], audience: Audience) -> str:
    """A branch as OpenChatML text; parameters are as of ``transcript``."""
    return ocml.dump(transcript(conversation, messages, audience))


def header_text(text: str) -> str:
    """A foreign name in a form that a document header allows: no control token, no lone surrogate, at most 200 characters."""
    return storable(text).replace("<|", "<")[:200]


def _next_position(conversation: Conversation) -> int:
    last = Message.objects.filter(conversation=conversation).aggregate(last=Max("position"))["last"]
    return 0 if last is None else last + 1
