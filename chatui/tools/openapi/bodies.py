"""Writes the body of a call in its media type: JSON, a form, a multipart form, or text."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from chatui.tools.openapi.swagger import FORM, MULTIPART
from chatui.tools.remote.offers import ToolOffer
from chatui.tools.tool import ToolError

JSON = "application/json"
MAX_DEPTH = 10
_DELIMITERS = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


def written(offer: ToolOffer, value: Any) -> tuple[bytes, str]:
    """The body, and its content type.

    Raises:
        ToolError: it cannot be sent. The message is for the model.
    """
    kind = offer.content_type
    if kind in (FORM, MULTIPART):
        if not isinstance(value, dict):
            raise ToolError("The body must be an object.")
        fields = [pair for name, each in value.items() for pair in _fields(str(name), each, offer.encoding.get(str(name), ""))]
        if kind == FORM:
            return urlencode(fields).encode(), kind
        return _multipart(fields, {name for name, how in offer.encoding.items() if how == "file"})
    if kind == JSON or kind.endswith(("+json", "/json")):
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), kind
    if not isinstance(value, str):
        raise ToolError("The body must be a text.")
    return value.encode("utf-8", "replace"), kind if kind == "application/octet-stream" else f"{kind}; charset=utf-8"


def _fields(name: str, value: Any, how: str) -> Iterator[tuple[str, str]]:
    """The fields of one property. ``how``: as in ``ToolOffer.encoding``."""
    if how == "json" or (isinstance(value, dict) and how != "deepObject"):
        yield name, json.dumps(value, ensure_ascii=False)
    elif how == "deepObject":
        yield from deep(name, value)
    elif isinstance(value, list) and how in _DELIMITERS:
        yield name, _DELIMITERS[how].join(map(text_of, value))
    elif isinstance(value, list):
        yield from ((name, text_of(each)) for each in value)
    elif value is not None:
        yield name, text_of(value)


def deep(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """A value as ``name[key][0]``, which servers that take ``deepObject`` read at any depth.

    Raises:
        ToolError: it is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise ToolError(f"The argument {name[:100]} is nested too deeply.")
    if isinstance(value, dict):
        for key, each in value.items():
            yield from deep(f"{name}[{key}]", each, depth + 1)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from deep(f"{name}[{number}]", each, depth + 1)
    elif value is not None:
        yield name, text_of(value)


def _multipart(fields: list[tuple[str, str]], files: set[str]) -> tuple[bytes, str]:
    """A multipart form (RFC 7578). ``files``: the fields that are sent as files, as text in UTF-8."""
    boundary = secrets.token_hex(16)
    parts = []
    for name, text in fields:
        quoted = re.sub(r"[\x00-\x1f\x7f\"]", lambda found: f"%{ord(found[0]):02X}", name)
        file = f'; filename="{quoted}.txt"\r\nContent-Type: text/plain; charset=utf-8' if name in files else ""
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"{file}\r\n\r\n{text}\r\n')
    return f"{''.join(parts)}--{boundary}--\r\n".encode("utf-8", "replace"), f"{MULTIPART}; boundary={boundary}"


def text_of(value: Any) -> str:
    """A value as it stands in an address or a form."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value, ensure_ascii=False)
