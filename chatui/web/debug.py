"""The debug view: for staff with the permission, after an opt-in, every frame of a conversation with its header."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from chatui import access, debug_display, display
from chatui.web.guards import guarded
from chatui.web.people import person_of
from chatui.web.visitors import visitor_of

if TYPE_CHECKING:
    from chatui.models import Conversation


@require_GET
@login_required
@guarded
def debug(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """All frames, where the view is open; else the page that asks for the opt-in."""
    visitor = visitor_of(request, "page")
    try:
        row = access.view_hidden(visitor, conversation_id, action="debug page")
    except access.OptInNeededError:
        row = access.debuggable_conversation(visitor, conversation_id, action="debug page")
        return render(request, "debug.html", _context(request, row, opened=False) | {"frames": []})
    frames = debug_display.frames(row, person_of(request))
    return render(request, "debug.html", _context(request, row, opened=True) | {"frames": frames})


@require_POST
@login_required
@guarded
def debug_open(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The opt-in."""
    reason = " ".join(request.POST.get("reason", "").replace("\x00", "").split())
    row = access.open_debug_view(visitor_of(request, "page"), conversation_id, reason)
    return redirect("debug", row.pk)


@require_POST
@login_required
@guarded
def debug_close(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The opt-in taken back."""
    row = access.close_debug_view(visitor_of(request, "page"), conversation_id)
    return redirect("conversation", row.pk) if row.owner == request.user else redirect("home")


def _context(request: HttpRequest, row: Conversation, *, opened: bool) -> dict[str, object]:
    shown = display.conversation(row)
    if not opened and row.owner != request.user:
        # Its title is the person's own words, and until the opt-in no line in the audit log says who read them.
        shown = replace(shown, title=f"A conversation of {row.owner.get_username()}")
    return {
        "opened": opened,
        "conversation": shown,
        "conversations": [],
        "owner_name": row.owner.get_username(),
        "is_own": row.owner == request.user,
    }
