"""Reads the JSON body of a request, with limits of its size and of the number of its values."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest
from pydantic import BaseModel, ValidationError

from chatui.api.errors import invalid
from chatui.transfer.upload import has_more_marks
from chatui.turns.requests.cleaned_text import storable

Model = TypeVar("Model", bound=BaseModel)

_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]|\x00")
"""Matches bodies that may contain NUL or lone surrogates, or are not UTF-8.

Only then every text is checked: a mebibyte can contain many.
"""


MAX_JSON_MARKS = 100_000
"""The most strings, commas and brackets in a body. Bodies are read on the event loop, and a mebibyte of empty lists takes half a second."""

LENGTH_DIGITS = 15
"""Python refuses to parse numbers with thousands of digits."""


def json_of(request: HttpRequest) -> dict[str, Any]:
    """The JSON object in a request. The length is checked before the body is read.

    Raises:
        ApiError: it is not a JSON object, or too long.
    """
    if request.content_type != "application/json":
        raise invalid("The body has to be application/json.", code="unsupported_media_type")
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isdecimal():
        raise invalid("The request has to say its length (Content-Length).", code="length_required", status=411)
    if len(length) > LENGTH_DIGITS or int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise invalid(f"The body may have {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.", code="body_too_large", status=413)
    return read_json(request.body)


def read_json(body: bytes) -> dict[str, Any]:
    """The JSON object in ``body``. Raises ApiError if it is not one, or has too many values."""
    # Each string of JSON follows one of these, or its key does: most bodies have so few that nothing need be counted exactly.
    if 3 * sum(map(body.count, (b",", b"[", b"{"))) > MAX_JSON_MARKS and has_more_marks(body, MAX_JSON_MARKS):
        raise invalid("The body has too many values.", code="body_too_large", status=413)
    try:
        found = json.loads(body)
        found = storable(found) if _SUSPECT.search(body) else found
    except (ValueError, RecursionError):
        raise invalid("The body is not valid JSON.", code="invalid_json") from None
    if not isinstance(found, dict):
        raise invalid("The body has to be a JSON object.", code="invalid_json")
    return found


def checked(model: type[Model], body: dict[str, Any]) -> Model:
    """The body as a request of its format. Raises ApiError with the first invalid field."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        param = ".".join(str(part) for part in first["loc"][:3])
        raise invalid(f"{param}: {first['msg']}.", param=param) from None
