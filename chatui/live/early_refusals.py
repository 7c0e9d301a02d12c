"""Refuses a program's request before its body is read, where the head says that it is too long or does not say how long it is."""

from __future__ import annotations

import json
from urllib.parse import unquote_to_bytes

from django.conf import settings

PROGRAMS = b"/v1/"
"""The beginning of the addresses at which programs ask."""

_REASONS = {
    411: ("Length Required", "length_required", "The request has to say its length."),
    413: ("Content Too Large", "body_too_large", ""),
}


def refusal_of(path: bytes, length: int | None) -> bytes:
    """The whole reply, after which the connection ends; empty where the request may come in. ``length`` None: it is not said."""
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    # As Django will read it: an escape in the path must not lead around this.
    if not unquote_to_bytes(path).startswith(PROGRAMS) or (length is not None and length <= most):
        return b""
    status = 411 if length is None else 413
    reason, code, sentence = _REASONS[status]
    sentence = sentence or f"The body may have {most} bytes."
    body = json.dumps({"error": {"message": sentence, "type": "invalid_request", "param": None, "code": code}}).encode()
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
