"""Follows a branch of a conversation inside the database, and loads windows of it: some neighbouring exchanges.

A branch is followed only as far as necessary, and without reading messages of other branches. The statements that store a message and find
its place in the tree are compiled. A window's cost does not depend on the branch's length. An exchange is a question with everything that
follows it up to the next question. A window is defined by a message, its anchor, and a range of exchanges relative to it: 0 is the anchor's
own, 1 the one above it, -1 the one below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet, UUIDField
from django.db.models.expressions import RawSQL

from chatui.database.compiled_statements import CompiledInsert, CompiledQuery, CompiledUpdate, Parameter
from chatui.models.conversation import ActiveLeaf
from chatui.models.files import SentDocument
from chatui.models.message import Message, SearchEntry
from renderer.frames import Role

_PATH = (
    "WITH RECURSIVE up(id, parent_id, depth) AS ("
    "SELECT id, parent_id, 0 FROM chatui_message WHERE id = %s AND conversation_id = %s "
    "UNION ALL SELECT above.id, above.parent_id, up.depth + 1 FROM up JOIN chatui_message above ON above.id = up.parent_id) "
    "SELECT id FROM up ORDER BY depth"
)

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

# At each fork it takes the child that was stored last.
_NEWEST_LEAF = (
    "WITH RECURSIVE down(id, depth) AS ("
    "SELECT id, 0 FROM chatui_message WHERE id = %s "
    "UNION ALL SELECT child.id, down.depth + 1 FROM down JOIN chatui_message child ON child.parent_id = down.id "
    "WHERE child.position = (SELECT MAX(position) FROM chatui_message newest WHERE newest.parent_id = down.id)) "
    "SELECT id FROM down ORDER BY depth DESC LIMIT 1"
)

_QUESTIONS = (
    "WITH RECURSIVE up(id, parent_id, is_question) AS ("
    "SELECT id, parent_id, role = 'user' AND is_visible FROM chatui_message WHERE id = %s "
    "UNION ALL SELECT above.id, above.parent_id, above.role = 'user' AND above.is_visible "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id) "
    "SELECT COUNT(*) FROM up WHERE is_question"
)

_NEAREST_QUESTION = (
    "(WITH RECURSIVE up(id, parent_id, is_question) AS ("
    "SELECT start.id, start.parent_id, start.role = 'user' AND start.is_visible FROM chatui_message start WHERE start.id = {start} "
    "UNION ALL SELECT above.id, above.parent_id, above.role = 'user' AND above.is_visible "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id WHERE NOT up.is_question) "
    "SELECT id FROM up WHERE is_question)"
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


def path(conversation_id: UUID, leaf_id: UUID) -> list[UUID]:
    """The keys from a message up to the root."""
    with connection.cursor() as cursor:
        cursor.execute(_PATH, [as_parameter(leaf_id), as_parameter(conversation_id)])
        return [as_uuid(key) for (key,) in cursor.fetchall()]


def prompt_messages(leaf_id: UUID, max_chars: int) -> list[PromptMessage]:
    """The last messages up to ``leaf_id`` that may be sent to a model, in order, with about ``max_chars`` characters."""
    with connection.cursor() as cursor:
        cursor.execute(_PROMPT_MESSAGES, [as_parameter(leaf_id), max_chars])
        rows: Sequence[tuple[object, object, str, str, object, str, str]] = cursor.fetchall()
    return [
        PromptMessage(as_uuid(key), as_uuid(parent) if parent else None, role, name, bool(is_visible), text, author)
        for key, parent, role, name, is_visible, text, author in rows
    ]


def newest_leaf(message_id: UUID) -> UUID:
    """The key of the leaf below a message: at each fork, the child that was stored last."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST_LEAF, [as_parameter(message_id)])
        return as_uuid(cursor.fetchone()[0])


def questions_from(message_id: UUID) -> int:
    """How many questions there are from a message up to the root."""
    with connection.cursor() as cursor:
        cursor.execute(_QUESTIONS, [as_parameter(message_id)])
        return int(cursor.fetchone()[0])


def nearest_question(start: str, *parameters: UUID | Parameter) -> RawSQL:
    """An expression for a query: the key of the last question at or above the message ``start``, an SQL expression."""
    return RawSQL(  # noqa: S611 - the expression is our own, and its parameters are keys
        _NEAREST_QUESTION.format(start=start),
        [each if isinstance(each, Parameter) else as_parameter(each) for each in parameters],
        output_field=UUIDField(),
    )


def as_parameter(value: UUID) -> UUID | str:
    """A key as a parameter of a raw statement for this database."""
    return value.hex if connection.vendor == "sqlite" else value


def as_uuid(value: object) -> UUID:
    """A key as this database returned it."""
    return value if isinstance(value, UUID) else UUID(str(value))


