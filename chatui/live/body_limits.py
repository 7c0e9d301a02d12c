"""Which bodies of requests are read, and how much of each.

An API request or upload is refused before its body is read, if it gives no length, is far too long, or has escapes in its address. How much
is kept of any body is limited; the rest is dropped as it arrives, so that the sender has sent everything, and sees why it is refused.
"""

from __future__ import annotations

import json
import re
from urllib.parse import unquote_to_bytes

from django.conf import settings

from chatui.env import environment
from chatui.transfer.saved_prompts import MAX_FILE_BYTES
from chatui.transfer.upload import MAX_EXPORT_BYTES, max_form_bytes

PROGRAMS = b"/v1/"
"""The path prefix of the API."""


def is_of_programs(path: bytes) -> bool:
    """Whether a path belongs to the API, also with slashes before it (``plain_path``)."""
    return path[max(len(path) - len(path.lstrip(b"/")) - 1, 0) :].startswith(PROGRAMS)


def plain_path(path: bytes) -> bytes:
    """A path of the API, without what programs add to it: slashes at its beginning and at its end."""
    return b"/" + path.strip(b"/")


FILES = b"/files/"
"""The path prefix for uploads."""
_UPLOADS = {b"/import/": MAX_EXPORT_BYTES, b"/prompts/import/": MAX_FILE_BYTES}
"""The pages with a form that may have a large file, and how many bytes each accepts."""
_DOCUMENTS = re.compile(rb"/(?:collections|folders)/[0-9a-f-]{36}/documents/|/assistants/(?:new|[0-9a-f-]{36})/")
"""Those for documents of a collection or a folder, and for a picture of an assistant, which may be a photograph: ``max_form_bytes``."""
SERVER_ERRORS = 500
"""Statuses from this one on are server errors."""
MAX_DROPPED = 8
"""How many times its limit the body of an API request or upload may have, and is still taken in and dropped: a client that is still sending
when the connection is closed sees that it was lost, and not the refusal."""
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
    if is_of_programs(decoded) and b"%" in path and not path.startswith(_MODELS):
        # An id with an escaped slash would be routed to another address: /v1/responses/ID%2Fcancel.
        return refused(404)
    if max_bytes is None or (length is not None and length <= MAX_DROPPED * max_bytes) or (length is None and is_of_programs(decoded)):
        return b""
    return refused(411) if length is None else refused(413, f"The body may have {max_bytes} bytes.")


def max_bytes_read(path: bytes) -> int:
    """How much of a body at this address is read; the rest is dropped as it arrives. Always more than its reader accepts, so that it is
    refused there with a page that says why: a browser would not show a reply that comes before it has sent everything.
    """
    decoded = unquote_to_bytes(path)
    allowed = (
        _UPLOADS.get(decoded)
        or (max_form_bytes() if _DOCUMENTS.fullmatch(decoded) else _max_bytes(decoded))
        or settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    )
    return allowed + settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def error_object(status: int, sentence: str, code: str) -> bytes:
    """The body of an error in the format that programs expect."""
    kind = "not_found" if status == 404 else "invalid_request" if status < SERVER_ERRORS else "server_error"
    return json.dumps({"error": {"message": sentence, "type": kind, "param": None, "code": code}}).encode()


def refused(status: int, message: str = "") -> bytes:
    """The complete reply, after which the connection is closed. ``message``: instead of the usual one of the status."""
    reason, code, sentence = _REASONS[status]
    body = error_object(status, message or sentence, code)
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _max_bytes(path: bytes) -> int | None:
    """The largest body allowed at an address, in bytes; None if Django checks the size itself."""
    if is_of_programs(path):
        return environment().api_body_mb * 1024 * 1024
    return environment().file_mb * 1024 * 1024 if path.startswith(FILES) else None
