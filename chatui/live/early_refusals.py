"""Refuses an API request or upload before its body is read, if it is too long, gives no length, or has escapes in its address. Also builds
the reply to a request whose body arrives too slowly, and says how much is read of the bodies of all other requests."""

from __future__ import annotations

import json
from urllib.parse import unquote_to_bytes

from django.conf import settings

from chatui.env import environment
from chatui.transfer.upload import MAX_EXPORT_BYTES

PROGRAMS = b"/v1/"
"""The path prefix of the API."""

FILES = b"/files/"
"""The path prefix for uploads."""

IMPORT = b"/import/"
"""The only page with a form that may have a large file."""

SERVER_ERRORS = 500
"""Statuses from this one on are server errors."""

_MODELS = b"/v1/models/"
"""A model id follows, which may contain any characters."""

_REASONS = {
    404: ("Not Found", "not_found", "There is no such address."),
    408: ("Request Timeout", "request_timeout", "The request came too slowly."),
    411: ("Length Required", "length_required", "The request has to say its length."),
    413: ("Content Too Large", "body_too_large", ""),
}


def refusal_of(path: bytes, length: int | None) -> bytes:
    """The complete reply, after which the connection is closed; empty if the request is allowed. ``length``: None if not given."""
    # Decoded as Django will decode it, so that an escape in the path cannot bypass this check.
    decoded = unquote_to_bytes(path)
    max_bytes = _max_bytes(decoded)
    if decoded.startswith(PROGRAMS) and b"%" in path and not path.startswith(_MODELS):
        # An id with an escaped slash would be routed to another address: /v1/responses/ID%2Fcancel.
        return _refused(404)
    if max_bytes is None or (length is not None and length <= max_bytes):
        return b""
    return _refused(411) if length is None else _refused(413, f"The body may have {max_bytes} bytes.")


def max_bytes_read(path: bytes) -> int:
    """How much of a body at this address is read; the rest is dropped as it arrives. Always more than its reader accepts, so that it is
    refused there with a page that says why: a browser would not show a reply that comes before it has sent everything.
    """
    decoded = unquote_to_bytes(path)
    allowed = MAX_EXPORT_BYTES if decoded == IMPORT else _max_bytes(decoded) or settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return allowed + settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def too_slow() -> bytes:
    """The complete reply to a request whose body arrived too slowly, after which the connection is closed."""
    return _refused(408)


def error_object(status: int, sentence: str, code: str) -> bytes:
    """The body of an error in the format that programs expect."""
    kind = "not_found" if status == 404 else "invalid_request" if status < SERVER_ERRORS else "server_error"
    return json.dumps({"error": {"message": sentence, "type": kind, "param": None, "code": code}}).encode()


def _refused(status: int, message: str = "") -> bytes:
    reason, code, sentence = _REASONS[status]
    body = error_object(status, message or sentence, code)
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _max_bytes(path: bytes) -> int | None:
    """The largest body allowed at an address, in bytes; None if Django checks the size itself."""
    if path.startswith(PROGRAMS):
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return environment().file_mb * 1024 * 1024 if path.startswith(FILES) else None
