"""Refuses an API request or upload before its body is read: too long, no length given, or an address that hides its parts behind
escapes. Also ends any request whose body arrives too slowly."""

from __future__ import annotations

import json
from urllib.parse import unquote_to_bytes

from django.conf import settings

from chatui.env import environment

PROGRAMS = b"/v1/"
"""The beginning of the addresses at which programs ask."""

FILES = b"/files/"
"""The beginning of the addresses at which people bring files."""

SERVER_ERRORS = 500
"""Statuses from here on are faults of ours."""

_MODELS = b"/v1/models/"
"""It is followed by the id of a model, which may contain any characters."""

_REASONS = {
    404: ("Not Found", "not_found", "There is no such address."),
    408: ("Request Timeout", "request_timeout", "The request came too slowly."),
    411: ("Length Required", "length_required", "The request has to say its length."),
    413: ("Content Too Large", "body_too_large", ""),
}


def refusal_of(path: bytes, length: int | None) -> bytes:
    """The whole reply, after which the connection ends; empty where the request may come in. ``length``: None if not given."""
    # As Django will read it: an escape in the path must not lead around this.
    meant = unquote_to_bytes(path)
    most = _most(meant)
    if meant.startswith(PROGRAMS) and b"%" in path and not path.startswith(_MODELS):
        # An id with an escaped slash would be read as another address: /v1/responses/ID%2Fcancel.
        return _refused(404)
    if most is None or (length is not None and length <= most):
        return b""
    return _refused(411) if length is None else _refused(413, f"The body may have {most} bytes.")


def too_slow() -> bytes:
    """The whole reply to a request whose body came too slowly, after which the connection ends."""
    return _refused(408)


def error_object(status: int, sentence: str, code: str) -> bytes:
    """The body of an error as programs know it."""
    kind = "not_found" if status == 404 else "invalid_request" if status < SERVER_ERRORS else "server_error"
    return json.dumps({"error": {"message": sentence, "type": kind, "param": None, "code": code}}).encode()


def _refused(status: int, said: str = "") -> bytes:
    reason, code, sentence = _REASONS[status]
    body = error_object(status, said or sentence, code)
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _most(path: bytes) -> int | None:
    """The longest body at an address; None where Django counts it itself."""
    if path.startswith(PROGRAMS):
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return environment().file_mb * 1024 * 1024 if path.startswith(FILES) else None
