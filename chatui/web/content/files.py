"""Serves files that models or people wrote, with headers that keep browsers from executing them."""

from __future__ import annotations

from uuid import UUID

from csp.constants import NONE, UNSAFE_INLINE
from csp.decorators import csp
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from chatui.display.files import attachments
from chatui.permissions import access
from chatui.transfer import files
from chatui.transfer.files import DOWNLOAD_ACTION, Download
from chatui.web import archive
from chatui.web.guards import guarded, hidden_channels
from chatui.web.people import person_of
from chatui.web.visitors import visitor_of

# A file is served from our origin, so a script in it would run as the product. A picture that is opened by itself is a document, too.
_POLICY = {"default-src": [NONE], "base-uri": [NONE], "form-action": [NONE], "frame-ancestors": [NONE], "sandbox": []}
# The browser makes the document around such a picture. Its styles must be allowed, or black lines may be drawn on black.
_PICTURE_POLICY = {**_POLICY, "style-src": [UNSAFE_INLINE]}
_ANYTHING = "application/octet-stream"


@require_GET
@login_required
@guarded
def file(request: HttpRequest, file_id: UUID) -> HttpResponseBase:
    """A file in a conversation of one's own."""
    return _served(request, files.own(access.as_person(request.user), file_id))


@require_GET
@login_required
@guarded
def turn_files(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """The fragment with the files of a turn, for a page that follows it."""
    row = access.own_conversation(person_of(request), conversation_id)
    return render(request, "files/_files.html", {"answer": {"files": attachments.of_turn(row, turn_id)}})


@hidden_channels("GET", DOWNLOAD_ACTION)
def debug_file(request: HttpRequest, conversation_id: UUID, file_id: UUID) -> HttpResponseBase:
    """A file in a conversation whose debug view is open.

    Like the debug view it needs the permission and opt-in, and is recorded in the audit log.
    """
    return _served(request, files.hidden(visitor_of(request, "download"), conversation_id, file_id))


def _served(request: HttpRequest, found: Download) -> HttpResponseBase:
    """Pictures in formats without scripts are shown in place; everything else is downloaded as untyped bytes."""
    pieces = archive.in_threads(found.pieces) if isinstance(request, ASGIRequest) else found.pieces
    response = StreamingHttpResponse(pieces, content_type=found.picture_type or _ANYTHING)
    response.headers["Content-Length"] = str(found.size)
    disposition = content_disposition_header(not found.picture_type, found.name)
    response.headers["Content-Disposition"] = disposition or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return csp(_PICTURE_POLICY if found.picture_type else _POLICY)(lambda _: response)(request)
