"""Writes the output format for the prompt, and for the request fields of each wire format."""

from __future__ import annotations

from dataclasses import replace

from chatui.backends.base import SampleRequest
from chatui.json_schemas.answer_format import ANY_OBJECT, AnswerFormat
from renderer.frames import Frame, Header, Role
from renderer.harmony.system_messages import DeveloperMessage, ResponseFormat

_ORDERS = (Role.SYSTEM, Role.DEVELOPER)


def for_prompt(wanted: AnswerFormat) -> ResponseFormat:
    """The format for the prompt, as gpt-oss was trained to read it."""
    return ResponseFormat(wanted.name, ANY_OBJECT if wanted.schema is None else wanted.schema, wanted.description)


def in_words(request: SampleRequest) -> SampleRequest:
    """The request with its format added to the instructions: many servers enforce it without telling the model."""
    if request.answer_format is None:
        return request
    text = DeveloperMessage(response_formats=(for_prompt(request.answer_format),)).text()
    place = next((index for index, frame in enumerate(request.frames) if frame.header.role not in _ORDERS), len(request.frames))
    frames = (*request.frames[:place], Frame(Header(Role.DEVELOPER), text), *request.frames[place:])
    return replace(request, frames=frames)


def as_chat(wanted: AnswerFormat) -> dict[str, object]:
    """The ``response_format`` of Chat Completions."""
    return {"type": "json_object"} if wanted.schema is None else {"type": "json_schema", "json_schema": _named(wanted)}


def as_responses(wanted: AnswerFormat) -> dict[str, object]:
    """The ``text.format`` of Responses."""
    return {"type": "json_object"} if wanted.schema is None else {"type": "json_schema", **_named(wanted)}


def _named(wanted: AnswerFormat) -> dict[str, object]:
    described = {"description": wanted.description} if wanted.description else {}
    return {"name": wanted.name, **described, "schema": dict(wanted.schema or ANY_OBJECT), "strict": wanted.is_strict}
