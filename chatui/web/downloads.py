"""Downloads: a conversation's open branch in several formats, or all of a person's conversations in one archive."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from chatui.permissions import access, temporary
from chatui.throttle import Throttle
from chatui.transfer import exports
from chatui.transfer.exports import Format
from chatui.transfer.file_names import attachment
from chatui.web import archive
from chatui.web.guards import guarded, hidden_channels
from chatui.web.people import person_of
from chatui.web.visitors import visitor_of
from renderer.gate import Audience

if TYPE_CHECKING:
    from chatui.models import Conversation

# Each reads everything that a person has.
_archives = Throttle("archive", attempts=6, seconds=600)


@require_GET
@login_required
@guarded
def download(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The owner's transcript, with what they may see."""
    person = person_of(request)
    row = temporary.own_permanent(person, conversation_id)
    file_format = _format_of(request)
    return _attachment(row, exports.transcript(row, person, Audience.END_USER, file_format), file_format)


@hidden_channels("GET", "whole download")
def download_whole(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The whole transcript, hidden channels included. Like the debug view it needs the permission and opt-in, and is recorded."""
    row = access.view_hidden(visitor_of(request, "download"), conversation_id, action="whole download")
    file_format = _format_of(request)
    return _attachment(row, exports.transcript(row, person_of(request), Audience.DEBUG, file_format), file_format, "-whole")


@require_GET
@login_required
@guarded
def download_everything(request: HttpRequest) -> HttpResponseBase:
    """All of a person's own conversations, with what they may see, in one archive that is streamed while it is made."""
    person = person_of(request)
    _archives.check(str(person.pk))
    parts = archive.zipped(exports.all_files(person))
    response = StreamingHttpResponse(
        archive.in_threads(parts) if isinstance(request, ASGIRequest) else parts, content_type="application/zip"
    )
    response.headers["Content-Disposition"] = f'attachment; filename="conversations-{timezone.now():%Y-%m-%d}.zip"'
    return response


def _format_of(request: HttpRequest) -> Format:
    # Old links use ``form``.
    asked = request.GET.get("format", request.GET.get("form", Format.OPENCHATML))
    try:
        return Format(asked)
    except ValueError:
        raise access.NotFoundError from None


def _attachment(row: Conversation, text: str, file_format: Format, suffix: str = "") -> HttpResponse:
    # Served as a download: a transcript may contain anything.
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = attachment(row.title, f"{suffix}.{file_format.extension}")
    return response
