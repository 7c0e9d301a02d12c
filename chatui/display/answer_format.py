"""Shows and sets the format that a conversation's answers must have."""

from __future__ import annotations

import json

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chatui import json_schemas
from chatui.json_schemas import SCHEMA_CHARS, SCHEMA_DEPTH, UnusableError
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access

EXAMPLE = {
    "type": "object",
    "properties": {
        "summary": {"type": "string", "description": "In one sentence"},
        "topics": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
    },
    "required": ["summary", "topics"],
    "additionalProperties": False,
}


class SchemaRejectedError(Exception):
    """The person's schema cannot be used. Its text tells them why."""


def schema_text(row: Conversation) -> str:
    """The schema as the person edits it; empty if the answers are plain text."""
    wanted = json_schemas.from_stored(row.answer_format)
    return "" if wanted is None else json_schemas.as_text(wanted.checked_schema)


def example() -> str:
    """A schema to start from."""
    return json_schemas.as_text(EXAMPLE)


def set_schema(person: User, conversation_id: object, text: str) -> Conversation:
    """Require this schema for the answers of the person's own conversation, from the next one on. An empty text removes the requirement.

    Raises:
        NotFoundError: they have no such conversation.
        SchemaRejectedError: the text is not a usable schema.
    """
    row = access.own_conversation(person, conversation_id)
    row.answer_format = _read(text).stored() if text.strip() else None
    row.save(update_fields=["answer_format"])
    return row


def one_line(text: str) -> str:
    """The schema in one line, as the first message of a new conversation sends it.

    Raises:
        SchemaRejectedError: the text is not a usable schema.
    """
    return json.dumps(_read(text).checked_schema, ensure_ascii=False, separators=(",", ":"))


def formatted(schema: str) -> str:
    """A schema from ``one_line``, as the person edits it."""
    return json_schemas.as_text(json.loads(schema)) if schema else ""


def _read(text: str) -> json_schemas.AnswerFormat:
    try:
        return json_schemas.answer_format(json_schemas.DEFAULT_NAME, json_schemas.schema_of(text))
    except json_schemas.NotJsonError as error:
        where = {"line": number_format(error.line), "column": number_format(error.column)}
        raise SchemaRejectedError(_("This is not a JSON object. Check line %(line)s, character %(column)s.") % where) from None
    except UnusableError:
        most = {"chars": number_format(SCHEMA_CHARS, force_grouping=True), "depth": SCHEMA_DEPTH}
        sentence = _(
            "This JSON schema cannot be used here. It can have up to %(chars)s characters and %(depth)s levels, and its references may "
            "point to other parts of it, but not to other documents or in a circle."
        )
        raise SchemaRejectedError(sentence % most) from None
