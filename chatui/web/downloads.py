"""Downloads of a conversation's open branch as an OpenChatML transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from chatui import access, exports
from chatui.web.guards import guarded
from chatui.web.people import person_of
from chatui.web.visitors import visitor_of
from renderer.gate import Audience

if TYPE_CHECKING:
    from chatui.models import Conversation


@require_GET
@login_required
@guarded
def download(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The owner's transcript: what they may see."""
    person = person_of(request)
    row = access.own_conversation(person, conversation_id)
    return _attachment(row, exports.transcript(row, person, Audience.END_USER), "")


@require_GET
@login_required
@guarded
def download_whole(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The whole transcript, hidden channels included: as the debug view, with its permission, opt-in and audit row."""
    row = access.view_hidden(visitor_of(request, "download"), conversation_id, action="whole download")
    return _attachment(row, exports.transcript(row, person_of(request), Audience.DEBUG), "-whole")


def _attachment(row: Conversation, text: str, suffix: str) -> HttpResponse:
    # Served as a file that no browser opens in place: a transcript may hold anything.
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="conversation-{row.pk}{suffix}.ocml"'
    return response
