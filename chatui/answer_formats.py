"""The JSON format that a person or a program requires of an answer: made of untrusted input, stored, and checked against an answer.

``turns.checked_answers`` validates each answer against it, and ``backends.answer_format`` passes it to models and servers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui.json_schemas import NAME, SCHEMA_CHARS, UnusableError, check_schema, fault, inlined
from renderer import strict_json
from renderer.characters import one_line

DEFAULT_NAME = "answer"
DESCRIPTION_CHARS = 1000
MAX_CHARS = 4 * SCHEMA_CHARS
"""The longest schema as it is given, which may include definitions that it does not use."""
ANY_OBJECT: dict[str, Any] = {"type": "object"}


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A required JSON format. Every answer is checked here."""

    name: str = DEFAULT_NAME
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    """Without references; None means any JSON object."""
    description: str = field(default="", repr=False)
    is_strict: bool = True
    """Whether a server is asked to enforce it, which some do only for simple schemas."""

    @property
    def checked_schema(self) -> Mapping[str, Any]:
        """The schema against which an answer is validated."""
        return ANY_OBJECT if self.schema is None else self.schema

    def fault(self, answer: str) -> str | None:
        """What is wrong with an answer, as a message for the model that may quote the answer; None if nothing is."""
        try:
            value = strict_json.loads(answer)
        except strict_json.JsonError as error:
            return f"it is not JSON (character {error.position}): {error}"
        try:
            return fault(self.checked_schema, value, "the answer")
        except UnusableError as error:
            return str(error)

    def stored(self) -> dict[str, Any]:
        """The format as it is stored in a database row, and read by ``from_stored``."""
        return {"name": self.name, "schema": self.schema, "description": self.description, "strict": self.is_strict}


def answer_format(name: str, schema: Any, description: str = "", *, is_strict: bool = True) -> AnswerFormat:
    """A format from untrusted input. ``schema``: None for any JSON object.

    Raises:
        UnusableError: the name or the schema cannot be used.
    """
    if not NAME.fullmatch(name):
        raise UnusableError("its name must have 1 to 64 letters, digits, _ and -")
    if schema is not None:
        if not isinstance(schema, Mapping):
            raise UnusableError("its schema is not an object")
        if len(json.dumps(schema)) > MAX_CHARS:
            raise UnusableError("its schema is too large")
        schema = inlined(schema)
        check_schema(schema)
        written = json.dumps(schema, ensure_ascii=False)
        if "\\u0000" in written or any("\ud800" <= char <= "\udfff" for char in written):
            raise UnusableError("it has characters that cannot be stored")
    return AnswerFormat(name, schema, one_line(description)[:DESCRIPTION_CHARS], is_strict)


class NotJsonError(UnusableError):
    """The text is not a JSON object. ``line`` and ``column`` count from 1."""

    def __init__(self, text: str, position: int) -> None:
        super().__init__("it is not a JSON object")
        before = text[:position]
        self.line, self.column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def schema_of(text: str) -> dict[str, Any]:
    """The schema that a person wrote. Raises UnusableError if it is not a JSON object."""
    if len(text) > MAX_CHARS:
        raise UnusableError("its schema is too large")
    try:
        value = strict_json.loads(text, exact=True)
    except strict_json.JsonError as error:
        raise NotJsonError(text, error.position) from None
    if not isinstance(value, dict):
        raise NotJsonError(text, 0)
    return value


def from_stored(stored: Mapping[str, Any] | None) -> AnswerFormat | None:
    """The format that a database row stores; None if it stores none."""
    if not stored:
        return None
    strict = stored.get("strict") is not False
    return AnswerFormat(str(stored["name"]), stored.get("schema"), str(stored.get("description", "")), is_strict=strict)


def as_text(schema: Mapping[str, Any] | None) -> str:
    return "" if schema is None else json.dumps(schema, indent=2, ensure_ascii=False)
