"""Reads the JSON body of a program's request. Its size, and the number of its values, are limited; pictures in it are dropped."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from django.http import HttpRequest
from pydantic import BaseModel, ValidationError

from chatui.accounts.key_admission import LiveKey
from chatui.api import reasoning_access, request_parts
from chatui.api.errors import invalid
from chatui.env import environment
from renderer.strict_json import TooManyValuesError, loads_bounded, storable

Model = TypeVar("Model", bound=BaseModel)

MIB = 1024 * 1024
LENGTH_DIGITS = 15
"""Python refuses to parse numbers with thousands of digits."""

_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]|\x00")
"""Matches bodies that may contain NUL or lone surrogates, or are not UTF-8.

Only then every text is checked: a mebibyte can contain many.
"""


MAX_JSON_MARKS = 100_000
"""The most strings, commas and brackets in a body. Bodies are read on the event loop, and a mebibyte of empty lists takes half a second."""

_PICTURE = re.compile(rb'("(?:image_)?url"\s*:\s*"data:image/)[\w.+-]{1,40};base64,(?:[A-Za-z0-9+/=]++|\\[/u])*+"')
"""A picture in a body. It becomes a note for the model, so its bytes are dropped before anything else is done with them.
An escaped quotation mark does not end it: what a text contains must not become fields of the body."""
_BASE64 = rb"(?:[A-Za-z0-9+/=]++|\\/)*+"
_TYPE = rb'"media_type"\s*:\s*"image/[\w.+-]{1,40}"\s*,\s*'
_KIND = rb'(?:"type"\s*:\s*"base64"\s*,\s*)?'
_SOURCES = (
    re.compile(rb"(" + _TYPE + _KIND + rb'"data"\s*:\s*")' + _BASE64 + rb'(?=")'),
    re.compile(rb'("data"\s*:\s*")' + _BASE64 + rb'(?="\s*,\s*' + _KIND + rb'"media_type"\s*:\s*"image/)'),
)
"""The same in Anthropic's format, whose pictures are objects with a type and data, in any order."""


async def body_of(request: HttpRequest, key: LiveKey) -> dict[str, Any]:
    """As ``json_of``. If the body asks for raw reasoning that the key may not read, that is recorded, whatever else is wrong with it."""
    body = json_of(request)
    if not reasoning_access.asks_for_reasoning(request):  # a query that asks was recorded
        await reasoning_access.record_if_asked(reasoning_access.address_of(request), key, body)
    return body


def json_of(request: HttpRequest) -> dict[str, Any]:
    """The JSON object in a request. The length is checked before the body is read.

    Raises:
        ApiError: it is not a JSON object, or too long.
    """
    if request.content_type != "application/json":
        raise invalid("The body has to be application/json.", code="unsupported_media_type", status=415)
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise invalid("The body has to be sent as it is, not compressed.", code="unsupported_media_type", status=415)
    most = environment().api_body_mb * MIB
    length = request.META.get("CONTENT_LENGTH") or "0"  # none: it came in chunks
    # Read without Django's own limit, which is that of forms. The server keeps no more than a little over this one.
    body = request.read(most + 1) if length.isdecimal() and len(length) < LENGTH_DIGITS and int(length) <= most else None
    if body is None or len(body) > most:
        raise invalid(f"The body may have {most} bytes.", code="body_too_large", status=413)
    return read_json(_without_pictures(body))


def _without_pictures(body: bytes) -> bytes:
    if b"data:image/" in body:
        body = _PICTURE.sub(rb'\1png;base64,"', body)
    if b'"media_type"' in body:
        for source in _SOURCES:
            body = source.sub(rb"\1", body)
    return body


def read_json(body: bytes) -> dict[str, Any]:
    """The JSON object in ``body``. Raises ApiError if it is not one, or has too many values."""
    try:
        found = loads_bounded(body, MAX_JSON_MARKS)
        found = storable(found) if _SUSPECT.search(body) else found
    except TooManyValuesError:
        raise invalid("The body has too many values.", code="body_too_large", status=413) from None
    except (ValueError, RecursionError):
        raise invalid("The body is not valid JSON.", code="invalid_json") from None
    if not isinstance(found, dict):
        raise invalid("The body has to be a JSON object.", code="invalid_json")
    return found


_ADDED = ("str", "list[any]", "[key]")
"""What pydantic adds to the place of a value: which of several types it tried, or that the name itself is wrong."""


def checked(model: type[Model], body: dict[str, Any]) -> Model:
    """The body as a request of its format. Raises ApiError with the first invalid field."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field, *inner = (part for part in first["loc"][:3] if part not in _ADDED)
        param = f"{field}{''.join(f'[{part}]' if isinstance(part, int) else f'.{request_parts.safe_name(part)}' for part in inner)}"
        raise invalid(f"{param}: {first['msg']}.", param=param) from None
