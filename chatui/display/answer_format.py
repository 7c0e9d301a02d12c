"""Shows and sets the format that a conversation's answers must have."""

from __future__ import annotations

import json

from django.core.exceptions import ValidationError
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chatui import answer_formats
from chatui.answer_formats import AnswerFormat
from chatui.json_schemas import SCHEMA_CHARS, SCHEMA_DEPTH, UnusableError
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access

EXAMPLE = answer_formats.as_text(
    {
        "type": "object",
        "properties": {
            "summary": {"type": "string", "description": "In one sentence"},
            "topics": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        },
        "required": ["summary", "topics"],
        "additionalProperties": False,
    }
)
"""A schema to start from."""


def schema_text(row: Conversation) -> str:
    """The schema as the person edits it; empty if the answers are plain text."""
    wanted = answer_formats.from_stored(row.answer_format)
    return "" if wanted is None else answer_formats.as_text(wanted.checked_schema)


def set_schema(person: User, conversation_id: object, wanted: AnswerFormat | None) -> None:
    """Require this schema for the answers of the person's own conversation, from the next one on; None removes the requirement."""
    row = access.own_conversation(person, conversation_id)
    row.answer_format = wanted.stored() if wanted else None
    row.save(update_fields=["answer_format"])


def one_line(wanted: AnswerFormat) -> str:
    """The schema in one line, as the first message of a new conversation sends it."""
    return json.dumps(wanted.checked_schema, ensure_ascii=False, separators=(",", ":"))


def formatted(schema: str) -> str:
    """A schema of ``one_line``, as the person edits it."""
    return answer_formats.as_text(json.loads(schema)) if schema else ""


def read(text: str) -> AnswerFormat:
    """The schema that a person wrote. Raises ValidationError, which tells them why it cannot be used."""
    try:
        return answer_formats.answer_format(answer_formats.DEFAULT_NAME, answer_formats.schema_of(text))
    except answer_formats.NotJsonError as error:
        where = {"line": number_format(error.line), "column": number_format(error.column)}
        raise ValidationError(_("This is not a JSON object. Check line %(line)s, character %(column)s.") % where) from None
    except UnusableError:
        most = {"chars": number_format(SCHEMA_CHARS, force_grouping=True), "depth": SCHEMA_DEPTH}
        sentence = _(
            "This JSON schema cannot be used here. It can have up to %(chars)s characters and %(depth)s levels, and its references may "
            "point to other parts of it, but not to other documents or in a circle."
        )
        raise ValidationError(sentence % most) from None