_WINDOW = (
    "WITH RECURSIVE up(id, parent_id, depth, is_shown, is_question, below, anchor) AS ("
    "SELECT id, parent_id, 0, is_visible, role = 'user' AND is_visible, 0, CASE WHEN id = %(anchor)s THEN 0 END "
    "FROM chatui_message WHERE id = %(leaf)s AND conversation_id = %(conversation)s "
    "UNION ALL "
    "SELECT above.id, above.parent_id, up.depth + 1, above.is_visible, above.role = 'user' AND above.is_visible, "
    "up.below + CASE WHEN up.is_question THEN 1 ELSE 0 END, "
    "COALESCE(up.anchor, CASE WHEN above.id = %(anchor)s THEN up.below + CASE WHEN up.is_question THEN 1 ELSE 0 END END) "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id "
    # The recursion ends at the first visible message above the window, which shows that there is more.
    "WHERE up.anchor IS NULL OR NOT up.is_shown OR up.below < up.anchor + %(stop)s) "
    "SELECT id, below, is_shown, (SELECT MAX(anchor) FROM up) FROM up "
    "WHERE below >= (SELECT MAX(anchor) FROM up) + %(start)s ORDER BY depth DESC"
)

_EVERYTHING = 1_000_000_000


@dataclass(frozen=True, slots=True)
class BranchWindow:
    """Some exchanges of a branch: the keys of their messages, in order, exchange by exchange.

    ``anchored``: the number of exchanges below the anchor's own. ``has_earlier`` and ``has_later``: whether the branch has more visible
    messages above and below.
    """

    exchanges: tuple[tuple[UUID, ...], ...]
    anchored: int
    has_earlier: bool
    has_later: bool

    @property
    def keys(self) -> list[UUID]:
        """The keys of all messages, in order."""
        return [key for exchange in self.exchanges for key in exchange]


def window(conversation_id: UUID, leaf_id: UUID, anchor_id: UUID, reach: range) -> BranchWindow | None:
    """The exchanges in ``reach`` around a message of the branch that ends in ``leaf_id``.

    None if the message is not on it. The query starts at the leaf: with the anchor itself as the leaf, loading the exchanges above it takes
    the same time in every conversation.
    """
    parameters = {
        "conversation": as_parameter(conversation_id),
        "leaf": as_parameter(leaf_id),
        "anchor": as_parameter(anchor_id),
        "start": reach.start,
        "stop": reach.stop,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WINDOW, parameters)
        rows: Sequence[tuple[object, int, object, int | None]] = cursor.fetchall()
    if not rows or rows[0][3] is None:
        return None
    anchor = rows[0][3]
    return BranchWindow(
        exchanges=tuple(_exchanges([(as_uuid(key), below) for key, below, _, _ in rows if below < anchor + reach.stop])),
        anchored=anchor,
        has_earlier=any(is_shown and below >= anchor + reach.stop for _, below, is_shown, _ in rows),
        has_later=anchor + reach.start > 0,
    )


def whole(conversation_id: UUID, leaf_id: UUID) -> BranchWindow | None:
    """The whole branch that ends in ``leaf_id``. None if there is no such message."""
    return window(conversation_id, leaf_id, leaf_id, range(_EVERYTHING))


def _exchanges(rows: Sequence[tuple[UUID, int]]) -> Iterator[tuple[UUID, ...]]:
    together: list[UUID] = []
    for index, (key, below) in enumerate(rows):
        together.append(key)
        if index + 1 == len(rows) or rows[index + 1][1] != below:
            yield tuple(together)
            together = []


MESSAGES = CompiledInsert(Message)
FOUND_BY = CompiledInsert(SearchEntry)
OPEN_LEAVES = CompiledInsert(ActiveLeaf, unique=("conversation", "person"), update=("message",))


def _moved() -> tuple[QuerySet[ActiveLeaf], dict[str, Parameter]]:
    conversation, person, end, other, leaf = (_key(name) for name in ("conversation", "person", "end", "other", "leaf"))
    at_an_end = Q(message=end) | Q(message=other)
    return ActiveLeaf.objects.filter(at_an_end, conversation=conversation, person=person), {"message": leaf}


def _versions(base: Parameter | None) -> QuerySet[Message, tuple[object, ...]]:
    conversation = _key("conversation")
    ends = SentDocument.objects.filter(message__parent=base, message__conversation=conversation).values("end")
    questions = Message.objects.filter(Q(parent=base) | Q(parent__in=ends), conversation=conversation, role=Role.USER, is_visible=True)
    return questions.order_by("position").values_list("pk")


def _key(name: str) -> Parameter:
    return Parameter(name, UUIDField())


MOVED_LEAF = CompiledUpdate(_moved)
"""An open branch that ends in ``end`` or ``other`` moves on to ``leaf``."""
VERSIONS = CompiledQuery(lambda: _versions(_key("base")))
"""The keys of the visible questions below the message ``base``, or below its documents, in the order in which they were stored."""
FIRST_VERSIONS = CompiledQuery(lambda: _versions(None))
"""The same for questions without a parent."""
WRITTEN = CompiledQuery(lambda: Message.objects.filter(turn=_key("turn")).order_by("position").defer("raw", "text"))
"""The messages that a turn has written, without their text."""
