"""Follows a branch inside the database, only as far as necessary, and without reading messages of other branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection
from django.db.models import UUIDField
from django.db.models.expressions import RawSQL

from chatui.database.compiled_statements import Parameter

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
