"""Errors as Anthropic's format writes them, for programs that speak it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from chatui.api.errors import CONTEXT, ApiError
from chatui.observability.request_ids import request_id

ADDRESS = "/v1/messages"
VERSION = "anthropic-version"
"""The header that each client of the format sends. Any value is taken: what this server knows of the format is the same in all."""
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
_TOO_LONG = "prompt is too long: "
"""What clients look for in the message, to shorten the conversation."""

_DETAILS = {"thread": {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}}
"""What clients look for in the details of a refused field: Anthropic's library then sends the whole conversation, without a thread."""


def speaks_messages(request: HttpRequest) -> bool:
    """Whether a request is in Anthropic's format: by its address, or by its headers where the address is one of all formats."""
    return request.path.startswith(ADDRESS) or (request.path.startswith("/v1/models") and VERSION in request.headers)


def body_for(request: HttpRequest, error: ApiError) -> dict[str, Any] | None:
    """The body of an error for this request; None for that of the other formats."""
    return error_body(error) if speaks_messages(request) else None


def error_body(error: ApiError) -> dict[str, Any]:
    """The error as the format writes it, which is also an event of its streams."""
    kind = _TYPES.get(error.status) or ("api_error" if error.status >= 500 else "invalid_request_error")
    sentence = error.sentence if not error.param or error.sentence.startswith(error.param) else f"{error.param}: {error.sentence}"
    message = f"{_TOO_LONG}{sentence}" if error.code == CONTEXT else sentence
    details = {"details": _DETAILS[error.param]} if error.param in _DETAILS else {}
    return {"type": "error", "error": {"type": kind, "message": message, **details}, "request_id": request_id.get()}
