"""Refuses the request of a program, or the upload of a file, before its body is read: where the head says that it is too long, or does not
say how long it is."""

from __future__ import annotations

import json
from urllib.parse import unquote_to_bytes

from django.conf import settings

from chatui.env import environment

PROGRAMS = b"/v1/"
"""The beginning of the addresses at which programs ask."""

FILES = b"/files/"
"""The beginning of the addresses at which people bring files."""

_REASONS = {
    411: ("Length Required", "length_required", "The request has to say its length."),
    413: ("Content Too Large", "body_too_large", ""),
}


def refusal_of(path: bytes, length: int | None) -> bytes:
    """The whole reply, after which the connection ends; empty where the request may come in. ``length`` None: it is not said."""
    # As Django will read it: an escape in the path must not lead around this.
    most = _most(unquote_to_bytes(path))
    if most is None or (length is not None and length <= most):
        return b""
    status = 411 if length is None else 413
    reason, code, sentence = _REASONS[status]
    sentence = sentence or f"The body may have {most} bytes."
    body = json.dumps({"error": {"message": sentence, "type": "invalid_request", "param": None, "code": code}}).encode()
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _most(path: bytes) -> int | None:
    """The longest body at an address; None where Django counts it itself."""
    if path.startswith(PROGRAMS):
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return environment().file_mb * 1024 * 1024 if path.startswith(FILES) else None
